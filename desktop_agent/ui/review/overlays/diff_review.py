"""A diff to decide about, to comment on and to edit: a view with all the overlays of the review panel."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.overlays.comment_overlay import CommentOverlay, spot_of_change
from desktop_agent.ui.review.overlays.hunk_buttons import HunkBars, HunkButtons
from desktop_agent.ui.review.overlays.moved_lines import MovedLines
from desktop_agent.ui.theme import Theme


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


class DiffReview(QObject):
    """Puts the overlays over the diff, each with its own state and signals. It changes nothing itself."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        view = DiffView(theme, parent)
        super().__init__(view)
        self.view = view
        view.document.add_heads()
        self.hunks = HunkBars(view)
        self.buttons = HunkButtons(theme, view, self.hunks)
        self.moved = MovedLines(view)
        self.comments = CommentOverlay(theme, view)
        self.editing = EditingOverlay(view, self.buttons)
        self.buttons.comment_requested.connect(self.comments.write_on_change)
        for overlay in (self.hunks, self.buttons, self.moved, self.comments, self.editing):
            view.overlays.add(overlay)
