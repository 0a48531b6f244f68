"""Where the user is in a diff: the marked row, and what is selected."""

from bisect import bisect_left, bisect_right

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.ui.review.diff.diff_document import DiffDocument
from desktop_agent.ui.review.diff.diff_scroller import DiffScroller
from desktop_agent.ui.review.diff.diff_selection import DiffPosition, DiffSelection, everything, text_of


class DiffNavigation(QObject):
    """Moves the mark from row to row and from change to change, and selects.

    Signals:
        moved: another row is marked, or the same one again.
    """

    moved = Signal()

    def __init__(self, document: DiffDocument, scroller: DiffScroller, parent: QObject) -> None:
        super().__init__(parent)
        self.document = document
        """What it moves in."""
        self.scroller = scroller
        """Brings the marked row into view."""
        self._select_from: int | None = None
        self.row = 0
        """The marked row."""
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
        """Go to the next change; whether there is one."""
        return self.go_to_change(bisect_right(self.document.rows.changes, self.row))

    def previous_change(self) -> bool:
        """Go to the change before this one; whether there is one."""
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
        """Select this; `None` selects nothing."""
        self.selection = selection
        self.scroller.repaint()

    def select_lines(self, start: int, end: int) -> None:
        """Select the whole lines of these rows and those between."""
        side = self.selecting_side
        upper, lower = DiffPosition(min(start, end), 0), max(start, end)
        below = DiffPosition(lower, len(text_of(self.document.rows, lower, side) or ""))
        self.select(DiffSelection(side, upper, below) if start <= end else DiffSelection(side, below, upper))

    def select_all(self) -> None:
        """Select everything on the side where the user last was."""
        if len(self.document.rows):
            self.select(everything(self.document.rows, self.selecting_side))

    def selected_text(self) -> str:
        """Return what is selected, exactly as it is in the file."""
        return self.selection.text(self.document.rows) if self.selection else ""

    def copy(self) -> None:
        """Put what is selected on the clipboard."""
        if text := self.selected_text():
            QGuiApplication.clipboard().setText(text)
