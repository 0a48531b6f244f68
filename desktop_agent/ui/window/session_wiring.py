"""Connects the panels with the session that is shown: events become drawings, what the user does becomes ops."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.core.slash.parse import typed_prompt
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.files.panel import FileTree
from desktop_agent.ui.jobs.panel import JobsPanel
from desktop_agent.ui.review.panel.panel import ReviewPanel
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.approval_wiring import ApprovalWiring
from desktop_agent.ui.window.context_wiring import ContextWiring
from desktop_agent.ui.window.mode_pickers import ModePickers
from desktop_agent.ui.window.top_bar import TopBar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from desktop_agent.core.protocol.events import Event
    from desktop_agent.core.protocol.model import ChangeSelection, Job, Rule
    from desktop_agent.core.protocol.ops import Op
    from desktop_agent.core.transcript import Patch, Transcript
    from desktop_agent.ui.approvals.rule_maths import RuleMaths
    from desktop_agent.ui.review.source import DiffSource, Spawn
    from desktop_agent.ui.window.bridge import SessionBridge


@dataclass(frozen=True, slots=True)
class SessionPanels:
    """The widgets that show a session."""

    top_bar: TopBar
    transcript: TranscriptView
    composer: Composer
    pickers: ModePickers
    review: ReviewPanel
    files: FileTree
    jobs: JobsPanel


class SessionWiring(QObject):
    """Shows one session at a time in the panels it is given.

    Signals:
        settings_requested: the user should see the settings, for a key for instance.
        review_requested: the review panel should come into sight.
        retry_requested: the last prompt is about to be asked again.
        folder_requested: the user wrote something, but nothing is open that could answer.
        rules_changed: other rules are in force in the shown session; carries them.
        job_output_requested: the user wants to read what a `Job` printed.
    """

    settings_requested = Signal()
    review_requested = Signal()
    retry_requested = Signal()
    folder_requested = Signal()
    rules_changed = Signal(object)
    job_output_requested = Signal(object)

    def __init__(
        self,
        window: QWidget,
        theme: Theme,
        actions: Actions,
        panels: SessionPanels,
        diff_source: "DiffSource",
        spawn: "Spawn",
        now: "Callable[[], datetime]",
        rule_maths: "Callable[[Transcript], RuleMaths] | None" = None,
    ) -> None:
        """`rule_maths` judges rules for a session, asked for when a question is shown; without it, none can be made."""
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._actions = actions
        self._panels = panels
        self._rules: tuple[Rule, ...] | None = None
        self._bridge: SessionBridge | None = None
        self._replacing: list[Callable[[], None]] = []
        """What is still to be shown of a session that was replaced."""
        self._replacing_timer = QTimer(self, interval=0, singleShot=True)
        self._replacing_timer.timeout.connect(self._show_next)
        self._context = ContextWiring(window, theme)
        self._approvals = ApprovalWiring(window, theme, diff_source, spawn, now, rule_maths)
        self.opens_questions = False
        """Whether a question opens its dialog by itself. Its card in the conversation is there in any case."""
        self._connect()

    @property
    def bridge(self) -> "SessionBridge | None":
        """The session that is shown."""
        return self._bridge

    def show(self, bridge: "SessionBridge") -> None:
        """Show this session instead of the one before, which goes on running unseen."""
        if self._bridge is not None:
            self._bridge.patched.disconnect(self._on_patched)
            self._bridge.happened.disconnect(self._on_happened)
            self._bridge.replaced.disconnect(self._on_replaced)
            self._bridge.pages_found.disconnect(self._panels.transcript.finder.add_pages)
        self._replacing = []
        self._bridge = bridge
        bridge.patched.connect(self._on_patched)
        bridge.happened.connect(self._on_happened)
        self._context.show(bridge)
        self._approvals.show(bridge)
        bridge.replaced.connect(self._on_replaced)
        bridge.pages_found.connect(self._panels.transcript.finder.add_pages)
        self._panels.transcript.show_transcript(bridge.transcript, is_gentle=True)
        self._panels.review.set_transcript(bridge.transcript)
        self._show_rest(bridge)

    def _on_replaced(self) -> None:
        if self._bridge is not None:
            self._approvals.close()
            self._panels.transcript.exchange_transcript(self._bridge.transcript)
            self._replacing = [self._show_review, self._show_others]
            self._replacing_timer.start()

    def _show_next(self) -> None:
        """Show one more part of what replaced the end of a session: all of it at once would take two frames."""
        if self._replacing:
            self._replacing.pop(0)()
            self._replacing_timer.start()

    def _show_review(self) -> None:
        if self._bridge is not None:
            self._panels.review.set_transcript(self._bridge.transcript)

    def _show_others(self) -> None:
        if self._bridge is not None:
            self._show_rest(self._bridge)

    def _find_pages(self, text: str) -> None:
        if self._bridge is not None:
            self._bridge.find_pages(text)

    def _want_pages(self, numbers: object) -> None:
        if self._bridge is not None:
            self._bridge.want_pages(cast("Sequence[int]", numbers))

    def _show_rest(self, bridge: "SessionBridge") -> None:
        """Show all of a session but its conversation and its changes."""
        self._panels.composer.set_blocked(bridge.read_only)
        self._panels.composer.set_history(_written(bridge.transcript))
        self._refresh_status()
        self._refresh_changes()
        if self.opens_questions:
            self._approvals.open_next()

    @property
    def _is_read_only(self) -> bool:
        return self._bridge is not None and bool(self._bridge.read_only)

    def submit(self, op: "Op") -> None:
        """Ask the shown session for something; nothing happens when none is shown."""
        if self._bridge is not None:
            self._bridge.submit(op)

    def give_back(self, texts: "Sequence[str]") -> None:
        """Put prompts that were not taken back into the composer, before what the user has written since."""
        draft = self._panels.composer.text().strip()
        self._panels.composer.set_text("\n\n".join([*texts, draft] if draft else texts))

    # -- what the user does --

    def _connect(self) -> None:
        view, composer, review = self._panels.transcript, self._panels.composer, self._panels.review
        composer.prompt_submitted.connect(self._submit_prompt)
        composer.command_submitted.connect(self._run_command)
        composer.stop_requested.connect(self._interrupt)
        composer.unqueue_requested.connect(self._unqueue)
        composer.send_queued_requested.connect(self._send_queued)
        composer.context_clicked.connect(self._context.inspect)
        view.entry_actions.summary_edit_requested.connect(self._context.edit_summary)
        view.entry_actions.summary_undo_requested.connect(self._context.undo_compaction)
        self._actions.inspect_context.setEnabled(False)  # until a session is shown
        self._actions.compact.setEnabled(False)
        self._actions.connect(self._actions.inspect_context, self._context.inspect)
        self._actions.connect(self._actions.compact, self._context.compact)
        view.entry_actions.approval_answered.connect(self._approvals.answer)
        view.entry_actions.approval_edited.connect(self._approvals.judge)
        view.entry_actions.approval_opened.connect(self._approvals.open)
        view.entry_actions.stop_requested.connect(self._interrupt)
        view.pages.pages_wanted.connect(self._want_pages)
        view.finder.pages_sought.connect(self._find_pages)
        view.entry_actions.changes_requested.connect(self._show_changes)
        view.entry_actions.recover_requested.connect(self._recover)
        view.entry_actions.link_activated.connect(self._open_link)
        view.entry_actions.retry_requested.connect(self._retry)
        view.entry_actions.try_now_requested.connect(self._try_now)
        view.entry_actions.settings_requested.connect(self.settings_requested)
        view.entry_actions.example_chosen.connect(self._submit_prompt)
        view.entry_actions.rewind_requested.connect(self._ask_how_to_rewind)
        review.op_requested.connect(self.submit)
        review.call_requested.connect(view.navigation.show_call)
        self._panels.files.show_changes_requested.connect(self._show_changes_of)
        self._panels.pickers.model_chosen.connect(self._set_model)
        self._panels.pickers.approval_chosen.connect(self._set_approval)
        self._panels.pickers.sandbox_chosen.connect(self._set_sandbox)
        self._panels.jobs.stop_requested.connect(self._stop_job)
        self._panels.jobs.output_requested.connect(self.job_output_requested)
        self._panels.top_bar.waiting_clicked.connect(self._approvals.open_next)
        self._actions.connect(self._actions.stop, self._interrupt)
        self._actions.connect(self._actions.undo_turn, self._undo_last_turn)
        self._actions.connect(self._actions.redo_turn, self._redo_last_undo)
        self._actions.connect(self._actions.rewind, self._rewind_last_turn)
        self._actions.connect(self._actions.next_undecided, self._next_undecided)
        self._actions.connect(self._actions.previous_undecided, self._previous_undecided)
        self._actions.connect(self._actions.keep_file, review.keep_file)
        self._actions.connect(self._actions.undo_file, review.undo_file)
        self._actions.connect(self._actions.keep_all, review.keep_all)
        self._actions.connect(self._actions.send_comments, review.send_comments)

    def _submit_prompt(self, text: str) -> None:
        if self._bridge is None:
            self._ask_for_folder(typed_prompt(text))
            return
        from desktop_agent.core.protocol.ops import SubmitPrompt

        self.submit(SubmitPrompt(text=text))
        if not self._bridge.transcript.is_running:  # else it waits in the queue, and what is being read stays in sight
            self._panels.transcript.row_layout.scroll_to_bottom()

    def _run_command(self, text: str) -> None:
        if self._bridge is None:
            self._ask_for_folder(text)
            return
        from desktop_agent.core.protocol.ops import RunCommand

        self.submit(RunCommand(text=text))
        self._panels.transcript.row_layout.scroll_to_bottom()

    def _ask_for_folder(self, text: str) -> None:
        """Keep what was written in the field until something is open that can answer."""
        self.give_back([text])
        self.folder_requested.emit()

    def _unqueue(self, prompt_id: str) -> None:
        from desktop_agent.core.protocol.ops import Unqueue

        self.submit(Unqueue(prompt_id=prompt_id))

    def _send_queued(self, prompt_id: str) -> None:
        from desktop_agent.core.protocol.ops import SendQueued

        self.submit(SendQueued(prompt_id=prompt_id))
        self._panels.transcript.row_layout.scroll_to_bottom()

    def _interrupt(self) -> None:
        from desktop_agent.core.protocol.ops import Interrupt

        self.submit(Interrupt())

    def _try_now(self) -> None:
        from desktop_agent.core.protocol.ops import TryNow

        self.submit(TryNow())

    def _undo(self, selection: "ChangeSelection") -> None:
        from desktop_agent.core.protocol.ops import UndoChanges

        self.submit(UndoChanges(selection=selection))

    def _recover(self, call_id: str) -> None:
        from desktop_agent.core.protocol.model import ChangeSelection
        from desktop_agent.core.protocol.ops import UndoChanges

        self.submit(UndoChanges(selection=ChangeSelection(call_id=call_id), is_recovery=True))

    def _undo_last_turn(self) -> None:
        from desktop_agent.core.protocol.model import ChangeSelection
        from desktop_agent.ui.review.panel.kept_question import undo_with_care

        if self._bridge is not None:
            standing = self._bridge.transcript.active_changes()
            # Without any, the session says that there is nothing to undo.
            meant = ChangeSelection(turn=standing[-1].turn) if standing else ChangeSelection()
            undo_with_care(self._bridge.transcript, meant, self._undo, self._window)

    def _redo_last_undo(self) -> None:
        from desktop_agent.core.protocol.ops import RedoSteps

        if self._bridge is not None:
            steps = self._bridge.transcript.steps
            self.submit(RedoSteps(steps=tuple(step.seq for step in steps[-1:])))

    def _rewind_last_turn(self) -> None:
        if self._bridge is not None:
            self._ask_how_to_rewind(self._bridge.transcript.turn)

    def _ask_how_to_rewind(self, turn: int) -> None:
        from desktop_agent.ui.chat.rewind import rewind_choices
        from desktop_agent.ui.chat.rewind_dialog import RewindDialog

        choices = rewind_choices(self._bridge.transcript) if self._bridge is not None else []
        if choices:
            dialog = RewindDialog(self._theme, choices, turn, self._window)
            dialog.chosen.connect(self._rewind)
            dialog.open()

    def _rewind(self, turn: int, scope: str) -> None:
        from desktop_agent.core.protocol.ops import RewindTo

        if scope in ("conversation", "files", "both"):
            self.submit(RewindTo(turn=turn, scope=scope))

    def _set_model(self, provider: str, model: str) -> None:
        from desktop_agent.core.protocol.model import ModelRef
        from desktop_agent.core.protocol.ops import SetMode

        if self._bridge is None:
            return
        before = self._bridge.transcript.model
        base_url = before.base_url if before is not None and before.provider == provider else None
        self.submit(SetMode(model=ModelRef(provider=provider, model=model, base_url=base_url)))

    def _set_approval(self, policy: str) -> None:
        from desktop_agent.core.protocol.ops import SetMode

        if policy in ("always", "on_write", "on_request", "never"):
            self.submit(SetMode(approval=policy))

    def _set_sandbox(self, mode: str) -> None:
        from desktop_agent.core.protocol.ops import SetMode

        if mode in ("restricted", "strict", "none"):
            self.submit(SetMode(sandbox=mode))

    def _stop_job(self, job_id: str) -> None:
        from desktop_agent.core.protocol.ops import StopJob

        self.submit(StopJob(job_id=job_id))

    def revoke_rule(self, rule_id: str) -> None:
        """Take back a rule of the shown session."""
        from desktop_agent.core.protocol.ops import RevokeRule

        self.submit(RevokeRule(rule_id=rule_id))

    def _retry(self) -> None:
        """Ask again with the last prompt of the user."""
        entries = self._bridge.transcript.entries if self._bridge is not None else ()
        for entry in reversed(entries):
            if entry.kind == "prompt":
                self.retry_requested.emit()
                self._submit_prompt(entry.text)
                return

    def _show_changes(self, call_id: str) -> None:
        self.review_requested.emit()
        self._panels.review.show_call(call_id)

    def _next_undecided(self) -> None:
        if self._panels.review.has_review:
            self.review_requested.emit()
            self._panels.review.next_undecided()

    def _previous_undecided(self) -> None:
        if self._panels.review.has_review:
            self.review_requested.emit()
            self._panels.review.previous_undecided()

    def _show_changes_of(self, path: str) -> None:
        records = self._bridge.transcript.changes.values() if self._bridge is not None else ()
        calls = [record.call_id for record in records if record.change.path == path]
        if calls:
            self._show_changes(calls[-1])

    def _open_link(self, address: str) -> None:
        QDesktopServices.openUrl(QUrl(address))

    # -- what happens in the session --

    def _on_patched(self, patches: "Sequence[Patch]") -> None:
        self._panels.transcript.apply(patches)
        kinds = {patch.kind for patch in patches}
        if "status" in kinds:
            self._refresh_status()
        if "changes" in kinds or "status" in kinds:
            self._refresh_changes()

    def _on_happened(self, event: "Event") -> None:
        from desktop_agent.core.protocol import events as ev

        match event:
            case _ if self._is_read_only:
                pass  # what it asks, and what waits in it, is for the window that writes it
            case ev.ApprovalRequested(request=request) if self.opens_questions and not self._is_person_writing():
                self._approvals.open(request.call_id)
            case ev.ApprovalResolved(call_id=call_id):
                self._approvals.close_if(call_id)
            case ev.CommandJudged():
                self._approvals.show_judgement(event)
            case ev.PromptRejected(text=text):
                self.give_back([text])
            case ev.TurnEnded(reason=reason) if reason != "completed":
                self._give_back_queued()
            case ev.ChangesRecorded() | ev.ChangesUndone() | ev.ChangesRedone():
                self._panels.files.refresh()
            case _:
                pass

    def _refresh_status(self) -> None:
        if self._bridge is None:
            return
        transcript = self._bridge.transcript
        is_demo = transcript.model is not None and transcript.model.provider == "demo"
        self._panels.top_bar.set_title(transcript.title, is_demo=is_demo)
        self._panels.top_bar.set_waiting(len(transcript.pending_approvals))
        self._panels.pickers.show_mode(transcript.model, transcript.approval, transcript.sandbox)
        self._show_jobs(transcript.jobs)
        if transcript.rules is not self._rules:
            self._rules = transcript.rules
            self.rules_changed.emit(transcript.rules)
        self._show_in_composer(transcript)
        is_busy = _is_busy(transcript)
        is_resting = not transcript.is_running and not self._is_read_only
        self._actions.stop.setEnabled(is_busy and not self._is_read_only)
        self._actions.compact.setEnabled(not is_busy and not self._is_read_only and transcript.turn > 1)
        self._actions.inspect_context.setEnabled(not self._is_read_only)
        # Always, so that the keys are never dead: the session says why it does not undo or redo.
        self._actions.undo_turn.setEnabled(not self._is_read_only)
        self._actions.redo_turn.setEnabled(not self._is_read_only)
        self._actions.rewind.setEnabled(is_resting and transcript.turn > 0)
        self._actions.undo_file.setEnabled(is_resting)

    def _show_jobs(self, jobs: "Sequence[Job]") -> None:
        self._panels.jobs.show_jobs(jobs)
        self._panels.top_bar.set_jobs(running=sum(job.state == "running" for job in jobs), total=len(jobs))

    def _show_in_composer(self, transcript: "Transcript") -> None:
        composer = self._panels.composer
        composer.set_working(is_working=_is_busy(transcript))
        composer.set_queued([(prompt.prompt_id, prompt.text) for prompt in transcript.queued])
        composer.set_context(transcript.context)

    def _refresh_changes(self) -> None:
        if self._bridge is not None:
            self._panels.review.refresh()
            touched = {record.change.path for record in self._bridge.transcript.active_changes()}
            self._panels.files.set_touched(touched)

    def _give_back_queued(self) -> None:
        """Put prompts that will not start by themselves back into the composer.

        Those that an earlier process left stay where they are: the user has not just written them.
        """
        if self._bridge is None:
            return
        left = self._bridge.left_waiting
        waiting = [prompt for prompt in self._bridge.transcript.queued if prompt.prompt_id not in left]
        if not waiting:
            return
        for prompt in waiting:
            self._unqueue(prompt.prompt_id)
        self.give_back([prompt.text for prompt in waiting])

    def _is_person_writing(self) -> bool:
        """Whether the user is typing, so that a dialog would take the keys: then only the card asks."""
        composer = self._panels.composer
        return bool(composer.text().strip()) and composer.isAncestorOf(QApplication.focusWidget() or self._window)


def _written(transcript: "Transcript") -> list[str]:
    """What the user wrote so far, as it has to be written again."""
    from desktop_agent.core.transcript import CommandEntry, PromptEntry

    loaded = [entry for entry in transcript.entries if isinstance(entry, PromptEntry | CommandEntry)]
    turns = {entry.turn for entry in loaded if isinstance(entry, PromptEntry)} | transcript.cut_prompts
    paged = [typed_prompt(text) for turn, text in transcript.prompts.items() if turn not in turns]
    return paged + [typed_prompt(entry.text) if isinstance(entry, PromptEntry) else entry.text for entry in loaded]


def _is_busy(transcript: "Transcript") -> bool:
    """Whether there is something to stop: a turn, or a summary that the user asked for."""
    return transcript.is_running or bool(transcript.activity)
