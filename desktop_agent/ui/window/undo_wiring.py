"""Connects undo, redo and going back with the session that is shown."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.protocol.ops import RedoSteps, RewindTo, UndoChanges
from desktop_agent.ui.chat.rewind_dialog import RewindDialog, rewind_choices
from desktop_agent.ui.review.diff_source import FileDiffs, Spawn
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.session_panels import SessionPanels
from desktop_agent.ui.window.shown_session import ShownSession


class UndoWiring(QObject):
    """The keys and menu entries, and what an entry of the conversation offers. The review has ways of its own."""

    def __init__(
        self,
        shown: ShownSession,
        window: QWidget,
        theme: Theme,
        panels: SessionPanels,
        actions: Actions,
        diffs: FileDiffs,
        spawn: Spawn,
    ) -> None:
        super().__init__(window)
        self._diffs = diffs
        self._spawn = spawn
        self._shown = shown
        self._window = window
        self._theme = theme
        panels.transcript.entry_actions.recover_requested.connect(self._recover)
        panels.transcript.entry_actions.rewind_requested.connect(self._ask_how_to_rewind)
        actions.connect(actions.undo_turn, self._undo_last_turn)
        actions.connect(actions.redo_turn, self._redo_last_undo)
        actions.connect(actions.rewind, self._rewind_last_turn)

    def _recover(self, call_id: str) -> None:
        self._shown.submit(UndoChanges(selection=ChangeSelection(call_id=call_id), is_recovery=True))

    def _undo_last_turn(self) -> None:
        from desktop_agent.ui.review.undo_question import UndoWithCare  # not needed for the first paint

        standing = self._shown.transcript.changed.active()
        # Without any, the session says that there is nothing to undo.
        meant = ChangeSelection(turn=standing[-1].turn) if standing else ChangeSelection()
        shown = self._shown
        UndoWithCare(shown.transcript, self._diffs, self._spawn, shown.submit, self._window).undo(meant)

    def _redo_last_undo(self) -> None:
        steps = self._shown.transcript.changed.steps
        self._shown.submit(RedoSteps(steps=tuple(step.seq for step in steps[-1:])))

    def _rewind_last_turn(self) -> None:
        self._ask_how_to_rewind(self._shown.transcript.turn)

    def _ask_how_to_rewind(self, turn: int) -> None:
        choices = rewind_choices(self._shown.transcript)
        if choices:
            dialog = RewindDialog(self._theme, choices, turn, self._window)
            dialog.chosen.connect(self._rewind)
            dialog.open()

    def _rewind(self, turn: int, scope: str) -> None:
        if scope in ("conversation", "files", "both"):
            self._shown.submit(RewindTo(turn=turn, scope=scope))
