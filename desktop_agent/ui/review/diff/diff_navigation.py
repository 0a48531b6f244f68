"""The marked row, the selection and the search matches of a diff. A search also finds text in folded lines."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.ui.review.diff.diff_document import DiffDocument, DiffPosition, DiffSelection, text_of
from desktop_agent.ui.review.diff.diff_layout import DiffScroller
from desktop_agent.ui.wording.visible_text import lowered


class DiffNavigation(QObject):
    moved = Signal()  # also emitted for the same row

    def __init__(self, document: DiffDocument, scroller: DiffScroller, parent: QObject) -> None:
        super().__init__(parent)
        self.document = document
        self.scroller = scroller
        self._select_from: int | None = None
        self.row = 0
        self.side: LineSide = "new"
        self.selection: DiffSelection | None = None
        self.hovered_row: int | None = None

    @property
    def change(self) -> int:
        return self.document.rows.change_at(self.row)

    @property
    def selecting_side(self) -> LineSide | None:
        return None if self.document.mode == "unified" else self.side

    def reset(self, row: int) -> None:
        """Mark this row of a new diff, without a signal."""
        self.row = max(0, min(row, len(self.document.rows) - 1))
        self.selection = None
        self.hovered_row = None
        self._select_from = None

    def go_to(self, row: int, *, is_selecting: bool = False, scrolls: bool = True) -> None:
        """Mark a row. Without `scrolls`, the view stays where it is, because the user clicked there."""
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
        if scrolls:
            self.scroller.ensure_visible(self.row)
        self.moved.emit()

    def next_change(self) -> bool:
        return self.go_to_change(bisect_right(self.document.rows.changes, self.row))

    def previous_change(self) -> bool:
        return self.go_to_change(bisect_left(self.document.rows.changes, self.row) - 1)

    def go_to_change(self, number: int) -> bool:
        changes = self.document.rows.changes
        if not 0 <= number < len(changes):
            return False
        self.go_to(changes[number])
        rows = self.document.rows.rows_of(number)
        self.scroller.ensure_visible(rows.start, rows.stop, margin_rows=5)
        return True

    def select(self, selection: DiffSelection | None) -> None:
        self.selection = selection
        self.scroller.repaint()

    def select_lines(self, start: int, end: int) -> None:
        side = self.selecting_side
        upper, lower = DiffPosition(min(start, end), 0), max(start, end)
        below = DiffPosition(lower, len(text_of(self.document.rows, lower, side) or ""))
        self.select(DiffSelection(side, upper, below) if start <= end else DiffSelection(side, below, upper))

    def select_all(self) -> None:
        if last := len(self.document.rows):
            self.select_lines(0, last - 1)

    def selected_text(self) -> str:
        return self.selection.text(self.document.rows) if self.selection else ""

    def copy(self) -> None:
        if text := self.selected_text():
            QGuiApplication.clipboard().setText(text)


_ORDER: dict[LineSide, int] = {"old": 0, "new": 1}


class DiffMatch(NamedTuple):
    """The position of a match. Matches are ordered by row, the old side before the new side."""

    row: int
    order: int
    line: int
    offset: int

    @property
    def side(self) -> LineSide:
        return "old" if self.order == _ORDER["old"] else "new"


MAX_MATCHES = 2_000


class DiffFinder(QObject):
    """A `FindTarget` that selects each match, and unfolds lines to show it. An unchanged line matches once, as new."""

    found = Signal(int, int)  # the number of the current match, from 1, and the number of matches

    def __init__(
        self,
        navigation: DiffNavigation,
        open_gap: Callable[[int], None],
        show: Callable[[DiffPosition, LineSide, int], None],
    ) -> None:
        """`show` scrolls to the position of a match, given with its side and line."""
        super().__init__(navigation)
        self._show = show
        self._navigation = navigation
        self._open_gap = open_gap
        self._rows = navigation.document.rows
        self._texts: dict[LineSide, tuple[str, list[int]]] = {}
        """All lines of a side as one string, which is searched in C, and the offset at which each line starts."""
        self._text = ""
        self._matches: list[DiffMatch] = []
        self._current: DiffMatch | None = None

    @property
    def has_unread(self) -> bool:
        return len(self._matches) >= MAX_MATCHES

    def find(self, text: str) -> None:
        self._text = text
        self._current = None
        self._read()
        self.step(1)

    def step(self, by: int) -> None:
        if self._navigation.document.rows is not self._rows:
            self._read()
        if not self._matches:
            self.found.emit(0, 0)
            return
        if self._current is not None and self._current in self._matches:
            at = self._matches.index(self._current) + by
        else:
            at = bisect_left(self._matches, DiffMatch(self._navigation.row, -1, -1, -1)) - (by < 0)
        self._select(self._matches[at % len(self._matches)])
        self.found.emit(at % len(self._matches) + 1, len(self._matches))

    def _read(self) -> None:
        rows, current = self._navigation.document.rows, self._current
        if rows.diff is not self._rows.diff:
            self._texts, current = {}, None
        self._rows = rows
        rows, wanted = self._rows, lowered(self._text.partition("\n")[0])
        removed = [(edit.old_start, edit.old_end) for edit in rows.diff.edits]
        sides: dict[LineSide, list[tuple[int, int]]] = {"old": removed, "new": [(0, len(rows.diff.new_lines))]}
        self._matches = sorted(
            DiffMatch(rows.find(side, line), _ORDER[side], line, offset)
            for side, ranges in sides.items()
            for line, offset in islice(self._on_side(side, ranges, wanted), MAX_MATCHES)
        )
        self._current = current._replace(row=rows.find(current.side, current.line)) if current else None

    def _on_side(self, side: LineSide, ranges: Sequence[tuple[int, int]], wanted: str) -> Iterator[tuple[int, int]]:
        if side not in self._texts:
            diff = self._rows.diff
            lines = diff.old_lines if side == "old" else diff.new_lines
            self._texts[side] = lowered("".join(lines)), list(accumulate(map(len, lines), initial=0))
        content, starts = self._texts[side]
        for first, end in ranges if wanted else ():
            at, stop = starts[first], starts[end]
            while (at := content.find(wanted, at, stop)) >= 0:
                line = bisect_right(starts, at) - 1
                yield line, at - starts[line]
                at += len(wanted)

    def _select(self, match: DiffMatch) -> None:
        if self._rows.gap(match.row):
            self._open_gap(match.row)
            match = match._replace(row=self._navigation.document.rows.find(match.side, match.line))
        self._current = match
        side = None if self._rows.mode == "unified" else match.side
        start, end = (DiffPosition(match.row, match.offset + size) for size in (0, len(self._text)))
        self._navigation.go_to(match.row)
        self._navigation.select(DiffSelection(side, start, end))
        self._show(start, match.side, match.line)
