"""One conversation: a mailbox of ops, at most one turn at a time, and the resulting events.

The mailbox task and the turn that it started make all changes, so no lock is needed.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, StorageError, WorkspaceError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import prompt_text
from desktop_agent.core.commits.git_commit import commit_changes, prepare, undo_commit
from desktop_agent.core.context.review_comments import prompt_of_comments
from desktop_agent.core.context_window import ContextOp
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, ModelRef
from desktop_agent.core.providers.provider import EarlyStart, ProviderPool
from desktop_agent.core.session.agent_services import AgentOps
from desktop_agent.core.session.aside_requests import CommitDrafting
from desktop_agent.core.session.failure_notices import NOT_FETCHED, notice_of, readable_address_notice
from desktop_agent.core.session.prompt_queue import ArrivedPrompt, ArrivingPrompts
from desktop_agent.core.session.recorder import capture_events
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.session.turn_runner import TurnRunner
from desktop_agent.core.slash.commands import SlashCommands
from desktop_agent.core.slash.session_commands import Performed, SessionControls
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.undo.execute import Undoing, UndoOp
from desktop_agent.core.undo.refusals import Direction

FilingOp = (
    ops.RenameSession | ops.ArchiveSession | ops.PinSession | ops.MarkReviewed | ops.AddComment | ops.RemoveComment
)


def event_of(op: FilingOp) -> ev.KnownEvent:
    match op:
        case ops.RenameSession(title=title):
            return ev.SessionRenamed(title=title.strip())
        case ops.ArchiveSession(is_archived=is_archived):
            return ev.SessionArchived(is_archived=is_archived)
        case ops.PinSession(is_pinned=is_pinned):
            return ev.SessionPinned(is_pinned=is_pinned)
        case ops.MarkReviewed(path=path, hunks=hunks, state=state):
            return ev.ReviewMarked(path=path, hunks=hunks, state=state)
        case ops.AddComment(comment=comment):
            return ev.CommentAdded(comment=comment)
        case ops.RemoveComment(comment_id=comment_id):
            return ev.CommentsRemoved(comment_ids=(comment_id,))
        case _:
            assert_never(op)


_PAST: dict[Direction, str] = {"undo": "undone", "redo": "redone"}

ChangeOp = (
    ops.UndoChanges
    | ops.UndoDifferences
    | ops.RedoChanges
    | ops.RedoSteps
    | ops.PrepareCommit
    | ops.CommitChanges
    | ops.UndoCommit
    | ops.WriteFile
    | ops.MoveFile
    | ops.RewindTo
)


class ChangeOps:
    def __init__(self, parts: SessionParts, turns: TurnRunner) -> None:
        self._state = parts.state
        self._log = parts.recorder
        self._turns = turns
        self._read_history = parts.read_history
        self._ledger = parts.ledger
        self._undoing = Undoing(parts.state.transcript, parts.ledger, parts.effects, parts.recorder)
        self._committing: asyncio.Task[ev.ChangesCommitted | ev.CommitUndone] | None = None
        self._is_ending = False

    def interrupt(self, *, for_good: bool = False) -> None:
        """Stop the commit that runs; `for_good` also one that would begin later."""
        self._is_ending = self._is_ending or for_good
        if self._committing is not None:
            self._committing.cancel()

    async def carry_out(self, op: ChangeOp) -> None:
        match op:
            case ops.UndoChanges():
                await self._revert_selected("undo", op)
            case ops.UndoDifferences():
                await self._revert("undo", op, " there")
            case ops.RedoChanges():
                await self._revert_selected("redo", op)
            case ops.RedoSteps():
                await self._revert("redo", op)
            case ops.PrepareCommit(selections=selections):
                self._log.emit(await self._prepared(selections))
            case ops.CommitChanges() | ops.UndoCommit():
                await self._commit(op)
            case ops.WriteFile():
                await self._write(f"{op.path} was not written", op)
            case ops.MoveFile():
                await self._write(f"{op.path} was not renamed", op)
            case ops.RewindTo():
                await self._rewind(op)
            case _:
                assert_never(op)

    async def _revert_selected(self, direction: Direction, op: ops.UndoChanges | ops.RedoChanges) -> None:
        if await self._is_unclear(op.selection):
            return
        where = " there" if op.selection != ChangeSelection() else ""
        await self._revert(direction, op, where)

    async def _is_unclear(self, selection: ChangeSelection) -> bool:
        """Whether the selection uses an id that several changes have. If so, record a notice."""
        names = [names for one in selection.change_ids if (names := self._state.transcript.changed.namesakes(one))]
        if not names:
            return False
        one, _, _ = names[0][0].rpartition("~")
        title = f"The id {one} belongs to several changes of this session, so it is not clear which one is meant."
        await self._notify("unclear_selection", title, f"Name the one you mean: {' or '.join(names[0])}.")
        return True

    async def _revert(self, direction: Direction, op: UndoOp, where: str = "") -> None:
        if not await self._begin("busy", f"nothing was {_PAST[direction]}", may_wait=True):
            return
        try:
            is_done = await self._undoing.carry_out(op)
        except WorkspaceError as error:
            await self._log.record(replace(notice_of(error, None), code=f"not_{_PAST[direction]}"))
            return
        if not is_done:
            await self._notify("nothing_selected", f"There is nothing to {direction}{where}.", "")

    async def _write(self, consequence: str, op: ops.WriteFile | ops.MoveFile) -> None:
        if not await self._begin("not_written", consequence):
            return
        try:
            await self._undoing.carry_out(op)
        except StorageError:
            raise
        except AgentError as error:
            await self._log.record(replace(notice_of(error, None), code="not_written"))

    async def _prepared(self, selections: Sequence[ChangeSelection]) -> ev.CommitPrepared:
        obstacle, hint = "The agent is working.", "Wait until the turn has ended, or stop it."
        if not self._turns.is_running:
            await self._turns.get_ready()
            try:
                return (await prepare(self._state.transcript, self._ledger, selections))[0]
            except AgentError as error:
                obstacle, hint = error.title, error.hint
        return ev.CommitPrepared(selections=tuple(selections), obstacle=obstacle, hint=hint)

    async def _commit(self, op: ops.CommitChanges | ops.UndoCommit) -> None:
        consequence = "the commit stays" if isinstance(op, ops.UndoCommit) else "nothing was committed"
        if not await self._begin("not_committed", consequence):
            return
        if isinstance(op, ops.UndoCommit):
            work = undo_commit(self._ledger, op.commit)
        else:
            work = commit_changes(self._state.transcript, self._ledger, op.selections, op.message, self._tell)
        self._committing = asyncio.create_task(work)
        if self._is_ending:
            self._committing.cancel()
        try:
            await self._log.record(await self._committing)
        except AgentError as error:
            await self._log.record(replace(notice_of(error, None), code="not_committed"))
        except asyncio.CancelledError:
            await self._notify("not_committed", "The commit was stopped.", "Nothing was committed.")
        self._committing = None
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise asyncio.CancelledError

    def _tell(self, step: str, text: str) -> None:
        self._log.emit(ev.GitOutputDelta(step=step, text=text))

    async def _rewind(self, op: ops.RewindTo) -> None:
        if not await self._begin("busy", "nothing was undone"):
            return
        if not 1 <= op.turn <= self._state.transcript.turn:
            await self._notify("nothing_selected", f"There is no turn {op.turn} to go back to.", "")
            return
        if op.scope != "files" and not self._state.history.can_rewind_to(op.turn):
            await self._read_history()
        if op.scope != "conversation":
            try:
                await self._undoing.carry_out(ops.UndoChanges(selection=ChangeSelection(since_turn=op.turn)))
            except WorkspaceError as error:
                await self._log.record(replace(notice_of(error, None), code="not_undone"))
                return
        await self._log.record(ev.Rewound(turn=op.turn, scope=op.scope))

    async def _begin(self, code: str, consequence: str, *, may_wait: bool = False) -> bool:
        if self._turns.is_running and not (may_wait and self._turns.only_waits):
            await self._notify(code, f"The agent is working, so {consequence}.", "Stop it first.")
            return False
        await self._turns.get_ready()
        return True

    async def _notify(self, code: str, title: str, hint: str) -> None:
        await self._log.record(ev.Notice(level="warning", code=code, title=title, hint=hint))


logger = logging.getLogger(__name__)


class _TurnDone(Struct, frozen=True):
    """Posted to the mailbox when the turn task has ended, or a summary was made."""


class Session:
    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._mailbox: asyncio.Queue[ops.Op | ArrivedPrompt | _TurnDone] = asyncio.Queue()
        self._is_ready = asyncio.Event()
        self._is_handling = False
        """Whether an op is being carried out. The session is not at rest then, even if no turn has started."""
        self._early = EarlyStart(parts.started_early)
        self._providers = ProviderPool(parts.provider_source, self._warn_of_address)
        self._turns = TurnRunner(
            parts,
            self._providers,
            on_end=lambda: self._mailbox.put_nowait(_TurnDone()),
            on_storage_failure=self._report_storage_failure,
        )
        self._changes = ChangeOps(parts, self._turns)
        self._drafting = CommitDrafting(parts.state, parts.recorder, parts.ledger, parts.spending, self._providers)
        self._agents = AgentOps(parts)
        self._arriving = ArrivingPrompts(parts.mentions, self._mailbox.put_nowait)
        controls = SessionControls(
            perform=self._perform,
            prompt=self._submit_prompt,
            prompt_later=lambda text: self._mailbox.put_nowait(ArrivedPrompt(text=text)),
            say=parts.recorder.record,
            is_busy=lambda: self._turns.is_running,
        )
        self._commands = SlashCommands(parts.commands, controls)

    @property
    def id(self) -> SessionId:
        return self._parts.session_id

    @property
    def transcript(self) -> Transcript:
        """The session as a user would read it. Read only; follows the events."""
        return self._parts.state.transcript

    def clear(self) -> None:
        self._parts.state.clear()

    @property
    def is_at_work(self) -> bool:
        """Whether quitting now would interrupt a turn that is neither ending nor waiting for the user."""
        return self._turns.is_at_work

    @property
    def is_at_rest(self) -> bool:
        """Whether closing now would interrupt nothing, not even the making of a title."""
        return self._is_idle and not self._is_handling and not self._parts.titling.is_busy

    async def wait_until_ready(self) -> None:
        """Return when recovery has ended, successfully or not. Until then an unfinished turn counts as running."""
        await self._is_ready.wait()

    def submit(self, op: ops.Op) -> None:
        """Submit an op. Returns at once; events report the outcome. Call it on the loop's thread."""
        if isinstance(op, ops.Interrupt):
            self._changes.interrupt()
        elif isinstance(op, ops.Shutdown) and not op.when_idle:
            self._changes.interrupt(for_good=True)
        self._mailbox.put_nowait(op)

    def submit_text(self, text: str) -> None:
        """Submit a prompt that mentions nothing, whatever it looks like: a model wrote it."""
        self._mailbox.put_nowait(ArrivedPrompt(text=text))

    async def run(self) -> None:
        """Serve ops until `Shutdown` or cancellation. Both end everything that the session started."""
        try:
            await self._parts.telemetry.prepare()
            await self._guard(self._turns.get_ready(), is_reported=self._mailbox.empty)
            self._is_ready.set()
            if (model := self.transcript.session.model) is not None:
                self._early.follow(model)
            await self._parts.context_manager.measure_opened()
            is_ending = False
            while not isinstance(op := await self._mailbox.get(), ops.Shutdown) or op.when_idle:
                self._is_handling = True
                await self._guard(self._handle(op))
                self._is_handling = False
                is_ending = is_ending or isinstance(op, ops.Shutdown)
                if is_ending and self._is_idle:
                    return
            if op.keeps_questions and self._parts.state.unfinished.is_waiting:
                self._parts.recorder.seal()
        finally:
            self._is_ready.set()
            await self._close()

    async def _handle(self, op: ops.Op | ArrivedPrompt | _TurnDone) -> None:  # noqa: C901 - one closed vocabulary, matched exhaustively
        if isinstance(op, FilingOp):
            await self._parts.recorder.record(event_of(op))
            return
        if isinstance(op, ContextOp):
            await self._change_context(op)
            return
        if isinstance(op, ChangeOp):
            await self._changes.carry_out(op)
            return
        match op:
            case ops.SubmitPrompt(text=text, include=include):
                await self._submit_prompt(text, text, include)
            case ArrivedPrompt():
                await self._take(op)
            case ops.Unqueue(prompt_id=prompt_id):
                await self._turns.queue.remove(prompt_id)
            case ops.MoveQueued(prompt_id=prompt_id, before=before):
                await self._turns.queue.move(prompt_id, before)
            case ops.Steer(text=text, include=include):
                await self._submit_prompt(text, text, include, is_steering=True)
            case ops.SteerQueued(prompt_id=prompt_id):
                await self._turns.steer_queued(prompt_id)
            case ops.SendQueued(prompt_id=prompt_id):
                await self._turns.send_queued(prompt_id)
            case ops.AnswerApproval(call_id=call_id, decision=decision) if self._turns.is_left_waiting:
                await self._turns.continue_left(call_id, decision)
            case ops.AnswerApproval(call_id=call_id, decision=decision):
                self._parts.approvals.answer(call_id, decision)
            case ops.DraftCommit(selections=selections):
                self._drafting.begin(selections)
            case ops.Interrupt(spares_turn=True):
                self._drafting.stop()
            case ops.Interrupt():
                self._arriving.stop()
                self._drafting.stop()
                await self._turns.interrupt()
            case ops.StopSubagent(call_id=call_id):
                self._parts.subagents.stop(call_id)
            case ops.TryNow():
                self._parts.retries.skip()
            case ops.SendComments(text=text):
                await self._turns.send_comments(text)
            case ops.SetMode():
                await self._set_mode(op)
            case ops.SetAgentOption():
                self._agents.set_option(op)
            case ops.ReleaseAgents():
                if not self._turns.is_running:
                    await self._parts.agents.aclose()
            case ops.EditPlan(text=text):
                await self._edit_plan(text)
            case ops.CarryOutPlan():
                await self._carry_out_plan(op)
            case ops.JudgeCommand(call_id=call_id, command=command):
                self._parts.judging.want(call_id, command)
            case ops.LookAtChanges():
                await self._parts.effects.jobs.look()
            case ops.StopJob(job_id=job_id):
                with suppress(KeyError):  # a job of an earlier process
                    self._parts.jobs.ask_to_stop(job_id)
            case ops.RevokeRule(rule_id=rule_id):
                await self._parts.rulebook.revoke(rule_id)
            case ops.RunCommand(text=text):
                await self._run_command(text)
            case _TurnDone():
                await self._turns.start_queued()
            case ops.Shutdown():
                pass
            case _:
                assert_never(op)

    @property
    def _is_idle(self) -> bool:
        is_working = self._turns.is_running or self._turns.has_next or self._parts.context_manager.is_compacting
        return self._mailbox.empty() and not is_working and not self._arriving.is_waiting

    async def _submit_prompt(
        self, text: str, typed: str, include: tuple[str, ...] = (), *, is_steering: bool = False
    ) -> None:
        """Take a prompt with the mentions in its `typed` part, which the user wrote, and the files to `include`."""
        if self._arriving.is_busy or include or self._parts.mentions.found_in(typed):
            self._arriving.add(text, typed, include, is_steering=is_steering)
        else:
            await self._turns.submit_prompt(text, is_steering=is_steering)

    async def _take(self, prompt: ArrivedPrompt) -> None:
        if prompt.error is None and not prompt.is_stopped:
            await self._turns.submit_prompt(prompt.text, prompt.attachments, is_steering=prompt.is_steering)
            return
        try:
            if prompt.error is not None:
                await self._parts.recorder.record(replace(notice_of(prompt.error, None), code=NOT_FETCHED))
        finally:
            self._parts.recorder.emit(ev.PromptRejected(text=prompt.text))

    async def _change_context(self, op: ContextOp) -> asyncio.Task[None] | None:
        await self._turns.get_ready()
        model = self.transcript.session.model
        if model is not None and model.is_agent and isinstance(op, ops.Compact | ops.InspectContext):
            if command := await self._agents.leave_context(op, model):
                await self._submit_prompt(command, "")
            return None
        if isinstance(op, ops.Compact) and not await self._turns.may_run():
            return None
        task = await self._parts.context_manager.handle(
            op, is_running=self._turns.is_running, provider=self._providers.get
        )
        if task is not None:
            task.add_done_callback(self._on_compacted)
        return task

    def _on_compacted(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, StorageError):
            self._report_storage_failure(error, None)
        elif error is not None:
            logger.error("A compaction failed unexpectedly", exc_info=error)
        self._turns.expect_queue()
        self._mailbox.put_nowait(_TurnDone())

    async def _run_command(self, text: str) -> None:
        try:
            await self._turns.get_ready()
            await self._commands.run(text)
        except StorageError:
            self._parts.recorder.emit(ev.PromptRejected(text=text))
            raise

    async def _perform(self, op: ops.Op) -> Performed:
        with capture_events() as events:
            if isinstance(op, ContextOp):
                return Performed(events, await self._change_context(op))
            await self._handle(op)
        return Performed(events)

    async def _set_mode(self, op: ops.SetMode) -> None:
        model = op.model or self.transcript.session.model
        approval = op.approval or self.transcript.session.approval
        sandbox = op.sandbox or self.transcript.session.sandbox
        assert model is not None, "the journal's first line names the model"
        is_planning = self.transcript.session.is_planning if op.is_planning is None else op.is_planning
        if model.is_agent and is_planning:
            is_planning, title = False, f"{model.name} cannot be kept to planning."
            hint = "It may have a mode of its own for that, among its options."
            await self._parts.recorder.record(ev.Notice(level="warning", code="plan", title=title, hint=hint))
        mode = ev.ModeSet(model=model, approval=approval, sandbox=sandbox, is_planning=is_planning)
        is_other_agent = model.is_agent and model != self.transcript.session.model
        await self._parts.recorder.record(mode)
        if is_other_agent:
            self._parts.recorder.emit(ev.ContextMeasured(use=None))
        self._early.follow(model)
        await self._parts.context_manager.measure(self._providers.built(model))

    async def _edit_plan(self, text: str) -> None:
        """Record the user's text as the plan, unless it is the plan already."""
        title, hint = "", ""
        if self._turns.is_running:
            title, hint = "The plan stays as it is, because a turn is running.", "Stop the turn, or wait for its end."
        elif not text.strip():
            title, hint = "There is no plan.", "Let the agent write one: switch on planning, and say what you want."
        if title:
            await self._parts.recorder.record(ev.Notice(level="warning", code="plan", title=title, hint=hint))
        elif text != self.transcript.turns.plan:
            await self._parts.recorder.record(ev.PlanEdited(text=text))

    async def _carry_out_plan(self, op: ops.CarryOutPlan) -> None:
        parts, pins = self._parts, self._parts.context_manager.pins
        await self._edit_plan(op.text or self.transcript.turns.plan)
        plan = self.transcript.turns.plan
        if not plan.strip() or self._turns.is_running:
            return
        await self._set_mode(ops.SetMode(approval=op.approval, is_planning=False))
        await parts.recorder.record(ev.PlanAccepted(text=plan))
        is_pinned = await pins.add_plan(plan, parts.context_manager.settings().compaction.pins_tokens)
        words = await asyncio.to_thread(prompt_text, "carry_out.md")
        comments = [comment for comment in self.transcript.changed.comments.values() if not comment.path]
        await self._submit_prompt(prompt_of_comments(words if is_pinned else f"{words}\n\n{plan}", comments), "")
        if comments:  # those that the user did not send
            await parts.recorder.record(ev.CommentsRemoved(comment_ids=tuple(comment.id for comment in comments)))

    async def _warn_of_address(self, model: ModelRef) -> None:
        """Warn, before the key is sent, if the model's address would receive it unencrypted."""
        address = await asyncio.to_thread(self._parts.accounts.address_of, model)
        if (warning := readable_address_notice(address)) is not None:
            await self._parts.recorder.record(warning)

    async def _guard(
        self, step: Coroutine[object, object, None], is_reported: Callable[[], bool] = lambda: True
    ) -> None:
        try:
            await step
        except StorageError as error:
            if is_reported():
                self._report_storage_failure(error, None)

    def _report_storage_failure(self, error: StorageError, turn: int | None) -> None:
        recorder = self._parts.recorder
        recorder.tell_unrecorded(notice_of(error, turn))
        if turn is not None:
            end = ev.TurnEnded(turn=turn, reason="storage_error", requests=0, duration_s=0.0)
            recorder.tell_unrecorded(end)

    async def _close(self) -> None:
        parts = self._parts
        async with AsyncExitStack() as ends:
            ends.push_async_callback(parts.release)
            ends.push_async_callback(parts.telemetry.aclose)
            ends.push_async_callback(parts.recorder.aclose)
            # Record what programs of ours changed at the end, too.
            ends.push_async_callback(parts.effects.jobs.aclose)
            ends.push_async_callback(parts.jobs.aclose)
            ends.push_async_callback(parts.titling.aclose)
            ends.push_async_callback(self._drafting.aclose)
            ends.push_async_callback(self._agents.aclose)
            ends.push_async_callback(self._early.aclose)
            for close in self._providers.closers():
                ends.push_async_callback(close)
            ends.push_async_callback(self._commands.aclose)
            ends.push_async_callback(parts.context_manager.aclose)
            ends.push_async_callback(parts.judging.aclose)
            ends.push_async_callback(parts.hooks.end, self.transcript.turn)
            await self._arriving.aclose()
            while not self._mailbox.empty():
                if isinstance(op := self._mailbox.get_nowait(), ArrivedPrompt):
                    parts.recorder.emit(ev.PromptRejected(text=op.text))
            parts.approvals.abort_all("The application was closed.")
            await self._turns.aclose()
