"""Connects single panels with the session that is shown: the composer, the review, the inspector, modes and status."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.core.protocol.model import ChangeSelection, Job, ModelRef, Rule
from desktop_agent.core.protocol.ops import (
    Compact,
    InspectContext,
    Interrupt,
    MoveQueued,
    RedoSteps,
    RevokeRule,
    RewindTo,
    RunCommand,
    SendQueued,
    SetMode,
    Steer,
    SteerQueued,
    StopJob,
    SubmitPrompt,
    TryNow,
    UndoChanges,
    UndoCompaction,
    Unqueue,
)
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.rewind_dialog import RewindDialog, rewind_choices
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.files.file_history import FileTurn, turns_of
from desktop_agent.ui.files.file_panel import FileTree
from desktop_agent.ui.jobs_panel import JobsPanel
from desktop_agent.ui.review.diff_source import FileDiffs, Spawn
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.mode_pickers import ModePickers
from desktop_agent.ui.window.shown_session import ShownSession
from desktop_agent.ui.window.top_bar import TopBar

if TYPE_CHECKING:
    from desktop_agent.ui.context_inspector import ContextInspector


class SessionPanels(Struct, frozen=True):
    """They know no session; `session_wiring` connects them with the one that is shown."""

    top_bar: TopBar
    transcript: TranscriptView
    composer: Composer
    pickers: ModePickers
    review: ReviewPanel
    files: FileTree
    jobs: JobsPanel


class PromptWiring(QObject):
    """Prompts and commands go to the session, and come back to the composer if they were not taken."""

    def __init__(
        self,
        shown: ShownSession,
        panels: SessionPanels,
        actions: Actions,
        parent: QObject,
        *,
        give_back: Callable[[Sequence[str]], None],
        on_retry: Callable[[], None],
    ) -> None:
        """`give_back` puts texts into the composer; `on_retry` is called before the last prompt is sent again."""
        super().__init__(parent)
        self._shown = shown
        self._panels = panels
        self._give_back = give_back
        self._on_retry = on_retry
        entries = panels.transcript.entry_actions
        entries.retry_requested.connect(self._retry)
        entries.try_now_requested.connect(self._try_now)
        entries.quote_requested.connect(self._quote)
        entries.stop_requested.connect(self._interrupt)
        panels.composer.controls.stop.clicked.connect(self._interrupt)
        panels.composer.waiting.unqueue_requested.connect(self._unqueue)
        panels.composer.waiting.send_requested.connect(self._send_queued)
        panels.composer.waiting.steer_requested.connect(self._steer_queued)
        panels.composer.waiting.edit_requested.connect(self._edit_queued)
        panels.composer.waiting.move_requested.connect(self._move_queued)
        actions.connect(actions.stop, self._interrupt)
        actions.connect(actions.quote, self._quote_chosen)

    def submit(self, text: str) -> None:
        """Send a prompt; the session queues it while the agent works."""
        self._shown.submit(SubmitPrompt(text=text))
        if not self._shown.transcript.turns.is_running:  # else it waits, and what is being read stays in sight
            self._panels.transcript.row_layout.scroll_to_bottom()

    def steer(self, text: str) -> None:
        """Send a message into the running turn, which has it with its next request."""
        self._shown.submit(Steer(text=text))

    def run_command(self, text: str) -> None:
        """Run a slash command."""
        self._shown.submit(RunCommand(text=text))
        self._panels.transcript.row_layout.scroll_to_bottom()

    def _quote_chosen(self) -> None:
        self._panels.transcript.messages.quote()

    def _quote(self, text: str) -> None:
        """Put a quotation behind what is written, and the cursor behind it."""
        composer = self._panels.composer
        draft = composer.text().rstrip()
        quoted = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
        composer.set_text(f"{draft}\n\n{quoted}\n\n" if draft else f"{quoted}\n\n")
        composer.setFocus()

    def _unqueue(self, prompt_id: str) -> None:
        self._shown.submit(Unqueue(prompt_id=prompt_id))

    def _send_queued(self, prompt_id: str) -> None:
        self._shown.submit(SendQueued(prompt_id=prompt_id))
        self._panels.transcript.row_layout.scroll_to_bottom()

    def _steer_queued(self, prompt_id: str) -> None:
        self._shown.submit(SteerQueued(prompt_id=prompt_id))

    def _edit_queued(self, prompt_id: str) -> None:
        """Take a prompt back into the message field, where it is sent again from."""
        for prompt in self._shown.transcript.turns.queued:
            if prompt.prompt_id == prompt_id:
                self._unqueue(prompt_id)
                self._give_back([prompt.text])
                self._panels.composer.setFocus()

    def _move_queued(self, prompt_id: str, before: str) -> None:
        self._shown.submit(MoveQueued(prompt_id=prompt_id, before=before))

    def _interrupt(self) -> None:
        self._shown.submit(Interrupt())

    def _try_now(self) -> None:
        self._shown.submit(TryNow())

    def _retry(self) -> None:
        """Ask again with the last prompt of the user."""
        for entry in reversed(self._shown.transcript.entries):
            if isinstance(entry, PromptSubmitted):
                self._on_retry()
                self.submit(entry.text)
                return

    def give_back_queued(self) -> None:
        """Put prompts that will not start by themselves back into the composer.

        Those that an earlier process left stay where they are: the user has not just written them.
        """
        bridge = self._shown.bridge
        if bridge is None:
            return
        queued = bridge.transcript.turns.queued
        waiting = [prompt for prompt in queued if prompt.prompt_id not in bridge.left_waiting]
        if not waiting:
            return
        for prompt in waiting:
            self._unqueue(prompt.prompt_id)
        self._give_back([prompt.text for prompt in waiting])


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
            content.keep_file()

    def _undo_file(self) -> None:
        if content := self._panels.review.content:
            content.undo_file()

    def _keep_all(self) -> None:
        if content := self._panels.review.content:
            content.keep_all()

    def _send_comments(self) -> None:
        if content := self._panels.review.content:
            content.open_comments()


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


class ContextWiring(QObject):
    """Opens the inspector when it is asked for, and keeps what it shows fresh while it is open."""

    def __init__(self, shown: ShownSession, window: QWidget, theme: Theme) -> None:
        super().__init__(window)
        self._shown = shown
        self._window = window
        self._theme = theme
        self._inspector: ContextInspector | None = None

    def close(self) -> None:
        """Close the inspector, if it is open."""
        if self._inspector is not None:
            self._inspector.close()

    def inspect(self) -> None:
        """Show what the model sees."""
        self._open("")

    def edit_summary(self) -> None:
        """Show the summary, to rewrite it."""
        self._open("summary")

    def compact(self) -> None:
        """Summarise the older turns now."""
        self._shown.submit(Compact())

    def undo_compaction(self) -> None:
        """Let the agent see the older turns again."""
        self._shown.submit(UndoCompaction())

    def _open(self, kind: str) -> None:
        if self._shown.bridge is None:
            return
        if self._inspector is None:
            from desktop_agent.ui.context_inspector import ContextInspector  # not for the first sight

            self._inspector = ContextInspector(self._theme, self._window)
            self._inspector.op_requested.connect(self._shown.submit)
            self._inspector.finished.connect(self._forget)
            self._inspector.open()
        if kind:
            self._inspector.show_part(kind)
        self._ask()

    def _ask(self) -> None:
        self._shown.submit(InspectContext())

    def follow(self, event: ev.Event) -> None:
        """Take in what happened in the session."""
        if self._inspector is None:
            return
        match event:
            case ev.ContextInspected(report=report):
                transcript = self._shown.transcript
                is_working = transcript.turns.is_running or bool(transcript.turns.activity)
                self._inspector.show_report(report, tuple(transcript.context.pins.values()), is_working=is_working)
                self._inspector.show_cache_miss(transcript.turns.cache_miss)
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
            ):
                self._ask()
            case ev.ToolProgress(name="compact"):
                self._ask()
            case _:
                pass

    def _forget(self) -> None:
        self._inspector = None


class SessionControls(QObject):
    """Asks the session that is shown for other modes, for the end of a job, or of a rule."""

    def __init__(self, shown: ShownSession, panels: SessionPanels, parent: QObject) -> None:
        super().__init__(parent)
        self._shown = shown
        panels.pickers.approval_chosen.connect(self._set_approval)
        panels.pickers.sandbox_chosen.connect(self._set_sandbox)
        panels.jobs.stop_requested.connect(self._stop_job)

    @property
    def model(self) -> ModelRef | None:
        """The model that answers in the shown session."""
        return self._shown.transcript.session.model

    def set_model(self, model: ModelRef) -> None:
        """Let another model answer, from the next turn on."""
        self._shown.submit(SetMode(model=model))

    def _set_approval(self, policy: str) -> None:
        if policy in ("always", "on_write", "on_request", "never"):
            self._shown.submit(SetMode(approval=policy))

    def _set_sandbox(self, mode: str) -> None:
        if mode in ("restricted", "strict", "none"):
            self._shown.submit(SetMode(sandbox=mode))

    def _stop_job(self, job_id: str) -> None:
        self._shown.submit(StopJob(job_id=job_id))

    def revoke_rule(self, rule_id: str) -> None:
        """Take back a rule of the shown session."""
        self._shown.submit(RevokeRule(rule_id=rule_id))


class SessionStatus:
    """Reads the transcript of the session that is shown; shows in the panels what it says."""

    def __init__(
        self,
        shown: ShownSession,
        panels: SessionPanels,
        actions: Actions,
        on_rules_changed: Callable[[tuple[Rule, ...]], None],
    ) -> None:
        self._shown = shown
        self._panels = panels
        self._actions = actions
        self._on_rules_changed = on_rules_changed
        self._rules: tuple[Rule, ...] | None = None
        self._last: dict[str, object] = {}
        """What was shown last, by part."""

    def refresh(self) -> None:
        """Show title, modes, jobs and queue, and enable the actions that fit."""
        transcript = self._shown.transcript
        is_demo = transcript.session.model is not None and transcript.session.model.provider == "demo"
        if self._is_news("title", title := transcript.session.title, is_demo):
            self._panels.top_bar.set_title(title, is_demo=is_demo)
        session = transcript.session
        self._panels.pickers.show_mode(session.model, session.approval, session.sandbox)
        self._show_jobs(transcript.session.jobs)
        if transcript.session.rules is not self._rules:
            self._rules = transcript.session.rules
            self._on_rules_changed(transcript.session.rules)
        self._show_in_composer(transcript)
        is_busy = _is_busy(transcript)
        is_read_only = bool(self._shown.read_only)
        is_resting = not transcript.turns.is_running and not is_read_only
        self._actions.stop.setEnabled(is_busy and not is_read_only)
        self._actions.compact.setEnabled(not is_busy and not is_read_only and transcript.turn > 1)
        self._actions.inspect_context.setEnabled(not is_read_only)
        # Always, so that the keys are never dead: the session says why it does not undo or redo.
        self._actions.undo_turn.setEnabled(not is_read_only)
        self._actions.redo_turn.setEnabled(not is_read_only)
        self._actions.rewind.setEnabled(is_resting and transcript.turn > 0)
        self._actions.undo_file.setEnabled(is_resting)

    def _is_news(self, part: str, *values: object) -> bool:
        """Whether a part shows something else by now. Most of what happens in a turn changes one of them, or none."""
        is_news = self._last.get(part) != values
        self._last[part] = values
        return is_news

    def _show_jobs(self, jobs: Sequence[Job]) -> None:
        if not self._is_news("jobs", *jobs):
            return
        self._panels.jobs.show_jobs(jobs)
        self._panels.top_bar.set_jobs(running=sum(job.state == "running" for job in jobs), total=len(jobs))

    def _show_in_composer(self, transcript: Transcript) -> None:
        composer = self._panels.composer
        if self._is_news("working", is_busy := _is_busy(transcript)):
            composer.set_working(is_working=is_busy)
        composer.set_asked("" if self._shown.read_only else _asked_about(transcript))
        composer.waiting.set_steerable(is_steerable=transcript.turns.is_running)
        queued = transcript.turns.queued
        composer.waiting.show(
            [(prompt.prompt_id, prompt.text) for prompt in queued],
            steering={prompt.prompt_id for prompt in queued if prompt.is_steering},
        )
        if self._is_news("context", use := transcript.context.use):
            composer.controls.show_context(use)
        turns = transcript.turns
        if self._is_news("cost", *(costs := (turns.usage, turns.turn_usage, turns.cache_miss))):
            composer.controls.show_cost(*costs)

    def refresh_changes(self) -> None:
        """Show what changed, in the review and in the file tree."""
        self._panels.review.refresh()
        touched = {record.change.path for record in self._shown.transcript.changed.active()}
        self._panels.files.set_touched(touched)
        self._panels.transcript.row_layout.files.set_changed(touched)


def _asked_about(transcript: Transcript) -> CallId:
    """Return the call that has waited longest for a yes or no; empty where none does.

    What a server asks, or a limit of spending, has answers of its own.
    """
    asked = (one for one in transcript.pending_approvals if one.question is None and one.spending is None)
    return next((one.call_id for one in asked), "")


def _is_busy(transcript: Transcript) -> bool:
    """Whether there is something to stop: a turn, or a summary that the user asked for."""
    return transcript.turns.is_running or bool(transcript.turns.activity)
