"""Connects the review, and what leads to it, with the session that is shown."""

from collections.abc import Callable

from PySide6.QtCore import QObject

from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.bridge import SessionBridge
from desktop_agent.ui.window.session_panels import SessionPanels


class ReviewWiring(QObject):
    """Ops of the review go to the session; calls, files and keys lead to the review."""

    def __init__(
        self,
        bridge: SessionBridge,
        panels: SessionPanels,
        actions: Actions,
        parent: QObject,
        open_review: Callable[[], None],
    ) -> None:
        """`open_review` brings the panel into sight."""
        super().__init__(parent)
        self._bridge = bridge
        self._panels = panels
        self._open_review = open_review
        review = panels.review
        review.call_requested.connect(panels.transcript.navigation.show_call)
        panels.transcript.entry_actions.changes_requested.connect(self._show_changes)
        panels.files.show_changes_requested.connect(self._show_changes_of)
        actions.connect(actions.next_undecided, self._next_undecided)
        actions.connect(actions.previous_undecided, self._previous_undecided)
        actions.connect(actions.keep_file, review.keep_file)
        actions.connect(actions.undo_file, review.undo_file)
        actions.connect(actions.keep_all, review.keep_all)
        actions.connect(actions.send_comments, review.send_comments)

    def show(self, bridge: SessionBridge) -> None:
        """Review this session from now on."""
        self._bridge = bridge

    def _show_changes(self, call_id: str) -> None:
        self._open_review()
        self._panels.review.show_call(call_id)

    def _show_changes_of(self, path: str) -> None:
        records = self._bridge.transcript.changes.values()
        calls = [record.call_id for record in records if record.change.path == path]
        if calls:
            self._show_changes(calls[-1])

    def _next_undecided(self) -> None:
        if self._panels.review.has_review:
            self._open_review()
            self._panels.review.next_undecided()

    def _previous_undecided(self) -> None:
        if self._panels.review.has_review:
            self._open_review()
            self._panels.review.previous_undecided()
