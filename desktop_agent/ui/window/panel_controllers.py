"""One controller for each panel that acts on the shown session: composer, review, inspector, approval dialog."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ApprovalRequest, ChangeSelection, Denied
from desktop_agent.core.slash.declarations import typed_prompt
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.approvals.rule_judging import RuleContext, RuleMaths, past_calls
from desktop_agent.ui.chat.checklist import TodoPanel
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.rewind_dialog import RewindDialog, rewind_choices
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.files.file_panel import FileTree
from desktop_agent.ui.files.path_actions import FileTurn, turns_of
from desktop_agent.ui.jobs_panel import JobsPanel
from desktop_agent.ui.review.diff_source import DiffSource, FileDiffs, Spawn
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.runtime.pacing import FRAME_MS, GradualWork
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.conversation_pane import PlanBar
from desktop_agent.ui.window.main_window import MainWindow
from desktop_agent.ui.window.mode_pickers import ModePickers
from desktop_agent.ui.window.session_handle import SessionHandle, ShownSession, submit_on

if TYPE_CHECKING:
    from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
    from desktop_agent.ui.context_inspector import ContextInspector
    from desktop_agent.ui.review.review_content import ReviewContent


class SessionPanels(Struct, frozen=True):
    window: MainWindow
    theme: Theme
    transcript: TranscriptView
    composer: Composer
    pickers: ModePickers
    review: ReviewPanel
    files: FileTree
    jobs: JobsPanel
    todos: TodoPanel
    plan: PlanBar


class PanelController(QObject):
    def __init__(self, session: ShownSession, panels: SessionPanels) -> None:
        super().__init__(session)
        self._session = session
        self._window, self._theme = panels.window, panels.theme
        self._view, self._composer = panels.transcript, panels.composer


class PromptController(PanelController):
    retry_requested = Signal()  # the last prompt is about to be sent again
    folder_requested = Signal(str)  # the text that the user sent while no session was open

    def __init__(self, session: ShownSession, panels: SessionPanels) -> None:
        super().__init__(session, panels)
        view, composer, actions = self._view, self._composer, self._window.actions_
        entries, waiting = view.entry_actions, composer.waiting
        session.unanswered.connect(self._ask_for_folder)
        for prompted in (composer.prompt_submitted, entries.example_chosen):
            session.submit_on(prompted, ops.SubmitPrompt, "text")
            prompted.connect(self._follow_prompt)
        session.submit_on(composer.command_submitted, ops.RunCommand, "text")
        session.submit_on(waiting.send_requested, ops.SendQueued, "prompt_id")
        for followed in (composer.command_submitted, waiting.send_requested):
            followed.connect(view.row_layout.scroll_to_bottom)
        entries.retry_requested.connect(self._retry)
        entries.again_requested.connect(self._ask_again)
        entries.quote_requested.connect(self._quote)
        waiting.edit_requested.connect(self._edit_queued)
        actions.quote.triggered.connect(view.messages.quote)
        session.submit_on(composer.steering_submitted, ops.Steer, "text")
        session.submit_on(composer.controls.stop.clicked, ops.Interrupt)
        session.submit_on(actions.stop.triggered, ops.Interrupt)
        session.submit_on(entries.stop_requested, ops.Interrupt)
        session.submit_on(entries.subagent_stop_requested, ops.StopSubagent, "call_id")
        session.submit_on(entries.try_now_requested, ops.TryNow)
        session.submit_on(waiting.unqueue_requested, ops.Unqueue, "prompt_id")
        session.submit_on(waiting.steer_requested, ops.SteerQueued, "prompt_id")
        session.submit_on(waiting.move_requested, ops.MoveQueued, "prompt_id", "before")

    def give_back(self, texts: Sequence[str]) -> None:
        draft = self._composer.text().strip()
        self._composer.set_text("\n\n".join([*texts, draft] if draft else texts))

    def give_back_queued(self) -> None:
        """Move the queued prompts back to the field, but not those that an earlier process queued."""
        handle = self._session.handle
        if handle is None:
            return
        queued = handle.transcript.turns.queued
        waiting = [prompt for prompt in queued if prompt.prompt_id not in handle.left_waiting]
        for prompt in waiting:
            handle.submit(ops.Unqueue(prompt_id=prompt.prompt_id))
        if waiting:
            self.give_back([prompt.text for prompt in waiting])

    def _follow_prompt(self) -> None:
        if not self._session.transcript.turns.is_running:  # otherwise the prompt is queued, and the view stays
            self._view.row_layout.scroll_to_bottom()

    def _ask_for_folder(self, op: ops.Op) -> None:
        if isinstance(op, ops.SubmitPrompt | ops.RunCommand):
            text = typed_prompt(op.text) if isinstance(op, ops.SubmitPrompt) else op.text
            self.give_back([text])
            self.folder_requested.emit(text)

    def _retry(self) -> None:
        for entry in reversed(self._session.transcript.entries):
            if isinstance(entry, ev.PromptSubmitted):
                self.retry_requested.emit()
                self._session.submit(ops.SubmitPrompt(text=entry.text))
                self._follow_prompt()
                return

    def _ask_again(self, turn: int) -> None:
        entries = self._session.transcript.entries
        prompt = next((one for one in entries if isinstance(one, ev.PromptSubmitted) and one.turn == turn), None)
        if prompt is not None:
            self._view.entry_actions.resend_requested.emit(turn, prompt.text, False)

    def _quote(self, text: str) -> None:
        draft = self._composer.text().rstrip()
        quoted = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
        self._composer.set_text(f"{draft}\n\n{quoted}\n\n" if draft else f"{quoted}\n\n")
        self._composer.setFocus()

    def _edit_queued(self, prompt_id: str) -> None:
        for prompt in self._session.transcript.turns.queued:
            if prompt.prompt_id == prompt_id:
                self._session.submit(ops.Unqueue(prompt_id=prompt_id))
                self.give_back([prompt.text])
                self._composer.setFocus()


class ReviewController(PanelController):
    def __init__(self, session: ShownSession, panels: SessionPanels, diffs: FileDiffs, spawn: Spawn) -> None:
        super().__init__(session, panels)
        view, files = panels.transcript, panels.files
        self._review = panels.review
        self._diffs = diffs
        self._spawn = spawn
        self._review.call_requested.connect(view.navigation.show_call)
        view.entry_actions.changes_requested.connect(self._show_call)
        view.entry_actions.rewind_requested.connect(self._ask_how_to_rewind)
        view.entry_actions.recover_requested.connect(self._recover)
        files.file_actions.history = self._history_of
        files.file_actions.turn_requested.connect(self._show_turn)
        files.file_actions.show_changes_requested.connect(self._show_changes_of)
        actions = self._window.actions_
        self._on_review(actions.choose_changes, lambda content: content.offer_baselines())
        self._on_review(actions.next_undecided, lambda content: content.go_to_undecided(backwards=False))
        self._on_review(actions.previous_undecided, lambda content: content.go_to_undecided(backwards=True))
        self._on_review(actions.keep_file, lambda content: content.keep_file())
        self._on_review(actions.undo_file, lambda content: content.undo_file())
        self._on_review(actions.keep_all, lambda content: content.keep_all())
        self._on_review(actions.commit, lambda content: content.commit())
        self._on_review(actions.undo_commit, lambda content: content.undo_commit())
        self._on_review(actions.send_comments, lambda content: content.open_comments())
        actions.undo_turn.triggered.connect(self._undo_last_turn)
        actions.redo_turn.triggered.connect(self._redo_last_undo)
        actions.rewind.triggered.connect(self._rewind_last_turn)

    def follow(self, event: ev.Event) -> None:
        if self._review.content is not None:
            self._review.content.committing.follow(event)

    def _show_call(self, call_id: str, path: str = "", turn: int | None = None) -> None:
        self._window.show_review()
        if content := self._review.content:
            content.show_call(call_id, path, turn)

    def _show_changes_of(self, path: str) -> None:
        records = self._session.transcript.changes.values()
        calls = [record.call_id for record in records if record.change.path == path and record.change.is_by_agent]
        if calls:
            self._show_call(calls[-1], path)

    def _history_of(self, path: str) -> Sequence[FileTurn]:
        return turns_of(path, self._session.transcript.changes.values())

    def _show_turn(self, turn: FileTurn) -> None:
        self._show_call(turn.call_id, turn.path, turn.turn)

    def _on_review(self, action: QAction, work: Callable[["ReviewContent"], object]) -> None:
        """When `action` is triggered, show the review and do `work`, unless there is nothing to review."""

        def do() -> None:
            if (content := self._review.content) is not None and self._review.has_review:
                self._window.show_review()
                work(content)

        action.triggered.connect(do)

    def _recover(self, call_id: str) -> None:
        self._session.submit(ops.UndoChanges(selection=ChangeSelection(call_id=call_id), is_recovery=True))

    def _undo_last_turn(self) -> None:
        from desktop_agent.ui.review.review_decisions import UndoWithCare  # not needed for the first paint

        standing = self._session.transcript.changed.active()
        # Without any, the session says that there is nothing to undo.
        meant = ChangeSelection(turn=standing[-1].turn) if standing else ChangeSelection()
        session = self._session
        UndoWithCare(session.transcript, self._diffs, self._spawn, session.submit, self._window).undo(meant)

    def _redo_last_undo(self) -> None:
        steps = self._session.transcript.changed.steps
        self._session.submit(ops.RedoSteps(steps=tuple(step.seq for step in steps[-1:])))

    def _rewind_last_turn(self) -> None:
        self._ask_how_to_rewind(self._session.transcript.turn)

    def _ask_how_to_rewind(self, turn: int) -> None:
        if choices := rewind_choices(self._session.transcript):
            dialog = RewindDialog(self._theme, choices, turn, self._window)
            self._session.submit_on(dialog.chosen, ops.RewindTo, "turn", "scope")
            dialog.open()


class ContextController(PanelController):
    def __init__(self, session: ShownSession, panels: SessionPanels) -> None:
        super().__init__(session, panels)
        self._inspector: ContextInspector | None = None
        actions, entries = self._window.actions_, self._view.entry_actions
        inspect = partial(self._open, "")
        self._composer.controls.meter.clicked.connect(inspect)
        actions.inspect_context.setEnabled(False)  # until a session is shown
        actions.compact.setEnabled(False)
        actions.inspect_context.triggered.connect(inspect)
        entries.summary_edit_requested.connect(partial(self._open, "summary"))
        session.submit_on(actions.compact.triggered, ops.Compact)
        session.submit_on(entries.summary_undo_requested, ops.UndoCompaction)

    def close(self) -> None:
        if self._inspector is not None:
            self._inspector.close()

    def follow(self, event: ev.Event) -> None:
        if self._inspector is None:
            return
        match event:
            case ev.ContextInspected(report=report):
                transcript = self._session.transcript
                is_working = transcript.turns.is_running or bool(transcript.turns.activity)
                self._inspector.show_report(report, tuple(transcript.context.pins.values()), is_working=is_working)
                self._inspector.show_cache_miss(transcript.turns.cache_miss)
                self._inspector.show_mended(transcript.turns.mended)
            case (
                ev.ContextMeasured()
                | ev.Compacted()
                | ev.SummaryEdited()
                | ev.CompactionUndone()
                | ev.Pinned()
                | ev.Unpinned()
                | ev.GuidanceLoaded()
                | ev.TurnEnded()
                | ev.Rewound()
                | ev.ToolProgress(name="compact")
            ):
                self._session.submit(ops.InspectContext())
            case _:
                pass

    def _open(self, kind: str) -> None:
        if self._session.handle is None:
            return
        if self._inspector is None:
            from desktop_agent.ui.context_inspector import ContextInspector  # not needed for the first paint

            self._inspector = ContextInspector(self._theme, self._window)
            self._inspector.op_requested.connect(self._session.submit)
            self._inspector.finished.connect(self._forget)
            self._inspector.open()
        if kind:
            self._inspector.show_part(kind)
        self._session.submit(ops.InspectContext())

    def _forget(self) -> None:
        self._inspector = None


_PAUSE_MS: Final = 4
"""The pause between two pieces of a dialog. Without it, other work would run in the same turns of the loop."""
_ROW_FIRST: Final = FRAME_MS // _PAUSE_MS + 1
"""How many pauses it takes until the card of the question has been drawn: rows are updated once a frame."""


class ApprovalController(PanelController):
    def __init__(
        self,
        session: ShownSession,
        panels: SessionPanels,
        diffs: DiffSource,
        spawn: Spawn,
        now: Callable[[], datetime],
        rule_maths: Callable[[Transcript], RuleMaths],
    ) -> None:
        """`rule_maths` returns the evaluator of a session's rules. It is called when a question is shown."""
        super().__init__(session, panels)
        entries = self._view.entry_actions
        self._diffs = diffs
        self._spawn = spawn
        self._now = now
        self._rule_maths = rule_maths
        self._dialog: ApprovalDialog | None = None
        self._asking: SessionHandle | None = None
        """The session of that call, which need not be the one shown."""
        self._call_id = ""
        """The call that the dialog asks about, set even while the dialog is still being made."""
        self._opening = GradualWork(self, slice_s=0, pause_ms=_PAUSE_MS)
        self._composer.denied.connect(self._deny)
        session.submit_on(entries.approval_answered, ops.AnswerApproval, "call_id", "decision")
        session.submit_on(entries.approval_edited, ops.JudgeCommand, "call_id", "command")
        entries.approval_opened.connect(self.open)

    def close(self) -> None:
        """Close the dialog. The question stays open."""
        self._stop_asking()
        if self._dialog is not None:
            self._dialog.close()

    def _stop_asking(self) -> None:
        self._opening.stop()
        if self._asking is not None:
            self._asking.happened.disconnect(self._on_happened)
        self._asking, self._call_id = None, ""

    def _on_happened(self, event: ev.Event) -> None:
        match event:
            case ev.ApprovalResolved(call_id=call_id) if call_id == self._call_id:
                self._stop_asking()
                if self._dialog is not None:
                    self._dialog.close_if(call_id)
            case ev.CommandJudged(call_id=call_id) if self._dialog is not None and self._dialog.call_id == call_id:
                self._dialog.show_judgement(event)
            case _:
                pass

    def open_next(self) -> None:
        if (pending := self._session.transcript.pending_approvals) and not self._session.read_only:
            self.open(pending[0].call_id)

    def open(self, call_id: str, handle: SessionHandle | None = None) -> None:
        """Open the dialog in the next turns of the loop. Without a `handle`, the call is of the session shown."""
        handle = handle or self._session.handle
        pending = handle.transcript.pending_approvals if handle is not None else ()
        request = next((request for request in pending if request.call_id == call_id), None)
        if handle is None or request is None or (self._asking is handle and self._call_id == call_id):
            return
        if request.spending is not None or request.question is not None:  # answered only in the conversation
            self._view.row_layout.scroll_to_bottom()
            return
        self.close()
        self._asking, self._call_id = handle, call_id
        handle.happened.connect(self._on_happened)
        self._opening.begin(self._open(handle, request))

    def _open(self, handle: SessionHandle, request: ApprovalRequest) -> Iterator[None]:
        """Build and show the dialog in steps after its card was drawn. In one step, this would take several frames."""
        yield from repeat(None, _ROW_FIRST)
        from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog  # 16 ms, not for the first paint

        transcript = handle.transcript
        past = past_calls(transcript, request)
        rules = RuleContext(self._rule_maths(transcript), transcript.session.workspace, past, self._now)
        dialog = ApprovalDialog(self._theme, request, self._diffs, self._spawn, self._window, rules=rules)
        try:
            yield from dialog.pieces
            yield
        except GeneratorExit:  # the question was answered elsewhere, or is no longer shown
            dialog.deleteLater()
            raise
        self._dialog = dialog
        submit_on(handle, dialog.decided, ops.AnswerApproval, "call_id", "decision")
        submit_on(handle, dialog.edited, ops.JudgeCommand, "call_id", "command")
        dialog.finished.connect(self._forget)
        dialog.open()

    def _deny(self, call_id: str, reason: str) -> None:
        self._session.submit(ops.AnswerApproval(call_id=call_id, decision=Denied(message=reason)))

    def _forget(self) -> None:
        self._stop_asking()
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None
