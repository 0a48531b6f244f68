"""Sub-agents: sessions that calls of a session start, and their connections to their parents (ADR 30).

A sub-agent's session has its own journal. Its changes and questions are recorded in its parent's, for the call that
started it; its requests count as its parent's spending. It ends with its call, or in the background with its turn.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.approvals import Approvals
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AgentError, StorageError, ToolError
from desktop_agent.core.base.ids import CallId, SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import (
    Aborted,
    ApprovalRequest,
    Decision,
    JsonObject,
    ModelRef,
    TextBlock,
    ToolResult,
)
from desktop_agent.core.session.recorder import Sink
from desktop_agent.core.session.spending import SpendingGuard
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.execution.runtime import CallOutcome, KeepPartial
from desktop_agent.core.tools.gate import Case
from desktop_agent.core.tools.tool import STOPPED_KEY, TaskOrder
from desktop_agent.core.transcript import BACKGROUND_KEY

WAITS: Final = "Waits until another sub-agent ends."
HAS_ENDED: Final = "Has ended. The agent reads its report before its next step."
_BEGUN: Final = (
    "The sub-agent works in the background. Its report comes to you as a message. Go on with what does not depend on "
    "it; if there is nothing else to do, end your answer: you are asked again when a report has come."
)
_NOTHING_SAID: Final = "The sub-agent ended without a report."
_WITH_TURN: Final = "The turn ended before the sub-agent was done."
_ENDS: dict[ev.TurnEndReason, str] = {
    "interrupted": "The user stopped the sub-agent before it was done.",
    "max_turns": "The sub-agent was stopped at its limit of requests before it was done.",
    "limit": "The sub-agent was stopped at a limit before it was done.",
    "approval_required": "The sub-agent needed an approval, and nobody could give it.",
    "refused": "The model declined to answer the sub-agent.",
}


class ChildSession(Protocol):
    """The part of `Session` that is used here. Its parts include the sub-agents."""

    @property
    def id(self) -> SessionId: ...

    def submit(self, op: ops.Op) -> None: ...

    def submit_text(self, text: str) -> None: ...

    async def run(self) -> None: ...


class Parent(Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a parent that a sub-agent's session uses, and the call it works for."""

    turn: int
    call_id: CallId
    on_behalf_of: tuple[int, CallId]
    """The turn and the call of the conversation for which changes are recorded: this call, or one above it."""
    role: str
    title: str
    """The role, and what the sub-agent is to do, in a few words."""
    log: EventLog
    approvals: Approvals
    cases: dict[CallId, Case]
    """What the parent's open questions are about, so that an edited command is judged as the sub-agent's."""
    spending: SpendingGuard
    budget: "Budget"
    unsettled: list[ev.UsageReported] = field(default_factory=list[ev.UsageReported])
    """The usage of the sub-agent that is not yet recorded in the parent's journal."""

    async def settle(self) -> None:
        while self.unsettled:
            usage = self.unsettled.pop(0)
            await self.log.record(replace(usage, seq=0, turn=self.turn, call_id=self.call_id, is_aside=True))


class Budget(Struct, eq=False):
    """Whether the sub-agents of a turn may ask the model. The user is asked once for all of them."""

    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _stopped: tuple[int, ev.TurnEndReason] | None = None

    async def why_stop(self, parent: Parent) -> ev.TurnEndReason | None:
        async with self._asking:
            await parent.settle()
            if self._stopped is not None and self._stopped[0] == parent.turn:
                return self._stopped[1]
            reason = await parent.spending.why_stop(parent.turn)
            self._stopped = (parent.turn, reason) if reason is not None else None
            return reason


class SubagentSpending(SpendingGuard, kw_only=True, eq=False):
    """Applies the limits of the parent, which has paid for everything."""

    parent: Parent

    async def why_stop(self, turn: int) -> ev.TurnEndReason | None:
        return await self.parent.budget.why_stop(self.parent)

    async def is_limit_reached(self, turn: int) -> bool:
        await self.parent.settle()
        return await self.parent.spending.is_limit_reached(self.parent.turn)


class SubagentApprovals(Approvals):
    """Asks in the parent's session, one question at a time. Both journals record the question and the answer."""

    def __init__(self, log: EventLog, parent: Parent, cases: dict[CallId, Case]) -> None:
        super().__init__(log)
        self._record = log.record
        self._parent = parent
        self._cases = cases
        self._one_at_a_time = asyncio.Lock()

    async def ask(
        self,
        turn: int,
        request: ApprovalRequest,
        confirm: Callable[[Decision], Awaitable[Decision]] | None = None,
        *,
        is_recorded: bool = False,
    ) -> Decision:
        parent = self._parent
        decision: Decision = Aborted(reason="The sub-agent was stopped before an answer came.")
        async with self._one_at_a_time:
            if not is_recorded:
                await self._record(ev.ApprovalRequested(turn=turn, request=request))
            if (case := self._cases.get(request.call_id)) is not None:
                parent.cases[parent.call_id] = case
            try:
                asker = " › ".join(filter(None, (parent.title, request.subagent)))
                asked = replace(request, call_id=parent.call_id, subagent=asker)
                decision = await parent.approvals.ask(parent.turn, asked, confirm)
                return decision
            finally:
                parent.cases.pop(parent.call_id, None)
                await self.conclude(turn, request.call_id, decision)


class _Work:
    """One sub-agent, as its parent knows it."""

    def __init__(self, parent: Parent, order: TaskOrder) -> None:
        self.parent = parent
        self.order = order
        self.session: ChildSession | None = None
        self.is_stopped = False
        self.said = ""
        self.note = ""
        """What to add to its report after its end."""
        self.ended: asyncio.Future[ev.TurnEnded | None] = asyncio.get_running_loop().create_future()
        """The end of its turn; `None` if it could not begin."""
        self._failure = ""
        self._doing = ""

    def hear(self, event: ev.Event) -> None:
        match event:
            case ev.MessageDone(content=content):
                text = "\n\n".join(block.text for block in content if isinstance(block, TextBlock))
                self.said = text.strip() or self.said
            case ev.ToolCallStarted(call=call, title=title):
                self.tell(f"{call.name}  {title}")
            case ev.ModelRequestReported(state="sent", purpose="turn"):
                self.tell("")
            case ev.UsageReported():
                self.parent.unsettled.append(event)
            case ev.Notice(level="error", title=title):
                self._failure = title
            case ev.TurnEnded() if not self.ended.done():
                self.ended.set_result(event)
            case ev.PromptRejected() if not self.ended.done():
                self.ended.set_result(None)
            case _:
                pass

    def tell(self, doing: str) -> None:
        if doing != self._doing:
            self._doing = doing
            parent = self.parent
            parent.log.emit(ev.ToolProgress(turn=parent.turn, call_id=parent.call_id, name="task", message=doing))

    def stop(self) -> None:
        self.is_stopped = True
        if self.session is not None:
            self.session.submit(ops.Interrupt())

    def outcome(self, ended_by: str = "") -> CallOutcome:
        """Return the result. `ended_by` says what ended it before it was done."""
        end = self.ended.result() if self.ended.done() else None
        metadata: JsonObject = {"session_id": self.session.id if self.session is not None else ""}
        if not ended_by and end is not None and end.reason == "completed":
            return CallOutcome(ToolResult(content=f"{self.said or _NOTHING_SAID}{self.note}", metadata=metadata))
        reason = "interrupted" if self.is_stopped else end.reason if end is not None else "internal_error"
        words = ended_by or _ENDS.get(reason) or f"The sub-agent failed: {self._failure or reason}"
        said = f"\nUntil then it had said:\n{self.said}" if self.said else ""
        result = ToolResult(
            content=f"{words} Check what it has done before you rely on it.{self.note}{said}",
            is_error=True,
            error_type="recoverable",
            metadata=metadata | ({STOPPED_KEY: True} if reason == "interrupted" else {}),
        )
        return CallOutcome(result, is_unanswered=reason == "approval_required")


class Places:
    """The places of one level: for the sub-agents of a conversation, or for those of all its sub-agents."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._working = 0
        self._waiting: dict[_Work, asyncio.Future[None]] = {}
        """Those that wait for a place, in the order in which they came."""

    @cached_property
    def below(self) -> "Places":
        """The places of the next level. They are not shared with this one, whose sub-agents wait for those below."""
        return Places(self._most)

    @asynccontextmanager
    async def taken(self, work: _Work) -> AsyncGenerator[None]:
        while self._working >= max(1, self._most()) and not work.is_stopped:
            work.tell(WAITS)
            self._waiting[work] = asyncio.get_running_loop().create_future()
            try:
                await self._waiting[work]
            finally:
                self._waiting.pop(work, None)
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            if self._waiting:
                self.wake(next(iter(self._waiting)))

    def wake(self, work: _Work) -> None:
        waiting = self._waiting.pop(work, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


class _Background(Struct, frozen=True):
    work: _Work
    task: asyncio.Task[CallOutcome]
    began: float


class NewSubagent(Struct, frozen=True, eq=False):
    session: ChildSession
    """Not running yet."""
    model: ModelRef
    conclude: Callable[[], Awaitable[str]] | None = None
    """Called once the session has ended; returns what to add to the report."""
    preface: str = ""
    """Text in front of its task."""


OpenSubagent = Callable[[Parent, TaskOrder, Sink], Awaitable[NewSubagent]]
"""Makes the session of a sub-agent. Raises `AgentError`."""
MakeParent = Callable[[int, CallId, TaskOrder], Parent]


class Subagents:
    def __init__(self, make_parent: MakeParent, open_session: OpenSubagent, places: Places, clock: Clock) -> None:
        self._make_parent = make_parent
        self._open = open_session
        self._places = places
        self._clock = clock
        self._works: dict[CallId, _Work] = {}
        self._background: dict[CallId, _Background] = {}
        """The calls of the running turn that have their result, and whose sub-agents have not reported."""
        self._changed = asyncio.Event()

    def stop(self, call_id: CallId) -> None:
        """Stop the sub-agent of this call, if it still works or waits. Its call ends with what it has said."""
        if (work := self._works.get(call_id)) is not None:
            work.stop()
            self._places.wake(work)

    async def run(self, turn: int, call_id: CallId, order: TaskOrder, keep_partial: KeepPartial) -> CallOutcome:
        """Carry out one call. If cancelled, its session has ended before the cancellation is raised."""
        work = self._works[call_id] = _Work(self._make_parent(turn, call_id, order), order)
        if order.is_background:
            task = asyncio.create_task(self._carry_out_behind(call_id, work), name=f"background sub-agent {call_id}")
            self._background[call_id] = _Background(work, task, self._clock.monotonic())
            return CallOutcome(ToolResult(content=_BEGUN, metadata={BACKGROUND_KEY: True}))
        try:
            await self._carry_out(call_id, work)
        except asyncio.CancelledError:
            if work.said or work.note:
                keep_partial(ToolResult(content=f"{work.said}{work.note}"))
            raise
        return work.outcome()

    # -- in the background --

    @property
    def are_in_background(self) -> bool:
        return bool(self._background)

    @property
    def have_reports(self) -> bool:
        return any(one.task.done() for one in self._background.values())

    def wake(self) -> None:
        """End the wait of `wait`."""
        self._changed.set()

    async def wait(self) -> None:
        """Return when a sub-agent in the background may have ended, or `wake` was called."""
        await self._changed.wait()
        self._changed.clear()

    async def report(self) -> bool:
        """Record the results of those that have ended; return whether one needed an answer and had no user to ask."""
        ended = [(call_id, one) for call_id, one in self._background.items() if one.task.done()]
        outcomes = [(call_id, one, one.task.result()) for call_id, one in ended]
        for call_id, one, outcome in outcomes:
            await self._record_end(call_id, one, outcome)
        return any(outcome.is_unanswered for _, _, outcome in outcomes)

    async def end(self) -> None:
        """End those in the background, because the turn ends, and record what they have said."""
        left = dict(self._background)
        for one in left.values():
            one.task.cancel()
        if left:
            await asyncio.wait({one.task for one in left.values()})
        for call_id, one in left.items():
            is_done = not one.task.cancelled()
            await self._record_end(call_id, one, one.task.result() if is_done else one.work.outcome(_WITH_TURN))

    async def _record_end(self, call_id: CallId, one: _Background, outcome: CallOutcome) -> None:
        parent, result = one.work.parent, outcome.result
        ended = ev.SubagentEnded(
            turn=parent.turn,
            call_id=call_id,
            state="failed" if result.is_error else "completed",
            result=result,
            duration_s=round(self._clock.monotonic() - one.began, 3),
        )
        await parent.log.record(ended)
        self._background.pop(call_id, None)

    async def _carry_out_behind(self, call_id: CallId, work: _Work) -> CallOutcome:
        try:
            await self._carry_out(call_id, work)
            return work.outcome()
        except ToolError as error:
            return CallOutcome(ToolResult(content=str(error), is_error=True, error_type="recoverable"))
        finally:
            work.tell(HAS_ENDED)
            self._changed.set()

    # -- one sub-agent --

    async def _carry_out(self, call_id: CallId, work: _Work) -> None:
        """Raises `ToolError` if the session could not be made."""
        try:
            async with self._places.taken(work):
                if not work.is_stopped:
                    await self._run_session(work)
        except StorageError:
            raise
        except AgentError as error:
            raise ToolError(f"The sub-agent was not started: {error}") from error
        finally:
            del self._works[call_id]

    async def _run_session(self, work: _Work) -> None:
        parent = work.parent
        new = await self._open(parent, work.order, work.hear)
        session = work.session = new.session
        running = asyncio.create_task(session.run(), name=f"sub-agent {parent.call_id}")
        try:
            started = ev.SubagentStarted(
                turn=parent.turn, call_id=parent.call_id, session_id=session.id, role=parent.role, model=new.model
            )
            await parent.log.record(started)
            session.submit_text(f"{new.preface}\n\n{work.order.prompt}".strip())
            if work.is_stopped:  # while it was being opened
                work.stop()
            await asyncio.wait({work.ended, running}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            session.submit(ops.Shutdown())
            await unhurried(self._end(running, work, new))

    async def _end(self, running: asyncio.Task[None], work: _Work, new: NewSubagent) -> None:
        await running
        await work.parent.settle()
        if new.conclude is not None:
            work.note = f"\n{await new.conclude()}"
