"""Finding text in a diff, also in lines that are folded away. Upper and lower case match each other."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from desktop_agent.core.diff.rows import DiffRows, LineSide
from desktop_agent.core.protocol.model import FileDiff

_ORDER: dict[LineSide, int] = {"old": 0, "new": 1}


class DiffMatch(NamedTuple):
    """Where a text was found, ordered as it is read: by row, the old side before the new one."""

    row: int
    order: int
    line: int
    offset: int

    @property
    def side(self) -> LineSide:
        """Which side the line is of."""
        return "old" if self.order == _ORDER["old"] else "new"


class DiffSearch:
    """Searches both sides of one diff. Unchanged lines are found once, on the new side."""

    def __init__(self, diff: FileDiff) -> None:
        self._diff = diff
        self._texts: dict[LineSide, _Text] = {}

    def find(self, rows: DiffRows, needle: str, after: DiffMatch) -> DiffMatch | None:
        """Return the first match behind `after`, else the first of all."""
        wanted = _folded(needle.partition("\n")[0])
        if not wanted or not len(rows):
            return None
        top = DiffMatch(-1, -1, -1, -1)
        return self._first(rows, wanted, after) or self._first(rows, wanted, top)

    def _first(self, rows: DiffRows, wanted: str, after: DiffMatch) -> DiffMatch | None:
        found = [self._first_on(rows, "old", wanted, after), self._first_on(rows, "new", wanted, after)]
        return min((match for match in found if match), default=None)

    def _first_on(self, rows: DiffRows, side: LineSide, wanted: str, after: DiffMatch) -> DiffMatch | None:
        text = self._text(side)
        at = text.start_of(_first_line(rows, side, after.row))
        while (at := text.content.find(wanted, at)) >= 0:
            line = text.line_at(at)
            row = rows.find(side, line)
            if side == "old" and rows[row].kind in ("context", "gap"):
                at = text.start_of(self._next_removed_line(line))
                continue
            match = DiffMatch(row, _ORDER[side], line, at - text.start_of(line))
            if match > after:
                return match
            at += 1
        return None

    def _next_removed_line(self, line: int) -> int:
        starts = (edit.old_start for edit in self._diff.edits if edit.old_start > line)
        return next(starts, len(self._diff.old_lines))

    def _text(self, side: LineSide) -> "_Text":
        if side not in self._texts:
            self._texts[side] = _Text(self._diff.old_lines if side == "old" else self._diff.new_lines)
        return self._texts[side]


class _Text:
    """All lines of a side as one string: a search runs in C, not line by line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.content = _folded("".join(lines))
        self._starts = list(accumulate(map(len, lines), initial=0))

    def start_of(self, line: int) -> int:
        return self._starts[line]

    def line_at(self, index: int) -> int:
        return bisect_right(self._starts, index) - 1


def _first_line(rows: DiffRows, side: LineSide, row: int) -> int:
    """The first line of a side in this row or below."""
    for index in range(max(0, row), len(rows)):
        if gap := rows.gap(index):
            return gap.old_start if side == "old" else gap.new_start
        line = rows[index].old if side == "old" else rows[index].new
        if line is not None:
            return line
    return len(rows.diff.old_lines if side == "old" else rows.diff.new_lines)


def _folded(text: str) -> str:
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters have a longer lower case, which would shift everything behind them.
    return "".join(lower if len(lower := char.lower()) == 1 else char for char in text)
