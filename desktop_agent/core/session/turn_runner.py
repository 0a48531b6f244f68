"""Starts the turns of a session, one at a time: from a prompt, from the queue, or from an answer that came late."""

import asyncio
import logging
from collections.abc import Callable

from desktop_agent.core.base.errors import AgentError, StorageError, WorkspaceError
from desktop_agent.core.base.ids import CallId, PromptId, new_prompt_id
from desktop_agent.core.context.review_comments import prompt_of_comments
from desktop_agent.core.context_window.context_manager import TurnRequests
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Attachment, Decision, ModelRef
from desktop_agent.core.providers.provider import ProviderPool
from desktop_agent.core.session.agent_turn import AgentTurn
from desktop_agent.core.session.failure_notices import defect_notice, notice_of
from desktop_agent.core.session.prompt_queue import PromptQueue
from desktop_agent.core.session.recovery import Readiness
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.session.spending import time_of_turn
from desktop_agent.core.session.turn import OpenCalls, Turn, tell_of_effort, tell_of_switch
from desktop_agent.core.transcript.entries import QueuedPrompt

logger = logging.getLogger(__name__)

_GOES_ON: frozenset[ev.TurnEndReason] = frozenset({"completed", "max_turns", "limit", "refused", "hook"})
"""The ends of a turn after which a queued prompt starts automatically. After others the user should look first."""


class TurnRunner:
    def __init__(
        self,
        parts: SessionParts,
        providers: ProviderPool,
        *,
        on_end: Callable[[], None],
        on_storage_failure: Callable[[StorageError, int], None],
    ) -> None:
        """`on_end` is called when a turn has ended, even if its record could not be written."""
        self._parts = parts
        self._record = parts.recorder.record
        self._transcript = parts.state.transcript
        self.queue = PromptQueue(parts.recorder, parts.state.transcript, parts.subagents.wake)
        self._readiness = Readiness(parts)
        self._providers = providers
        self._on_end = on_end
        self._on_storage_failure = on_storage_failure
        self._first_began: float | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_working = False
        self._is_interruptible = False
        self._is_queue_due = False
        self._after_summary: set[PromptId] = set()
        """The prompts that came while a summary was made. They wait only for that, however the last turn ended."""

    @property
    def is_running(self) -> bool:
        """Whether a turn runs. The journal alone cannot tell, because writing the end of a turn may have failed."""
        return (self._is_working or self._readiness.is_held) and self._transcript.turns.is_running

    @property
    def is_at_work(self) -> bool:
        return self._is_interruptible and not self._readiness.unfinished.is_waiting

    @property
    def only_waits(self) -> bool:
        """Whether the running turn does nothing until the user answers, so that files can be put back meanwhile."""
        unfinished = self._readiness.unfinished
        is_still = unfinished.is_waiting and unfinished.started <= unfinished.asked.keys()
        return is_still and self._parts.approvals.are_open

    async def get_ready(self) -> None:
        """Write the opening records; do nothing while a turn works. Raises `StorageError`."""
        if not self._is_working:
            await self._readiness.make_ready()

    async def may_run(self) -> bool:
        faults = await self._readiness.look_for_faults()
        if faults is not None:
            await self.get_ready()
            await self._record(notice_of(faults, None))
        return faults is None

    async def submit_prompt(
        self, text: str, attachments: tuple[Attachment, ...] = (), *, is_steering: bool = False
    ) -> bool:
        """Start a turn, or queue the prompt. Return `False` if neither is possible; the user then gets the text back.

        A prompt that `is_steering` waits for the next request of the running turn.
        """
        prompt_id = new_prompt_id()
        try:
            if not await self.may_run():
                self._parts.recorder.emit(ev.PromptRejected(text=text))
                return False
            if self._parts.context_manager.is_compacting:
                self._after_summary.add(prompt_id)
                await self.queue.add(prompt_id, text, attachments, is_steering=False)
            elif self.is_running or (self.has_next and (self._is_working or self._is_queue_due)):
                is_steering = is_steering and self.is_running
                await self.queue.add(prompt_id, text, attachments, is_steering=is_steering)
            else:
                await self._start(prompt_id, text, attachments)
        except StorageError:
            self._parts.recorder.emit(ev.PromptRejected(text=text))
            raise
        return True

    async def send_comments(self, text: str) -> None:
        comments = tuple(self._transcript.changed.comments.values())
        if comments and await self.submit_prompt(prompt_of_comments(text, comments)):
            await self._record(ev.CommentsRemoved(comment_ids=tuple(comment.id for comment in comments)))

    def expect_queue(self) -> None:
        """Queue new prompts behind the waiting ones, until `start_queued` is called. That call must follow."""
        self._is_queue_due = True

    async def start_queued(self) -> None:
        """Start the next queued prompt, unless the user should first see how the last turn ended.

        Nothing starts while a summary is being made; its maker must call this method afterwards.
        """
        if self._parts.context_manager.is_compacting:
            return
        self._is_queue_due = False
        prompt = self._next
        self._after_summary.clear()
        if prompt is not None and not self.is_running:
            await self._start(prompt.prompt_id, prompt.text, prompt.attachments)

    @property
    def has_next(self) -> bool:
        """Whether a queued prompt starts automatically when no turn runs and no summary is being made."""
        return self._next is not None

    @property
    def _next(self) -> QueuedPrompt | None:
        waiting = self.queue.waiting
        if self._transcript.turns.last_end not in _GOES_ON:
            waiting = [prompt for prompt in waiting if prompt.prompt_id in self._after_summary]
        return waiting[0] if waiting else None

    async def steer_queued(self, prompt_id: PromptId) -> None:
        if self.is_running:
            await self.queue.steer(prompt_id)

    async def send_queued(self, prompt_id: PromptId) -> None:
        prompt = self.queue.find(prompt_id)
        if prompt is not None and self._parts.context_manager.is_compacting:
            self._after_summary.add(prompt_id)
            await self.queue.move(prompt_id, self.queue.waiting[0].prompt_id)
        elif prompt is not None and not self.is_running and await self.may_run():
            await self._start(prompt.prompt_id, prompt.text, prompt.attachments)

    async def _start(self, prompt_id: PromptId, text: str, attachments: tuple[Attachment, ...]) -> None:
        await self.get_ready()
        await self._readiness.accept_root()
        # If the line that began a turn is damaged, its changes still have the turn's number.
        number = max(self._transcript.turn, *self._transcript.changed.numbers, 0) + 1
        model = self._transcript.session.model
        assert model is not None, "the journal's first line names the model"
        before = self._parts.state.unfinished.model
        await self._parts.telemetry.prepare()
        await self._record(ev.PromptSubmitted(turn=number, prompt_id=prompt_id, text=text, attachments=attachments))
        await self._record(ev.TurnStarted(turn=number, model=model))
        await tell_of_switch(self._parts, number, before)
        await tell_of_effort(self._parts, number, before)
        await self._begin(number, model, None)

    # -- a turn that an earlier process left waiting for the user --

    @property
    def is_left_waiting(self) -> bool:
        return self._readiness.is_held

    async def continue_left(self, call_id: CallId, decision: Decision) -> None:
        unfinished = self._readiness.unfinished
        await self.get_ready()  # it may not have come through at the start
        if call_id not in unfinished.asked or not await self._can_go_on():
            return
        if not self._parts.approvals.answer(call_id, decision):
            return
        number, model = unfinished.turn, unfinished.model
        assert number is not None
        assert model is not None
        await self._begin(number, model, await self._readiness.release_held())

    async def _can_go_on(self) -> bool:
        model = self._readiness.unfinished.model
        assert model is not None
        if not await self.may_run():
            return False
        try:
            await self._providers.get(model)
        except AgentError as error:
            await self._record(notice_of(error, None))
            return False
        return True

    async def interrupt(self) -> None:
        """Stop the turn and keep its work. A turn that an earlier process left waiting for the user just ends."""
        if self._readiness.is_held:
            await self._readiness.stop_held()
            return
        self._cancel()

    async def aclose(self) -> None:
        if self._task is not None:
            self._cancel()
            await asyncio.wait([self._task])

    def _cancel(self) -> bool:
        self._parts.context_manager.interrupt()
        if self._task is None or not self._is_interruptible:
            return False
        self._is_interruptible = False
        return self._task.cancel()

    async def _begin(self, number: int, model: ModelRef, left: OpenCalls | None) -> None:
        self._is_working = True
        has_begun = asyncio.Event()
        self._task = asyncio.create_task(self._run(number, model, left, has_begun), name=f"turn {number}")
        # A task that is cancelled before its first step never runs at all, and nothing would record its end.
        await has_begun.wait()

    async def _run(self, number: int, model: ModelRef, left: OpenCalls | None, has_begun: asyncio.Event) -> None:
        has_begun.set()
        started = self._parts.clock.monotonic()
        self._is_interruptible = True
        try:
            reason, requests, notice = await self._work(number, model, left)
            # From here on an interrupt would only leave the end of the turn unwritten.
            self._is_interruptible = False
            if reason == "provider_error":
                await self._providers.forget(model)
            await self._parts.subagents.end()
            if notice is not None:
                await self._record(notice)
            async with self._parts.effects.jobs.looking:  # an undo that began while the turn waited
                pass
            await self._readiness.settle(number)
            await self._parts.effects.jobs.look()
            if (problem := self._parts.telemetry.problem()) is not None:
                await self._record(problem)
            duration_s = round(self._parts.clock.monotonic() - started, 3)
            await self._record(ev.TurnEnded(turn=number, reason=reason, requests=requests, duration_s=duration_s))
            self._parts.titling.after_turn(reason)
        except StorageError as error:
            self._readiness.failure = error.title
            self._on_storage_failure(error, number)
        finally:
            self._is_interruptible = self._is_working = False
            self.expect_queue()
            self._on_end()

    async def _work(
        self, number: int, model: ModelRef, left: OpenCalls | None
    ) -> tuple[ev.TurnEndReason, int, ev.Notice | None]:
        turn: Turn | AgentTurn | None = None
        notice: ev.Notice | None = None
        now = self._parts.clock.monotonic()
        if self._first_began is None:
            self._first_began = now
        time = time_of_turn(self._parts.limits, now - self._first_began)
        try:
            async with time.limit(self._parts.clock, self._cancel):
                await asyncio.to_thread(self._parts.ledger.require_root)
                if model.is_agent:
                    session = self._transcript.session
                    heard = session.heard | {model.model: session.heard.get(model.model, ())[:-1]}
                    chosen = session.agent_options.get(model.model, {})
                    agent = await self._parts.agents.connected(model.model, session.agent_sessions, heard, chosen)
                    turn = AgentTurn(number, model, self._parts, agent, self.queue)
                    reason = await turn.run()
                else:
                    provider = await self._providers.get(model)
                    usual = TurnRequests(context_manager=self._parts.context_manager, model=model, provider=provider)
                    turn = Turn(
                        number=number, parts=self._parts, usual=usual, queue=self.queue, provider_of=self._providers.get
                    )
                    reason = await turn.run(left)
        except asyncio.CancelledError:
            reason = "limit" if time.is_over else "interrupted"
            notice = time.notice(number, turn.failure if turn is not None else None)
        except StorageError:
            raise
        except AgentError as error:
            reason = "workspace_error" if isinstance(error, WorkspaceError) else "provider_error"
            notice = notice_of(error, number, model.model)
        except Exception as error:
            logger.exception("Turn %s failed unexpectedly", number)
            reason, notice = "internal_error", defect_notice(error, number)
        return reason, turn.answers if turn else 0, notice
