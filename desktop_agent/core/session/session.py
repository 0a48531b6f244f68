"""One conversation: a mailbox of ops, at most one turn at a time, and the events that come of them.

A front submits ops and hears events; it never calls anything else here. Everything that changes the session happens in
its one mailbox task or in the one turn that the task started, so there is nothing to lock.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import assert_never

from desktop_agent.core.base.errors import AgentError, StorageError, UnsafeSettingsError, WorkspaceError
from desktop_agent.core.base.ids import CallId, PromptId, SessionId, new_prompt_id
from desktop_agent.core.context.comments import prompt_of_comments
from desktop_agent.core.context_window import ContextOp
from desktop_agent.core.context_window.requests import TurnRequests
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Decision, ModelRef
from desktop_agent.core.providers.base import Provider
from desktop_agent.core.providers.pool import ProviderPool
from desktop_agent.core.session.change_ops import ChangeOps
from desktop_agent.core.session.failure_notices import defect_notice, notice_of, readable_address_notice
from desktop_agent.core.session.parts import SessionParts
from desktop_agent.core.session.recorder import hearing
from desktop_agent.core.session.recovery import Unfinished, settle, settle_begun, settle_jobs
from desktop_agent.core.session.turn import OpenCalls, Turn, TurnSetup
from desktop_agent.core.slash.commands import SlashCommands
from desktop_agent.core.slash.parts import Performed, SessionHands
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.undo.execute import Undoing

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _TurnDone:
    """Posted to the mailbox when the turn task has ended, or a summary was made."""

    goes_on: bool = False
    """Whether queued prompts go on however the last turn ended: they came after it."""


class Session:
    """The running end of one conversation."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        undoing = Undoing(parts.state.transcript, parts.tools.ledger, parts.tools.effects, parts.recorder)
        self._changes = ChangeOps(
            parts.state,
            undoing,
            parts.recorder,
            is_busy=lambda: self._is_running,
            get_ready=self._get_ready,
            read_history=parts.read_history,
        )
        hands = SessionHands(
            perform=self._perform, prompt=self._submit_prompt, say=self._record, is_busy=lambda: self._is_running
        )
        self._commands = SlashCommands(parts.commands, hands)
        self._mailbox: asyncio.Queue[ops.Op | _TurnDone] = asyncio.Queue()
        self._turn: asyncio.Task[None] | None = None
        self._providers = ProviderPool(parts.provider_source, self._warn_of_address)
        self._opening = list(parts.start.opening)
        self._is_working = False
        self._is_interruptible = False
        self._is_held = parts.start.is_attended and parts.state.unfinished.is_waiting
        """Whether a turn of an earlier process waits for the user: it goes on with their answer."""

    @property
    def id(self) -> SessionId:
        """Which session this is."""
        return self._parts.start.session_id

    @property
    def transcript(self) -> Transcript:
        """The session as a user would read it. Read only; follows the events."""
        return self._parts.state.transcript

    @property
    def _is_running(self) -> bool:
        """Whether a turn runs. Its record alone does not tell: the end of a turn may be what could not be written."""
        return (self._is_working or self._is_held) and self.transcript.is_running

    @property
    def is_at_work(self) -> bool:
        """Whether quitting now would interrupt a turn: none that is ending, and none that only waits for the user."""
        return self._is_interruptible and not self._parts.state.unfinished.is_waiting

    def submit(self, op: ops.Op) -> None:
        """Ask for something. Returns at once; events report the outcome. Call it on the loop's thread."""
        self._mailbox.put_nowait(op)

    async def run(self) -> None:
        """Serve ops until `Shutdown`, which ends everything the session started before this returns.

        Cancelling this is the same as `Shutdown`.
        """
        try:
            await self._guard(self._get_ready(), is_told=self._mailbox.empty)
            await self._parts.context_manager.measure_opened()
            while not isinstance(op := await self._mailbox.get(), ops.Shutdown):
                await self._guard(self._handle(op))
            if op.keeps_questions and self._parts.state.unfinished.is_waiting:
                self._parts.recorder.seal()
        finally:
            await self._close()

    async def _handle(self, op: ops.Op | _TurnDone) -> None:  # noqa: C901 - one closed vocabulary, matched exhaustively
        match op:
            case ops.SubmitPrompt(text=text):
                await self._submit_prompt(text)
            case ops.Unqueue(prompt_id=prompt_id):
                if any(prompt.prompt_id == prompt_id for prompt in self.transcript.queued):
                    await self._record(ev.Unqueued(prompt_id=prompt_id))
            case ops.SendQueued(prompt_id=prompt_id):
                await self._send_queued(prompt_id)
            case ops.AnswerApproval(call_id=call_id, decision=decision):
                await self._answer(call_id, decision)
            case ops.JudgeCommand(call_id=call_id, command=command):
                self._parts.tools.judging.want(call_id, command)
            case ops.Interrupt():
                await self._give_up() if self._is_held else self._interrupt()
            case ops.TryNow():
                self._parts.retries.skip()
            case ops.UndoChanges():
                await self._changes.undo(op)
            case ops.RedoChanges() | ops.RedoSteps():
                await self._changes.redo(op)
            case ops.MarkReviewed(path=path, hunks=hunks, state=state):
                await self._record(ev.ReviewMarked(path=path, hunks=hunks, state=state))
            case ops.AddComment(comment=comment):
                await self._record(ev.CommentAdded(comment=comment))
            case ops.RemoveComment(comment_id=comment_id):
                await self._record(ev.CommentsRemoved(comment_ids=(comment_id,)))
            case ops.SendComments(text=text):
                await self._send_comments(text)
            case ops.WriteFile():
                await self._changes.write_file(op)
            case ops.RewindTo():
                await self._changes.rewind(op)
            case ops.SetMode():
                await self._set_mode(op)
            case ops.LookAtChanges():
                await self._parts.tools.effects.look()
            case ops.StopJob(job_id=job_id):
                self._stop_job(job_id)
            case ops.RevokeRule(rule_id=rule_id):
                await self._parts.tools.rulebook.revoke(rule_id)
            case ops.RenameSession(title=title):
                await self._record(ev.SessionRenamed(title=title.strip()))
            case ops.ArchiveSession(is_archived=is_archived):
                await self._record(ev.SessionArchived(is_archived=is_archived))
            case ops.PinSession(is_pinned=is_pinned):
                await self._record(ev.SessionPinned(is_pinned=is_pinned))
            case (
                ops.Compact()
                | ops.EditSummary()
                | ops.UndoCompaction()
                | ops.AddPin()
                | ops.RemovePin()
                | ops.InspectContext()
            ):
                await self._change_sight(op)
            case ops.RunCommand(text=text):
                await self._run_command(text)
            case _TurnDone(goes_on=goes_on):
                await self._start_queued(goes_on=goes_on)
            case ops.Shutdown():
                pass
            case _:
                assert_never(op)

    # -- turns --

    async def _submit_prompt(self, text: str) -> bool:
        """Start a turn, or queue the prompt. Return whether it was taken: otherwise it is given back, and said why."""
        prompt_id = new_prompt_id()
        try:
            if not await self._may_run():
                self._parts.recorder.emit(ev.PromptRejected(text=text))
                return False
            if self._is_running or self._parts.context_manager.is_compacting:
                await self._record(ev.Queued(prompt_id=prompt_id, text=text))
            else:
                await self._start_turn(prompt_id, text)
        except StorageError:
            self._parts.recorder.emit(ev.PromptRejected(text=text))
            raise
        return True

    async def _may_run(self) -> bool:
        """Whether everything that safety depends on can be read; otherwise it is said what cannot."""
        await self._parts.settings.refresh()
        await self._parts.tools.rulebook.refresh()
        faults = (*self._parts.settings.faults, *self._parts.tools.rulebook.faults)
        if faults:
            await self._get_ready()
            await self._record(notice_of(UnsafeSettingsError(faults), None))
        return not faults

    async def _start_queued(self, *, goes_on: bool) -> None:
        """Go on with the next queued prompt, unless the last turn ended in a way the user should look at first."""
        queued = self.transcript.queued
        if queued and not self._is_running and (goes_on or self.transcript.last_end in _GOES_ON):
            await self._start_turn(queued[0].prompt_id, queued[0].text)

    async def _send_queued(self, prompt_id: PromptId) -> None:
        prompt = next((prompt for prompt in self.transcript.queued if prompt.prompt_id == prompt_id), None)
        if prompt is not None and not self._is_running and await self._may_run():
            await self._start_turn(prompt.prompt_id, prompt.text)

    async def _start_turn(self, prompt_id: PromptId, text: str) -> None:
        await self._get_ready()
        await asyncio.to_thread(self._parts.tools.ledger.accept_root)
        number = self.transcript.turn + 1
        model = self.transcript.model
        assert model is not None, "the journal's first line names the model"
        await self._record(ev.PromptSubmitted(turn=number, prompt_id=prompt_id, text=text))
        await self._record(ev.TurnStarted(turn=number, model=model))
        await self._begin(number, model, None)

    async def _answer(self, call_id: CallId, decision: Decision) -> None:
        """Take the user's answer; a turn that an earlier process left waiting for it goes on now."""
        unfinished = self._parts.state.unfinished
        if self._is_held:
            await self._get_ready()  # it may not have come through at the start
            if call_id not in unfinished.asked or not await self._can_go_on():
                return
        if not self._parts.tools.approvals.answer(call_id, decision) or not self._is_held:
            return
        assert unfinished.turn is not None
        assert unfinished.model is not None
        left = await settle_begun(unfinished, self._parts.recorder)
        self._is_held = False
        await self._begin(unfinished.turn, unfinished.model, left)

    async def _can_go_on(self) -> bool:
        """Whether the model of the waiting turn can be asked; otherwise it is said why, and the question waits on."""
        model = self._parts.state.unfinished.model
        assert model is not None
        if not await self._may_run():
            return False
        try:
            await self._providers.get(model)
        except AgentError as error:
            await self._record(notice_of(error, None))
            return False
        return True

    async def _give_up(self) -> None:
        """End a turn that waits for the user, and nothing of which runs."""
        self._is_held = False
        await self._get_ready()

    async def _begin(self, number: int, model: ModelRef, left: OpenCalls | None) -> None:
        self._is_working = True
        has_begun = asyncio.Event()
        self._turn = asyncio.create_task(self._run_turn(number, model, left, has_begun), name=f"turn {number}")
        # A task that is cancelled before its first step never runs at all, and nothing would record its end.
        await has_begun.wait()

    async def _run_turn(self, number: int, model: ModelRef, left: OpenCalls | None, has_begun: asyncio.Event) -> None:
        """Drive one turn to its recorded end, whatever happens in it."""
        has_begun.set()
        started = self._parts.clock.monotonic()
        self._is_interruptible = True
        try:
            reason, requests, notice = await self._work(number, model, left)
            # From here on an interrupt would only leave the end of the turn unwritten.
            self._is_interruptible = False
            if reason == "provider_error":
                await self._providers.forget(model)
            if notice is not None:
                await self._record(notice)
            await self._settle(number)
            await self._parts.tools.effects.look()
            duration_s = round(self._parts.clock.monotonic() - started, 3)
            await self._record(ev.TurnEnded(turn=number, reason=reason, requests=requests, duration_s=duration_s))
            self._parts.titling.after_turn(reason)
        except StorageError as error:
            self._tell_storage_failure(error, number)
        finally:
            self._is_interruptible = self._is_working = False
            self._mailbox.put_nowait(_TurnDone())

    async def _work(
        self, number: int, model: ModelRef, left: OpenCalls | None
    ) -> tuple[ev.TurnEndReason, int, ev.Notice | None]:
        """Run the turn; return why it ended, after how many requests, and the notice for the user."""
        turn: Turn | None = None
        notice: ev.Notice | None = None
        try:
            await asyncio.to_thread(self._parts.tools.ledger.require_root)
            turn = self._build_turn(number, model, await self._providers.get(model))
            reason = await turn.run(left)
        except asyncio.CancelledError:
            reason = "interrupted"
        except StorageError:
            raise
        except AgentError as error:
            reason = "workspace_error" if isinstance(error, WorkspaceError) else "provider_error"
            notice = notice_of(error, number)
        except Exception as error:
            logger.exception("Turn %s failed unexpectedly", number)
            reason, notice = "internal_error", defect_notice(error, number)
        return reason, turn.requests if turn else 0, notice

    def _build_turn(self, number: int, model: ModelRef, provider: Provider) -> Turn:
        parts = self._parts
        setup = TurnSetup(
            number=number,
            model=model,
            provider=provider,
            requests=TurnRequests(parts.context_manager, model, provider),
            runtime=parts.tools.runtime,
            limits=parts.limits,
            settings=parts.settings,
            retries=parts.retries,
            known_calls=self.transcript.call_ids,
        )
        return Turn(setup, parts.recorder)

    def _interrupt(self) -> None:
        self._parts.context_manager.interrupt()
        if self._turn is not None and self._is_interruptible:
            self._is_interruptible = False
            self._turn.cancel()

    async def _warn_of_address(self, model: ModelRef) -> None:
        """Warn, before the key leaves, of an address that gets it unencrypted."""
        if (warning := readable_address_notice(model)) is not None:
            await self._record(warning)

    async def _send_comments(self, text: str) -> None:
        """Send the user's remarks on the diff as one prompt."""
        comments = tuple(self.transcript.comments.values())
        if comments and await self._submit_prompt(prompt_of_comments(text, comments)):
            await self._record(ev.CommentsRemoved(comment_ids=tuple(comment.id for comment in comments)))

    # -- what the model sees --

    async def _change_sight(self, op: ContextOp) -> asyncio.Task[None] | None:
        await self._get_ready()
        if isinstance(op, ops.Compact) and not await self._may_run():
            return None
        task = await self._parts.context_manager.handle(op, is_running=self._is_running, provider=self._providers.get)
        if task is not None:
            task.add_done_callback(self._on_compacted)
        return task

    def _on_compacted(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, StorageError):
            self._tell_storage_failure(error, None)
        elif error is not None:
            logger.error("A compaction failed unexpectedly", exc_info=error)
        self._mailbox.put_nowait(_TurnDone(goes_on=True))

    # -- commands --

    async def _run_command(self, text: str) -> None:
        try:
            await self._get_ready()
            await self._commands.run(text)
        except StorageError:
            self._parts.recorder.emit(ev.PromptRejected(text=text))
            raise

    async def _perform(self, op: ops.Op) -> Performed:
        """Carry out an op for a command, which says what came of it."""
        with hearing() as heard:
            if isinstance(op, ContextOp):
                return Performed(heard, await self._change_sight(op))
            await self._handle(op)
        return Performed(heard)

    # -- the rest --

    async def _set_mode(self, op: ops.SetMode) -> None:
        model = op.model or self.transcript.model
        approval = op.approval or self.transcript.approval
        sandbox = op.sandbox or self.transcript.sandbox
        assert model is not None, "the journal's first line names the model"
        await self._record(ev.ModeSet(model=model, approval=approval, sandbox=sandbox))
        await self._parts.context_manager.measure(self._providers.built(model))

    def _stop_job(self, job_id: str) -> None:
        with suppress(KeyError):  # a job of an earlier process
            self._parts.tools.jobs.ask_to_stop(job_id)

    async def _get_ready(self) -> None:
        """Write what must come first, and conclude what an earlier process, or a full disk, left open."""
        if self._is_working:  # then what is open is what the turn is doing
            return
        while self._opening:
            await self._record(self._opening[0])
            del self._opening[0]
        await self._parts.tools.rulebook.refresh()
        unfinished = self._parts.state.unfinished
        if self._is_held:
            await settle_begun(unfinished, self._parts.recorder)
            self._parts.tools.approvals.hold(unfinished.asked.values())
        elif not unfinished.is_clean:
            await self._conclude(unfinished)
        await settle_jobs(unfinished, self._parts.tools.effects)

    async def _conclude(self, unfinished: Unfinished) -> None:
        turn = self.transcript.turn if unfinished.turn is None else unfinished.turn
        await self._settle(turn)
        if unfinished.turn is not None:
            await self._record(ev.TurnEnded(turn=turn, reason="interrupted", requests=0, duration_s=0.0))

    async def _settle(self, turn: int) -> None:
        parts = self._parts
        await settle(parts.state.unfinished, parts.tools.ledger, parts.tools.effects, parts.recorder, turn=turn)

    async def _guard(self, step: Coroutine[object, object, None], is_told: Callable[[], bool] = lambda: True) -> None:
        """Carry out one step of the mailbox; a journal that cannot be written is reported, and the session stays open.

        Not if `is_told` says no: what waits in the mailbox will meet the same failure, and telling it once is enough.
        """
        try:
            await step
        except StorageError as error:
            if is_told():
                self._tell_storage_failure(error, None)

    def _tell_storage_failure(self, error: StorageError, turn: int | None) -> None:
        recorder = self._parts.recorder
        recorder.tell_unrecorded(notice_of(error, turn))
        if turn is not None:
            end = ev.TurnEnded(turn=turn, reason="storage_error", requests=0, duration_s=0.0)
            recorder.tell_unrecorded(end)

    async def _record(self, event: ev.KnownEvent) -> None:
        await self._parts.recorder.record(event)

    async def _close(self) -> None:
        """End everything, in this order and whichever part of it fails: turn, providers, journal, lock."""
        async with AsyncExitStack() as ends:
            ends.push_async_callback(self._parts.release)
            ends.push_async_callback(self._parts.recorder.aclose)
            ends.push_async_callback(self._parts.tools.jobs.aclose)  # what they changed at the end goes on record, too
            ends.push_async_callback(self._parts.titling.aclose)
            for close in self._providers.closers():
                ends.push_async_callback(close)
            ends.push_async_callback(self._commands.aclose)
            ends.push_async_callback(self._parts.context_manager.aclose)
            ends.push_async_callback(self._parts.tools.judging.aclose)
            self._parts.tools.approvals.abort_all("The application was closed.")
            if self._turn is not None:
                self._interrupt()
                await asyncio.wait([self._turn])


_GOES_ON: frozenset[ev.TurnEndReason] = frozenset({"completed", "max_turns", "limit", "refused"})
