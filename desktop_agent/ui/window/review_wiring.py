"""Connects the review, and what leads to it, with the session that is shown."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from desktop_agent.ui.files.file_history import FileTurn, turns_of
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.session_panels import SessionPanels
from desktop_agent.ui.window.shown_session import ShownSession


class ReviewWiring(QObject):
    """Calls, files and keys lead to the review, and a change leads to its call."""

    def __init__(
        self,
        shown: ShownSession,
        panels: SessionPanels,
        actions: Actions,
        parent: QObject,
        open_review: Callable[[], None],
    ) -> None:
        """`open_review` brings the panel into sight."""
        super().__init__(parent)
        self._shown = shown
        self._panels = panels
        self._open_review = open_review
        panels.review.call_requested.connect(panels.transcript.navigation.show_call)
        panels.transcript.entry_actions.changes_requested.connect(self._show_changes)
        panels.files.actions_.history = self._history_of
        panels.files.turn_requested.connect(self._show_turn)
        panels.files.show_changes_requested.connect(self._show_changes_of)
        actions.connect(actions.choose_changes, self._choose_changes)
        actions.connect(actions.next_undecided, self._next_undecided)
        actions.connect(actions.previous_undecided, self._previous_undecided)
        actions.connect(actions.keep_file, self._keep_file)
        actions.connect(actions.undo_file, self._undo_file)
        actions.connect(actions.keep_all, self._keep_all)
        actions.connect(actions.send_comments, self._send_comments)

    def _show_changes(self, call_id: str) -> None:
        self._open_review()
        if content := self._panels.review.content:
            content.show_call(call_id)

    def _show_changes_of(self, path: str) -> None:
        records = self._shown.transcript.changes.values()
        calls = [record.call_id for record in records if record.change.path == path and record.change.is_by_agent]
        if calls:
            self._open_review()
            if content := self._panels.review.content:
                content.show_call(calls[-1], path)

    def _history_of(self, path: str) -> Sequence[FileTurn]:
        return turns_of(path, self._shown.transcript.changes.values())

    def _show_turn(self, turn: FileTurn) -> None:
        self._open_review()
        if content := self._panels.review.content:
            content.show_call(turn.call_id, turn.path, turn.turn)

    def _choose_changes(self) -> None:
        review = self._panels.review
        if review.has_review and review.content:
            self._open_review()
            review.content.offer_baselines()

    def _next_undecided(self) -> None:
        self._go_to_undecided(backwards=False)

    def _previous_undecided(self) -> None:
        self._go_to_undecided(backwards=True)

    def _go_to_undecided(self, *, backwards: bool) -> None:
        review = self._panels.review
        if review.has_review and review.content:
            self._open_review()
            review.content.go_to_undecided(backwards=backwards)

    # -- nothing before there is something to review --

    def _keep_file(self) -> None:
        if content := self._panels.review.content:
            content.file.keep()

    def _undo_file(self) -> None:
        if content := self._panels.review.content:
            content.file.undo()

    def _keep_all(self) -> None:
        if content := self._panels.review.content:
            content.all.keep()

    def _send_comments(self) -> None:
        if content := self._panels.review.content:
            content.all.open_comments()
