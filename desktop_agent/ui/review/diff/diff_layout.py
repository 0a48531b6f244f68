"""The layout of a diff in pixels, and scrolling to its rows."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import NamedTuple

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractScrollArea

from desktop_agent.core.diff.rows import DiffRows, LineSide
from desktop_agent.ui.review.diff.diff_document import DiffDocument, line_of
from desktop_agent.ui.review.diff.line_layouts import LEAST_COLUMNS, LineWrapping

PAD = 12
ROW_HEIGHT = 19
BAR_HEIGHT = 30
_NUMBER_MARGIN = 8
_NUMBER_MIN_RIGHT = 28
_NUMBER_MIN_WIDTH = 14
_SIGN_GAP = 6
_SIGN_WIDTH = 14


class Geometry:
    """Where rows are. Lines are `row_height` high, bars a little higher. `blocks` are heights of blocks below rows."""

    def __init__(
        self,
        rows: DiffRows,
        *,
        row_height: int,
        blocks: Mapping[int, int] | None = None,
        extra_parts: Mapping[int, int] | None = None,
    ) -> None:
        """`extra_parts` has how many parts wrapped rows have beyond the first."""
        self.row_height = row_height
        self.notes_height = BAR_HEIGHT if rows.notes else 0
        self._count = len(rows)
        self._bars = rows.bars
        self._extra = {row: parts * row_height for row, parts in (extra_parts or {}).items()}
        added = {row: self._extra.get(row, 0) + (blocks or {}).get(row, 0) for row in (*self._extra, *(blocks or ()))}
        self._tall_rows = sorted(added)
        """The rows that are wrapped or have a block."""
        self._above = list(accumulate((added[row] for row in self._tall_rows), initial=0))
        self._tall_ends = [self.top(row + 1) for row in self._tall_rows]

    @property
    def height(self) -> int:
        return self.top(self._count)

    def top(self, row: int) -> int:
        return self._top_of(row, bisect_left(self._bars, row)) + self._above[bisect_left(self._tall_rows, row)]

    def row_height_at(self, row: int) -> int:
        return self._least_height(row) + self._extra.get(row, 0)

    def _least_height(self, row: int) -> int:
        return self._top_of(row + 1, bisect_left(self._bars, row + 1)) - self._top_of(row, bisect_left(self._bars, row))

    def block_top(self, row: int) -> int:
        return self.top(row) + self.row_height_at(row)

    def row_at(self, y: int) -> int:
        """Return the row at `y`, or the nearest row. A block belongs to the row above it."""
        tall = bisect_right(self._tall_ends, y)
        if tall < len(self._tall_rows):
            row = self._tall_rows[tall]
            if y >= self.top(row) + self._least_height(row):
                return row
        y -= self._above[tall]
        number = bisect_right(range(len(self._bars)), y, key=self._bar_top) - 1
        if number < 0:
            row = (y - self.notes_height) // self.row_height
        else:
            row = self._bars[number]
            below = y - self._bar_top(number) - BAR_HEIGHT
            if below >= 0:
                row += 1 + below // self.row_height
        return max(0, min(row, self._count - 1))

    def part_at(self, row: int, y: int) -> int:
        """Return the part of a wrapped line of this row at `y`, or the nearest part of any row."""
        return max(0, y - self.top(row)) // self.row_height

    def is_in_block(self, y: int) -> bool:
        row = self.row_at(y)
        return self.block_top(row) <= y < self.top(row + 1)

    def _bar_top(self, number: int) -> int:
        return self._top_of(self._bars[number], number)

    def _top_of(self, row: int, bars_above: int) -> int:
        return self.notes_height + row * self.row_height + bars_above * (BAR_HEIGHT - self.row_height)


class Pane(NamedTuple):
    """A column of text with its gutter. In a unified diff, `side` is `None`, because the only pane shows both sides."""

    side: LineSide | None
    left: int
    right: int
    numbers: tuple[tuple[LineSide, int], ...]
    """The sides whose line numbers it shows, each with the right edge of its numbers."""
    sign_left: int
    text_left: int
    columns: int = 0
    """How many columns a line takes before it is wrapped; 0 if lines are not wrapped."""

    @property
    def text_width(self) -> int:
        return max(0, self.right - self.text_left)


def panes(rows: DiffRows, width: int, digit_width: float) -> tuple[Pane, ...]:
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


_LINE_PADDING = 3


class TopLine(NamedTuple):
    """The first visible line, and its distance from the top edge in pixels."""

    side: LineSide
    line: int
    above: int


class DiffScroller:
    """Lays out a document's rows in a scroll area, and scrolls them. Points are viewport pixels."""

    def __init__(self, area: QAbstractScrollArea, document: DiffDocument) -> None:
        self._area = area
        self._document = document
        self.line_height: float = ROW_HEIGHT
        self.char_width = self.digit_width = 1.0
        self.text_width = 0.0
        self.geometry = Geometry(document.rows, row_height=ROW_HEIGHT)
        self.panes: tuple[Pane, ...] = ()
        self.wraps = False
        self.is_too_large = False
        self._wrapping = LineWrapping()

    @property
    def position(self) -> QPoint:
        return QPoint(self._area.horizontalScrollBar().value(), self._area.verticalScrollBar().value())

    @property
    def text_left(self) -> int:
        return self.panes[0].text_left if self.panes else 0

    def lay_out(self, blocks: Callable[[], dict[int, int]]) -> None:
        """Lay out the rows. `blocks` returns the heights of the blocks by row; it is called once `panes` is set."""
        rows = self._document.rows
        height = max(ROW_HEIGHT, round(self.line_height) + _LINE_PADDING)
        self.panes = panes(rows, self._area.viewport().width(), self.digit_width)
        self.is_too_large = False
        parts = self._wrap() if self.wraps else None
        self.geometry = Geometry(rows, row_height=height, blocks=blocks(), extra_parts=parts)
        self.update_bars()

    def _wrap(self) -> Mapping[int, int] | None:
        room = min(pane.text_width for pane in self.panes) - PAD
        columns = max(LEAST_COLUMNS, int(room / self.char_width))
        parts = self._wrapping.extra_parts(self._document.rows, [pane.side for pane in self.panes], columns)
        self.is_too_large = parts is None
        if parts is not None:
            self.panes = tuple(pane._replace(columns=columns) for pane in self.panes)
        return parts

    def update_bars(self) -> None:
        view = self._area.viewport().size()
        vertical, horizontal = self._area.verticalScrollBar(), self._area.horizontalScrollBar()
        vertical.setRange(0, max(0, self.geometry.height - view.height()))
        vertical.setPageStep(max(1, view.height() - self.geometry.row_height))
        vertical.setSingleStep(self.geometry.row_height)
        room = min((pane.text_width for pane in self.panes), default=0)
        is_wrapped = any(pane.columns for pane in self.panes)
        wide = round(self.text_width) + PAD if len(self._document.rows) and not is_wrapped else 0
        horizontal.setRange(0, max(0, wide - room))
        horizontal.setPageStep(max(1, room))
        horizontal.setSingleStep(round(4 * self.char_width))

    def repaint(self, row: int | None = None) -> None:
        if row is None:
            self._area.viewport().update()
        elif 0 <= row < len(self._document.rows):
            self._area.viewport().update(self.row_rect(row))

    def row_rect(self, row: int) -> QRect:
        top = self.geometry.top(row) - self._area.verticalScrollBar().value()
        return QRect(0, top, self._area.viewport().width(), self.geometry.row_height_at(row))

    def row_at(self, point: QPoint) -> int:
        return self.geometry.row_at(point.y() + self._area.verticalScrollBar().value())

    def pane_at(self, point: QPoint) -> Pane | None:
        return next((pane for pane in self.panes if point.x() < pane.right), None)

    def is_in_block(self, point: QPoint) -> bool:
        return self.geometry.is_in_block(point.y() + self._area.verticalScrollBar().value())

    def visible_rows(self) -> tuple[int, int]:
        top = self._area.verticalScrollBar().value()
        return self.geometry.row_at(top), self.geometry.row_at(top + self._area.viewport().height())

    def rows_a_page_from(self, row: int) -> tuple[int, int]:
        """Return the row a page above this one, and the row a page below."""
        top, page = self.geometry.top(row), self._area.viewport().height() - self.geometry.row_height
        return min(row - 1, self.geometry.row_at(top - page)), max(row + 1, self.geometry.row_at(top + page))

    def ensure_visible(self, row: int, stop: int | None = None, *, margin_rows: int = 0) -> None:
        """Scroll just far enough to show a row, or the rows before `stop`, or their beginning if not all fit."""
        margin = margin_rows * self.geometry.row_height
        bottom = self.geometry.top(row + 1 if stop is None else stop)
        self.show_area(self.geometry.top(row) - margin, bottom + margin)

    def show_area(self, top: int, bottom: int) -> None:
        """Scroll just far enough to show these pixels of the diff, or their beginning if not all fit."""
        bar = self._area.verticalScrollBar()
        bar.setValue(min(top, max(bottom - self._area.viewport().height(), bar.value())))

    def show_part(self, row: int, part: int) -> None:
        top = self.geometry.top(row) + part * self.geometry.row_height
        self.show_area(top, top + self.geometry.row_height)

    def scroll_within(self, row: int, pixels: int) -> bool:
        """Scroll in a row that is taller than the view; return whether there was more of it to see."""
        top, bottom = self.geometry.top(row), self.geometry.top(row + 1)
        bar, height = self._area.verticalScrollBar(), self._area.viewport().height()
        if bottom - top <= height or not top - height < bar.value() < bottom:
            return False
        before = bar.value()
        bar.setValue(max(top, min(before + pixels, bottom - height)))
        return bar.value() != before

    def scroll_sideways(self, steps: int) -> None:
        bar = self._area.horizontalScrollBar()
        bar.setValue(bar.value() + steps * bar.singleStep())

    def scroll_rows(self, count: int) -> None:
        bar = self._area.verticalScrollBar()
        bar.setValue(bar.value() + count * self.geometry.row_height)

    def top_line(self) -> TopLine | None:
        """Return the first visible line; `None` at the very top."""
        top, rows = self._area.verticalScrollBar().value(), self._document.rows
        if not top or not len(rows):
            return None
        first, last = self.visible_rows()
        for index in range(first, last + 1):
            if found := line_of(rows[index], None):
                return TopLine(*found, self.geometry.top(index) - top)
        return None

    def put_on_top(self, line: TopLine | None) -> None:
        if line:
            row = self._document.rows.find(line.side, line.line)
            self._area.verticalScrollBar().setValue(self.geometry.top(row) - line.above)
