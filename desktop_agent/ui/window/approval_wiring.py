"""Connects the approval dialog with the session that is shown."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import repeat
from typing import Final

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import ApprovalRequest, Decision, Denied
from desktop_agent.core.protocol.ops import AnswerApproval, JudgeCommand
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.approvals.rule_judging import RuleContext, RuleMaths, past_calls
from desktop_agent.ui.review.diff_source import DiffSource, Spawn
from desktop_agent.ui.runtime.pacing import FRAME_MS, GradualWork
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.shown_session import ShownSession

_PAUSE_MS: Final = 4
"""Between two pieces of a dialog. With no pause, what else is due would be done in the same turns of the loop."""
_ROW_FIRST: Final = FRAME_MS // _PAUSE_MS + 1
"""So many pauses, and the card of the question has been drawn: row updates are a throttle's interval apart at most."""


class ApprovalWiring(QObject):
    """Opens the dialog of a question, one at a time, and submits the answer."""

    def __init__(
        self,
        shown: ShownSession,
        window: QWidget,
        theme: Theme,
        diff_source: DiffSource,
        spawn: Spawn,
        now: Callable[[], datetime],
        rule_maths: Callable[[Transcript], RuleMaths],
        reveal: Callable[[], None],
    ) -> None:
        """`rule_maths` judges rules for a session, asked for when a question is shown.

        `reveal` brings the end of the conversation into view, where a question stands that has no dialog.
        """
        super().__init__(window)
        self._shown = shown
        self._window = window
        self._theme = theme
        self._diff_source = diff_source
        self._spawn = spawn
        self._now = now
        self._rule_maths = rule_maths
        self._reveal = reveal
        self._dialog = None
        self._call_id = ""
        """What the dialog asks about, or will once it is made."""
        self._opening = GradualWork(self, slice_s=0, pause_ms=_PAUSE_MS)

    def close(self) -> None:
        """Close the dialog; its question goes on waiting."""
        self._opening.stop()
        self._call_id = ""
        if self._dialog is not None:
            self._dialog.close()

    def close_if(self, call_id: str) -> None:
        """Close the dialog if it is about this call, which was decided elsewhere."""
        if self._call_id == call_id:
            self._opening.stop()
            self._call_id = ""
        if self._dialog is not None:
            self._dialog.close_if(call_id)

    def open_next(self) -> None:
        """Open the dialog for the question that waits longest, unless the session is only read."""
        if (pending := self._shown.transcript.pending_approvals) and not self._shown.read_only:
            self.open(pending[0].call_id)

    def open(self, call_id: str) -> None:
        """Open the dialog for a question that waits, unless it is open already: in turns of the loop that follow."""
        request = self._pending(call_id)
        if request is None or self._call_id == call_id:
            return
        if request.spending is not None or request.question is not None:
            self._reveal()
            return
        self.close()
        self._call_id = call_id
        self._opening.begin(self._open(request))

    def _open(self, request: ApprovalRequest) -> Iterator[None]:
        """Make the dialog and show it, after its card and in pieces: together they would take several frames."""
        yield from repeat(None, _ROW_FIRST)
        from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog  # 16 ms, which is not for the first sight

        dialog = ApprovalDialog(
            self._theme, request, self._diff_source, self._spawn, self._window, rules=self._rule_context(request)
        )
        try:
            yield from dialog.pieces
            yield
        except GeneratorExit:  # the question was answered elsewhere, or left
            dialog.deleteLater()
            raise
        self._dialog = dialog
        dialog.decided.connect(self.answer)
        dialog.edited.connect(self.judge)
        dialog.finished.connect(self._forget)
        dialog.open()

    def answer(self, call_id: str, decision: Decision) -> None:
        """Tell the session what the user decided."""
        self._shown.submit(AnswerApproval(call_id=call_id, decision=decision))

    def deny(self, call_id: str, reason: str) -> None:
        """Deny it, with a reason for the agent."""
        self.answer(call_id, Denied(message=reason))

    def judge(self, call_id: str, command: str) -> None:
        """Have the session judge a command as the user edits it."""
        self._shown.submit(JudgeCommand(call_id=call_id, command=command))

    def show_judgement(self, judged: CommandJudged) -> None:
        """Show the answer in the dialog, if it is open about that call."""
        if self._dialog is not None and self._dialog.call_id == judged.call_id:
            self._dialog.show_judgement(judged)

    def _rule_context(self, request: ApprovalRequest) -> RuleContext:
        transcript = self._shown.transcript
        past = past_calls(transcript, request)
        return RuleContext(self._rule_maths(transcript), transcript.session.workspace, past, self._now)

    def _pending(self, call_id: str) -> ApprovalRequest | None:
        pending = self._shown.transcript.pending_approvals
        return next((request for request in pending if request.call_id == call_id), None)

    def _forget(self) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None
            self._call_id = ""
