"""A diff to decide about, to comment on and to edit: a view with all the overlays of the review panel."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.overlays.comment_overlay import CommentOverlay
from desktop_agent.ui.review.overlays.editing_overlay import EditingOverlay
from desktop_agent.ui.review.overlays.hunk_bars import HunkBars
from desktop_agent.ui.review.overlays.hunk_buttons import HunkButtons
from desktop_agent.ui.review.overlays.moved_lines import MovedLines
from desktop_agent.ui.theme import Theme


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
