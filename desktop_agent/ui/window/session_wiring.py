"""Connects the panels with the session that is shown: events become drawings, what the user does becomes ops."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import repeat
from typing import Final

from PySide6.QtCore import QObject, QTimer, QUrl, Signal, SignalInstance
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import ApprovalRequest, Decision, Denied
from desktop_agent.core.protocol.ops import AnswerApproval, JudgeCommand
from desktop_agent.core.slash.declarations import typed_prompt
from desktop_agent.core.transcript import Patch, Transcript
from desktop_agent.ui.approvals.rule_judging import RuleContext, RuleMaths, past_calls
from desktop_agent.ui.chat.composer.message_edit import PromptHistory
from desktop_agent.ui.review.diff_source import DiffSource, Spawn
from desktop_agent.ui.runtime.pacing import FRAME_MS, GradualWork
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.panel_wiring import (
    ContextWiring,
    PromptWiring,
    ReviewWiring,
    SessionControls,
    SessionPanels,
    SessionStatus,
    UndoWiring,
)
from desktop_agent.ui.window.shown_session import ReadingPlaces, SessionBridge, ShownSession

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


class SessionWiring(QObject):
    """Shows one session at a time in the panels it is given.

    Signals:
        review_requested: the review panel should come into sight.
        retry_requested: the last prompt is about to be asked again.
        folder_requested: the user sent something, which it carries, but nothing is open that could answer.
        rules_changed: other rules are in force in the shown session; carries them.
    """

    review_requested = Signal()
    retry_requested = Signal()
    folder_requested = Signal(str)
    rules_changed = Signal(object)

    def __init__(
        self,
        window: QWidget,
        theme: Theme,
        actions: Actions,
        panels: SessionPanels,
        diff_source: DiffSource,
        spawn: Spawn,
        now: Callable[[], datetime],
        rule_maths: Callable[[Transcript], RuleMaths],
    ) -> None:
        """`rule_maths` judges rules for a session, asked for when a question is shown."""
        super().__init__(window)
        self._window = window
        self._actions = actions
        self._panels = panels
        self._shown = shown = ShownSession()
        self._places = ReadingPlaces(panels.transcript.navigation)
        self._replacing: list[Callable[[], None]] = []
        """What is still to be shown of a session that was replaced."""
        self._replacing_timer = QTimer(self, interval=0, singleShot=True)
        self._replacing_timer.timeout.connect(self._show_next)
        self._context = ContextWiring(shown, window, theme)
        self._approvals = ApprovalWiring(
            shown,
            window,
            theme,
            diff_source,
            spawn,
            now,
            rule_maths,
            reveal=panels.transcript.row_layout.scroll_to_bottom,
        )
        self._prompts = PromptWiring(
            shown, panels, actions, window, give_back=self.give_back, on_retry=self.retry_requested.emit
        )
        self._status = SessionStatus(shown, panels, actions, self.rules_changed.emit)
        self.controls = SessionControls(shown, panels, window)
        """What the user sets in the session."""
        # Both are owned by the window.
        UndoWiring(shown, window, theme, panels, actions, diff_source, spawn)
        ReviewWiring(shown, panels, actions, window, self.review_requested.emit)
        self.opens_questions = False
        """Whether a question opens its dialog by itself. Its card in the conversation is there in any case."""
        self._connect()

    @property
    def bridge(self) -> SessionBridge | None:
        """The session that is shown."""
        return self._shown.bridge

    def show(self, bridge: SessionBridge, *, is_begun: bool = False) -> None:
        """Show this session instead of the one before, which goes on running unseen.

        One that `is_begun` with the first prompt is the conversation that was shown before.
        """
        if (before := self._shown.bridge) is not None:
            self._places.leave(before)
            for signal, slot in self._connections(before):
                signal.disconnect(slot)
        for signal, slot in self._connections(bridge):
            signal.connect(slot)
        self._replacing = []
        self._shown.bridge = bridge
        self._context.close()
        self._approvals.close()
        self._panels.transcript.show_transcript(bridge.transcript, is_gentle=True)
        self._places.enter(bridge)
        self._panels.review.set_transcript(bridge.transcript, bridge.submit, is_begun=is_begun)
        if not is_begun:
            self._panels.composer.edit.history = PromptHistory()
        self._show_rest()

    def _connections(self, bridge: SessionBridge) -> list[tuple[SignalInstance, Callable[..., None] | SignalInstance]]:
        view = self._panels.transcript
        return [
            (bridge.patched, self._on_patched),
            (bridge.happened, self._on_happened),
            (bridge.replaced, self._on_replaced),
            (bridge.failed, self._on_failed),
            (bridge.pages_found, view.finder.add_pages),
            (view.pages.pages_wanted, bridge.pages_wanted),
            (view.finder.pages_sought, bridge.pages_sought),
        ]

    def _on_replaced(self) -> None:
        self._approvals.close()
        self._panels.transcript.exchange_transcript(self._shown.transcript)
        if (bridge := self._shown.bridge) is not None:
            self._places.enter(bridge)
        self._replacing = [self._show_review, self._show_rest]
        self._replacing_timer.start()

    def _on_failed(self, _error: AgentError) -> None:
        self._panels.review.say_unreadable()

    def _show_next(self) -> None:
        """Show one more part of what replaced the end of a session: all of it at once would take two frames."""
        if self._replacing:
            self._replacing.pop(0)()
            self._replacing_timer.start()

    def _show_review(self) -> None:
        if (bridge := self._shown.bridge) is not None:
            self._panels.review.set_transcript(bridge.transcript, bridge.submit)

    def _show_rest(self) -> None:
        """Show all of a session but its conversation and its changes."""
        self._panels.composer.set_blocked(self._shown.read_only)
        edit = self._panels.composer.edit
        edit.history = edit.history.exchanged(_written(self._shown.transcript))
        self._status.refresh()
        self._status.refresh_changes()
        if self.opens_questions:
            self._approvals.open_next()

    def give_back(self, texts: Sequence[str]) -> None:
        """Put prompts that were not taken back into the composer, before what the user has written since."""
        draft = self._panels.composer.text().strip()
        self._panels.composer.set_text("\n\n".join([*texts, draft] if draft else texts))

    # -- what the user does --

    def _connect(self) -> None:
        view, composer = self._panels.transcript, self._panels.composer
        composer.prompt_submitted.connect(self._submit_prompt)
        composer.steering_submitted.connect(self._prompts.steer)
        composer.denied.connect(self._approvals.deny)
        composer.command_submitted.connect(self._run_command)
        composer.controls.meter.clicked.connect(self._context.inspect)
        view.entry_actions.example_chosen.connect(self._submit_prompt)
        view.entry_actions.summary_edit_requested.connect(self._context.edit_summary)
        view.entry_actions.summary_undo_requested.connect(self._context.undo_compaction)
        view.entry_actions.approval_answered.connect(self._approvals.answer)
        view.entry_actions.approval_edited.connect(self._approvals.judge)
        view.entry_actions.approval_opened.connect(self._approvals.open)
        view.entry_actions.link_activated.connect(_open_link)
        self._actions.inspect_context.setEnabled(False)  # until a session is shown
        self._actions.compact.setEnabled(False)
        self._actions.connect(self._actions.inspect_context, self._context.inspect)
        self._actions.connect(self._actions.compact, self._context.compact)

    def _submit_prompt(self, text: str) -> None:
        if self.bridge is None:
            self._ask_for_folder(typed_prompt(text))
        else:
            self._prompts.submit(text)

    def _run_command(self, text: str) -> None:
        if self.bridge is None:
            self._ask_for_folder(text)
        else:
            self._prompts.run_command(text)

    def _ask_for_folder(self, text: str) -> None:
        """Keep what was sent in the field, before what is written there, until something is open that can answer."""
        self.give_back([text])
        self.folder_requested.emit(text)

    # -- what happens in the session --

    def _on_patched(self, patches: Sequence[Patch]) -> None:
        self._panels.transcript.apply(patches)
        kinds = {patch.kind for patch in patches}
        if "status" in kinds:
            self._status.refresh()
        if "changes" in kinds or "status" in kinds:
            self._status.refresh_changes()

    def _on_happened(self, event: ev.Event) -> None:
        self._context.follow(event)
        match event:
            case _ if self._shown.read_only:
                pass  # what it asks, and what waits in it, is for the window that writes it
            case ev.ApprovalRequested(request=request) if self.opens_questions and not self._is_user_writing():
                self._approvals.open(request.call_id)
            case ev.ApprovalResolved(call_id=call_id):
                self._approvals.close_if(call_id)
            case ev.CommandJudged():
                self._approvals.show_judgement(event)
            case ev.PromptRejected(text=text):
                self.give_back([text])
            case ev.TurnEnded(reason=reason) if reason != "completed":
                self._prompts.give_back_queued()
            case ev.ChangesRecorded() | ev.ChangesUndone() | ev.ChangesRedone():
                self._panels.files.refresh()
            case _:
                pass

    def _is_user_writing(self) -> bool:
        """Whether the user is typing, so that a dialog would take the keys: then only the card asks."""
        composer = self._panels.composer
        return bool(composer.text().strip()) and composer.isAncestorOf(QApplication.focusWidget() or self._window)


def _written(transcript: Transcript) -> list[str]:
    """What the user wrote so far, as it has to be written again."""
    loaded = [
        entry for entry in transcript.entries if isinstance(entry, ev.PromptSubmitted | ev.Steered | ev.CommandRun)
    ]
    turns = {entry.turn for entry in loaded if isinstance(entry, ev.PromptSubmitted)} | transcript.turns.cut_prompts
    paged = [typed_prompt(text) for turn, text in transcript.turns.prompts.items() if turn not in turns]
    return paged + [entry.text if isinstance(entry, ev.CommandRun) else typed_prompt(entry.text) for entry in loaded]


def _open_link(address: str) -> None:
    QDesktopServices.openUrl(QUrl(address))
