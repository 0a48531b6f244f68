"""Where the user is in a diff: the marked row, what is selected, and the place where a text was found last.

A text is also found in lines that are folded away; upper and lower case match each other.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from desktop_agent.core.diff.rows import DiffRows, LineSide
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_document import DiffDocument, DiffPosition, DiffSelection, everything, text_of
from desktop_agent.ui.review.diff.diff_layout import DiffScroller


class DiffNavigation(QObject):
    """Moves the mark from row to row and from change to change, and selects."""

    moved = Signal()  # also to the same row again

    def __init__(self, document: DiffDocument, scroller: DiffScroller, parent: QObject) -> None:
        super().__init__(parent)
        self.document = document
        self.scroller = scroller
        self._select_from: int | None = None
        self.row = 0
        self.side: LineSide = "new"
        """Where the user last was: what the keyboard selects from."""
        self.selection: DiffSelection | None = None
        self.hovered_row: int | None = None
        """The folded lines below the mouse."""

    @property
    def change(self) -> int:
        """The number of the change that the marked row is in, from 0; -1 above the first."""
        return self.document.rows.change_at(self.row)

    @property
    def selecting_side(self) -> LineSide | None:
        """The side that is selected from; `None` in a unified diff."""
        return None if self.document.mode == "unified" else self.side

    def reset(self, row: int) -> None:
        """Be in this row with nothing selected, and say nothing: the rows are new."""
        self.row = max(0, min(row, len(self.document.rows) - 1))
        self.selection = None
        self.hovered_row = None
        self._select_from = None

    def go_to(self, row: int, *, is_selecting: bool = False) -> None:
        """Mark a row and bring it into view; with `is_selecting` select from where the mark was."""
        if not len(self.document.rows):
            return
        before = self.row
        self.row = max(0, min(row, len(self.document.rows) - 1))
        if is_selecting:
            self._select_from = before if self._select_from is None else self._select_from
            self.select_lines(self._select_from, self.row)
        else:
            self._select_from = None
            self.select(None)
        self.scroller.ensure_visible(self.row)
        self.moved.emit()

    def next_change(self) -> bool:
        return self.go_to_change(bisect_right(self.document.rows.changes, self.row))

    def previous_change(self) -> bool:
        return self.go_to_change(bisect_left(self.document.rows.changes, self.row) - 1)

    def go_to_change(self, number: int) -> bool:
        """Go to the change of this number, from 0; whether there is one."""
        changes = self.document.rows.changes
        if not 0 <= number < len(changes):
            return False
        self.go_to(changes[number])
        self.scroller.ensure_visible(self.row, margin_rows=5)
        return True

    def select(self, selection: DiffSelection | None) -> None:
        self.selection = selection
        self.scroller.repaint()

    def select_lines(self, start: int, end: int) -> None:
        """Select the whole lines of these rows and those between."""
        side = self.selecting_side
        upper, lower = DiffPosition(min(start, end), 0), max(start, end)
        below = DiffPosition(lower, len(text_of(self.document.rows, lower, side) or ""))
        self.select(DiffSelection(side, upper, below) if start <= end else DiffSelection(side, below, upper))

    def select_all(self) -> None:
        if len(self.document.rows):
            self.select(everything(self.document.rows, self.selecting_side))

    def selected_text(self) -> str:
        """Return what is selected, exactly as it is in the file."""
        return self.selection.text(self.document.rows) if self.selection else ""

    def copy(self) -> None:
        if text := self.selected_text():
            QGuiApplication.clipboard().setText(text)


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


class DiffFinder:
    """Finds text in the diff, and selects it. `open_gap` unfolds the row that it is given."""

    def __init__(self, navigation: DiffNavigation, open_gap: Callable[[int], None]) -> None:
        self._navigation = navigation
        self._open_gap = open_gap
        self._rows = navigation.document.rows
        self._search = DiffSearch(self._rows.diff)
        self._found: DiffMatch | None = None
        """Where the text was found last, in `_rows`."""

    def find(self, text: str) -> bool:
        """Select the next place where `text` stands, unfolding lines to show it; starts over at the end."""
        rows = self._navigation.document.rows
        if rows.diff is not self._rows.diff:
            self._search = DiffSearch(rows.diff)
        if rows is not self._rows:
            self._found = None
        after = self._found or DiffMatch(self._navigation.row, -1, -1, -1)
        match = self._search.find(rows, text, after)
        if match and rows.gap(match.row):
            self._open_gap(match.row)
            rows = self._navigation.document.rows
            match = match._replace(row=rows.find(match.side, match.line))
        self._rows, self._found = rows, match
        if match is None:
            return False
        side = None if rows.mode == "unified" else match.side
        end = DiffPosition(match.row, match.offset + len(text))
        self._navigation.go_to(match.row)
        self._navigation.select(DiffSelection(side, DiffPosition(match.row, match.offset), end))
        return True
