"""Where everything in a diff is, in pixels: rows from top to bottom, panes and their columns from left to right."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

from desktop_agent.core.diff.rows import DiffRows, LineSide

ROW_HEIGHT = 19
BAR_HEIGHT = 30
_NUMBER_MARGIN = 8
_NUMBER_MIN_RIGHT = 28
_NUMBER_MIN_WIDTH = 14
_SIGN_GAP = 6
_SIGN_WIDTH = 14


class Geometry:
    """The heights of rows: lines are `row_height` high, bars a little more. Notes have a bar of their own on top.

    Below a row there can be a block for something else: `blocks` has the height of each, by row. They are looked up
    beside the rows, so that one more of them costs nothing per line.
    """

    def __init__(self, rows: DiffRows, *, row_height: int, blocks: Mapping[int, int] | None = None) -> None:
        self.row_height = row_height
        self.notes_height = BAR_HEIGHT if rows.notes else 0
        self._count = len(rows)
        self._bars = rows.bars
        self._block_rows = sorted(blocks or ())
        self._above = list(accumulate((blocks[row] for row in self._block_rows), initial=0)) if blocks else [0]
        self._block_ends = [self.top(row + 1) for row in self._block_rows]

    @property
    def height(self) -> int:
        """The height of everything."""
        return self.top(self._count)

    def top(self, row: int) -> int:
        """Return where the row starts."""
        return self._top_of(row, bisect_left(self._bars, row)) + self._above[bisect_left(self._block_rows, row)]

    def row_height_at(self, row: int) -> int:
        """Return how high the row is, without the block below it."""
        return self._top_of(row + 1, bisect_left(self._bars, row + 1)) - self._top_of(row, bisect_left(self._bars, row))

    def block_top(self, row: int) -> int:
        """Return where the block below the row starts, if it has one."""
        return self.top(row) + self.row_height_at(row)

    def row_at(self, y: int) -> int:
        """Return the row at `y`, or the nearest one. A block belongs to the row above it."""
        block = bisect_right(self._block_ends, y)
        if block < len(self._block_rows) and y >= self.block_top(self._block_rows[block]):
            return self._block_rows[block]
        y -= self._above[block]
        number = bisect_right(range(len(self._bars)), y, key=self._bar_top) - 1
        if number < 0:
            row = (y - self.notes_height) // self.row_height
        else:
            row = self._bars[number]
            below = y - self._bar_top(number) - BAR_HEIGHT
            if below >= 0:
                row += 1 + below // self.row_height
        return max(0, min(row, self._count - 1))

    def is_in_block(self, y: int) -> bool:
        """Whether `y` is in a block and not in a row."""
        row = self.row_at(y)
        return self.block_top(row) <= y < self.top(row + 1)

    def _bar_top(self, number: int) -> int:
        return self._top_of(self._bars[number], number)

    def _top_of(self, row: int, bars_above: int) -> int:
        """Where the row would start if there were no blocks."""
        return self.notes_height + row * self.row_height + bars_above * (BAR_HEIGHT - self.row_height)


class Pane(NamedTuple):
    """One column of text with its gutter. In a unified diff there is only one, which has no side of its own."""

    side: LineSide | None
    left: int
    right: int
    numbers: tuple[tuple[LineSide, int], ...]
    """Whose line numbers it has, and where they end."""
    sign_left: int
    text_left: int

    @property
    def text_width(self) -> int:
        """How much room the text has."""
        return max(0, self.right - self.text_left)


def panes(rows: DiffRows, width: int, digit_width: float) -> tuple[Pane, ...]:
    """Return the panes for a view `width` wide: two with a hairline between them, or one."""
    diff = rows.diff
    number_width = round(len(str(max(len(diff.old_lines), len(diff.new_lines), 1))) * digit_width)
    first = max(_NUMBER_MIN_RIGHT, _NUMBER_MARGIN + number_width)
    if rows.mode == "side_by_side":
        middle = width // 2
        old = _pane("old", 0, middle, (("old", first),))
        return old, _pane("new", middle + 1, width, (("new", middle + 1 + first),))
    if not diff.old_lines or not diff.new_lines:
        return (_pane(None, 0, width, (("new" if diff.new_lines else "old", first),)),)
    second = first + _NUMBER_MARGIN + max(number_width, _NUMBER_MIN_WIDTH)
    return (_pane(None, 0, width, (("old", first), ("new", second))),)


def _pane(side: LineSide | None, left: int, right: int, numbers: tuple[tuple[LineSide, int], ...]) -> Pane:
    sign_left = numbers[-1][1] + _SIGN_GAP
    return Pane(side, left, right, numbers, sign_left, sign_left + _SIGN_WIDTH)
