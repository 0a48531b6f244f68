"""Shows a session in the panels of the window, and turns the user's actions into ops."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QUrl, Signal, SignalInstance
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.ids import CallId, SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.slash.declarations import typed_prompt
from desktop_agent.core.transcript import Patch, Transcript
from desktop_agent.ui.approvals.rule_judging import RuleMaths
from desktop_agent.ui.chat.composer.message_edit import PromptHistory
from desktop_agent.ui.chat.entry_words import doing_of_subagent, done_of_all
from desktop_agent.ui.chat.transcript.navigation import KeptPlace, Navigation
from desktop_agent.ui.jobs_panel import SubagentJob
from desktop_agent.ui.review.diff_source import DiffSource, Spawn
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.window.conversation_pane import ShownPlan
from desktop_agent.ui.window.mode_pickers import AgentPickers
from desktop_agent.ui.window.panel_controllers import (
    ApprovalController,
    ContextController,
    PromptController,
    ReviewController,
    SessionPanels,
)
from desktop_agent.ui.window.session_handle import SessionHandle, ShownSession


class ReadingPlaces:
    def __init__(self, navigation: Navigation) -> None:
        self._navigation = navigation
        self._places: dict[SessionId, KeptPlace] = {}

    def leave(self, handle: SessionHandle) -> None:
        """Store the reading position of a session while it is still shown."""
        session_id = handle.transcript.session.session_id
        if not session_id or not handle.is_whole:
            return  # the earlier position is still needed once the rest is loaded
        if (place := self._navigation.place) is not None:
            self._places[session_id] = place
        else:
            self._places.pop(session_id, None)

    def enter(self, handle: SessionHandle) -> None:
        """Restore the reading position. Call this once the session is shown, and again once all of it is loaded."""
        place = self._places.get(handle.transcript.session.session_id)
        if place is not None and handle.is_whole and self._navigation.is_at_end:
            self._navigation.go_to(place)


class SessionController(ShownSession):
    rules_changed = Signal(object)  # the new rules of the shown session

    def __init__(
        self,
        panels: SessionPanels,
        diffs: DiffSource,
        spawn: Spawn,
        now: Callable[[], datetime],
        rule_maths: Callable[[Transcript], RuleMaths],
    ) -> None:
        super().__init__(panels.window)
        self._window = panels.window
        self._panels = panels
        view = panels.transcript
        self._places = ReadingPlaces(view.navigation)
        self._replacing = GradualWork(self, slice_s=0)
        """Shows the other panels again once all of a session is loaded, of which only the end was shown."""
        self.prompts = PromptController(self, panels)
        self._context = ContextController(self, panels)
        self.approvals = ApprovalController(self, panels, diffs, spawn, now, rule_maths=rule_maths)
        self._review = ReviewController(self, panels, diffs, spawn)
        self._agent_pickers: AgentPickers | None = None
        self._last: dict[str, object] = {}
        self.opens_questions = False
        """Whether a question opens its dialog automatically. Its card in the conversation is shown in any case."""
        view.entry_actions.link_activated.connect(_open_link)
        self.submit_on(panels.pickers.mode_chosen, ops.SetMode, "approval", "is_planning")
        panels.window.actions_.plan_first.triggered.connect(self._toggle_planning)
        self.submit_on(panels.plan.edited, ops.EditPlan, "text")
        self.submit_on(panels.plan.accepted, ops.CarryOutPlan, "text", "approval")
        panels.window.actions_.carry_out_plan.triggered.connect(panels.plan.accept.click)
        panels.window.actions_.carry_out_plan_apart.triggered.connect(panels.plan.apart.click)
        panels.plan.changed.connect(self._offer_plan)
        self._offer_plan()
        self.submit_on(panels.plan.comment_added, ops.AddComment, "comment")
        self.submit_on(panels.plan.comment_removed, ops.RemoveComment, "comment_id")
        self.submit_on(panels.plan.comments_sent, ops.SendComments, "text")
        self.submit_on(panels.pickers.sandbox_chosen, ops.SetMode, "sandbox")
        panels.jobs.stop_requested.connect(self._stop_job)

    def show(self, handle: SessionHandle) -> None:
        """Show this session in all panels. The previous session keeps running in the background."""
        if (before := self.handle) is not None:
            self._places.leave(before)
            for signal, slot in self._connections(before):
                signal.disconnect(slot)
        for signal, slot in self._connections(handle):
            signal.connect(slot)
        self._replacing.stop()
        self.handle = handle
        self._context.close()
        self.approvals.close()
        self._panels.transcript.show_transcript(handle.transcript, is_gentle=True)
        self._places.enter(handle)
        self._panels.review.set_transcript(handle.transcript, handle.submit)
        self._panels.composer.edit.history = PromptHistory()
        self._show_rest()

    def _connections(self, handle: SessionHandle) -> list[tuple[SignalInstance, Callable[..., None] | SignalInstance]]:
        view = self._panels.transcript
        return [
            (handle.patched, view.row_layout.apply),
            (handle.patched, self._on_patched),
            (handle.happened, self._on_happened),
            (handle.replaced, self._on_replaced),
            (handle.failed, self._panels.review.say_unreadable),
            (handle.pages_found, view.finder.add_pages),
            (view.navigation.pages_wanted, handle.pages_wanted),
            (view.finder.pages_sought, handle.pages_sought),
        ]

    def _toggle_planning(self) -> None:
        self.submit(ops.SetMode(is_planning=not self.transcript.session.is_planning))

    def _on_replaced(self) -> None:
        self.approvals.close()
        self._panels.transcript.exchange_transcript(self.transcript)
        if self.handle is not None:
            self._places.enter(self.handle)
            self._replacing.begin(self._replace(self.handle))

    def _replace(self, handle: SessionHandle) -> Iterator[None]:
        """Show the other panels in separate turns of the loop, because together they take two frames."""
        yield
        self._panels.review.set_transcript(handle.transcript, handle.submit)
        yield
        self._show_rest()

    def _show_rest(self) -> None:
        self._panels.composer.set_blocked(self.read_only)
        edit = self._panels.composer.edit
        edit.history = edit.history.exchanged(_written(self.transcript))
        self._show_status()
        self._show_changes()
        if self.opens_questions:
            self.approvals.open_next()

    def _on_patched(self, patches: Sequence[Patch]) -> None:
        kinds = {patch.kind for patch in patches}
        if "status" in kinds:
            self._show_status()
        if "changes" in kinds or "status" in kinds:
            self._show_changes()

    def _on_happened(self, event: ev.Event) -> None:
        self._context.follow(event)
        self._review.follow(event)
        match event:
            case _ if self.read_only:
                pass  # questions and queued prompts are for the window that writes the session
            case ev.ApprovalRequested(request=request) if self.opens_questions and self._is_user_free():
                self.approvals.open(request.call_id)
            case ev.PromptRejected(text=text):
                self.prompts.give_back([text])
            case ev.TurnEnded(reason=reason) if reason != "completed":
                self.prompts.give_back_queued()
            case ev.ChangesRecorded() | ev.ChangesUndone() | ev.ChangesRedone():
                self._panels.files.refresh()
            case _:
                pass

    def _is_user_free(self) -> bool:
        """Whether a dialog may open: not while the user is typing, and not while the window is hidden."""
        composer = self._panels.composer
        is_focused = composer.isAncestorOf(QApplication.focusWidget() or self._window)
        return self._window.isVisible() and not (composer.text().strip() and is_focused)

    def _show_status(self) -> None:
        transcript = self.transcript
        session, turns = transcript.session, transcript.turns
        is_demo = session.model is not None and session.model.provider == "demo"
        if self._is_news("title", session.title, is_demo):
            self._window.top_bar.set_title(session.title, is_demo=is_demo)
        if self._is_news("worktree", session.worktree):
            self._window.top_bar.set_worktree(session.worktree)
        self._panels.pickers.show_mode(
            session.model, session.approval, session.sandbox, is_planning=session.is_planning
        )
        if self._is_news("agent", agent := session.agent):
            self._show_agent(agent)
        jobs = (*session.jobs, *_working_behind(transcript))
        if self._is_news("jobs", *jobs):
            self._panels.jobs.show_jobs(jobs)
            running = sum(job.state == "running" for job in jobs)
            self._window.top_bar.set_jobs(running=running, total=len(jobs))
        if self._is_news("todos", turns.is_running, bool(turns.plan), *turns.todos):
            self._panels.todos.show_todos(turns.todos, is_running=turns.is_running, has_plan=bool(turns.plan))
        if self._is_news("rules", *session.rules):
            self.rules_changed.emit(session.rules)
        # There is something to stop: a turn, or a summary that the user asked for.
        is_busy = turns.is_running or bool(turns.activity)
        self._show_in_composer(transcript, is_busy=is_busy)
        can_write = not self.read_only
        is_resting = can_write and not turns.is_running
        actions = self._window.actions_
        actions.stop.setEnabled(is_busy and can_write)
        actions.compact.setEnabled(not is_busy and can_write and transcript.turn > 1)
        actions.inspect_context.setEnabled(can_write)
        actions.plan_first.setEnabled(can_write)
        actions.open_plan.setEnabled(bool(turns.plan))
        # Always enabled, so that the keys work: the session says why it cannot undo or redo.
        actions.undo_turn.setEnabled(can_write)
        actions.redo_turn.setEnabled(can_write)
        actions.rewind.setEnabled(is_resting and transcript.turn > 0)
        actions.undo_file.setEnabled(is_resting)

    def _stop_job(self, job_id: str) -> None:
        is_subagent = job_id in self.transcript.turns.behind
        self.submit(ops.StopSubagent(call_id=job_id) if is_subagent else ops.StopJob(job_id=job_id))

    def _is_news(self, part: str, *values: object) -> bool:
        is_news = self._last.get(part) != values
        self._last[part] = values
        return is_news

    def _show_agent(self, agent: ev.AgentReported | None) -> None:
        if self._agent_pickers is None:
            if agent is None:
                return
            composer = self._panels.composer
            pickers = AgentPickers(composer.controls, composer, behind=self._panels.pickers.effort_button)
            self.submit_on(pickers.chosen, ops.SetAgentOption, "option_id", "value")
            self._agent_pickers = pickers
        self._agent_pickers.show_agent(agent)

    def _show_in_composer(self, transcript: Transcript, *, is_busy: bool) -> None:
        composer, turns = self._panels.composer, transcript.turns
        if self._is_news("working", is_busy):
            composer.set_working(is_working=is_busy)
        composer.set_asked("" if self.read_only else _asked_about(transcript))
        composer.waiting.set_steerable(is_steerable=turns.is_running)
        composer.waiting.show(
            [(prompt.prompt_id, prompt.text) for prompt in turns.queued],
            steering={prompt.prompt_id for prompt in turns.queued if prompt.is_steering},
        )
        if self._is_news("context", use := transcript.context.use):
            composer.controls.show_context(use)
        if self._is_news("cost", *(costs := (turns.usage, turns.turn_usage, turns.cache_miss))):
            composer.controls.show_cost(*costs)

    def _offer_plan(self) -> None:
        plan, actions = self._panels.plan, self._window.actions_
        actions.carry_out_plan.setEnabled(plan.is_offered)
        actions.carry_out_plan_apart.setEnabled(plan.is_offered and plan.offers_worktree)

    def _show_changes(self) -> None:
        session, turns = self.transcript.session, self.transcript.turns
        plan = ShownPlan(
            session.session_id,
            turns.plan,
            turns.plan_before,
            tuple(self.transcript.changed.comments.values()),
            session.approval,
            is_planning=session.is_planning and not self.read_only,
            is_running=turns.is_running,
            progress=done_of_all(turns.todos) if turns.todos and not session.is_planning else "",
        )
        if self._is_news("plan", plan):
            self._panels.plan.show_plan(plan)
        self._panels.review.refresh()
        touched = {record.change.path for record in self.transcript.changed.active()}
        self._panels.files.set_touched(touched)
        self._panels.transcript.row_layout.files.set_changed(touched)


def _asked_about(transcript: Transcript) -> CallId:
    """Return the call that has waited longest for a yes or no; empty if there is none."""
    asked = (one for one in transcript.pending_approvals if one.question is None and one.spending is None)
    return next((one.call_id for one in asked), "")


def _written(transcript: Transcript) -> list[str]:
    """Return the user's messages so far, as the user would type them."""
    loaded = [
        entry for entry in transcript.entries if isinstance(entry, ev.PromptSubmitted | ev.Steered | ev.CommandRun)
    ]
    turns = {entry.turn for entry in loaded if isinstance(entry, ev.PromptSubmitted)} | transcript.turns.cut_prompts
    paged = [typed_prompt(text) for turn, text in transcript.turns.prompts.items() if turn not in turns]
    return paged + [entry.text if isinstance(entry, ev.CommandRun) else typed_prompt(entry.text) for entry in loaded]


def _open_link(address: str) -> None:
    QDesktopServices.openUrl(QUrl(address))


def _working_behind(transcript: Transcript) -> Iterator[SubagentJob]:
    """Yield the sub-agents in the background."""
    for call_id in transcript.turns.behind:
        if (entry := transcript.paged.tool_entry(call_id)) is not None:
            yield SubagentJob(
                id=call_id,
                command=entry.title,
                cwd=Path(),
                pid=0,
                log=Path(),
                started_at=entry.started_at,
                last_line=doing_of_subagent(entry),
                session_id=entry.subagent.session_id if entry.subagent is not None else None,
            )
