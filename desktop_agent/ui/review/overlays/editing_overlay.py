"""Room for an editor over the new side of a diff, and the keys that ask for it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.review.comments.comment_anchor import spot_of_change
from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.overlays.hunk_buttons import HunkButtons


class EditingOverlay(DiffOverlay):
    """Keeps an editor where the new side is. Keys edit the file, and find something in it.

    Signals:
        edit_requested: the user wants to edit the file, starting where the mark is.
        find_requested: the user wants to find something in the diff.
    """

    edit_requested = Signal()
    find_requested = Signal()

    def __init__(self, view: DiffView, buttons: HunkButtons) -> None:
        super().__init__(view)
        self._view = view
        self._buttons = buttons
        self._cover: QWidget | None = None

    def set_cover(self, cover: QWidget | None) -> None:
        """Put a widget over the new side, which hides what it covers from the keyboard; `None` takes it away."""
        self._cover = cover
        self._buttons.set_covered(is_covered=cover is not None)
        self.place()

    def current_new_line(self) -> int:
        """Return the new line that is marked, or the next one; on the bar of a change, the first one it changed."""
        rows, marked = self._view.document.rows, self._view.navigation.row
        if len(rows) and rows[marked].kind == "hunk":
            spot = spot_of_change(rows, marked)
            if spot.side == "new":
                return spot.start
        for row in range(marked, len(rows)):
            if gap := rows.gap(row):
                return gap.new_start
            new = rows[row].new
            if new is not None:
                return new
        return max(0, len(rows.diff.new_lines) - 1)

    def place(self) -> None:
        if self._cover:
            view, panes = self._view, self._view.scroller.panes
            left = panes[-1].left if panes else 0
            height = view.viewport().height() if left else view.height()  # the other side scrolls sideways
            self._cover.setGeometry(left, 0, view.width() - left, height)
            self._cover.raise_()

    def takes(self, action: str) -> bool:
        return action in ("find", "edit")

    def do(self, action: str) -> bool:
        match action:
            case "find":
                self.find_requested.emit()
            case "edit" if len(self._view.document.rows):
                self.edit_requested.emit()
            case _:
                return False
        return True
