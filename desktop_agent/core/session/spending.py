"""The limits of a session and of its turns in money, steps and time, and what happens at a limit.

At a limit, `SpendingGuard` asks the user, or stops the turn if there is none. Unknown costs are not counted.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from desktop_agent.core.approvals import Approvals
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import new_id
from desktop_agent.core.base.plain_text import money
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    Decision,
    ModelRef,
    ScopeOffer,
    SessionSummary,
    SpendingQuestion,
    Usage,
)
from desktop_agent.core.session.recorder import SessionState, day_of
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.store.digest import until_usd_on, usage_on

MAX_TIME: Final = "max_time"


class TurnLimits(Struct, frozen=True, kw_only=True):
    max_requests: int | None = None
    """How many requests one turn may send; `None` for no limit."""
    max_tokens: int | None = None
    """The most tokens of a single answer; `None` for the limit in the settings."""
    max_cost_usd: float | None = None
    """Once a turn has cost this many dollars, it sends no further request; `None` for no limit."""
    max_time_s: float | None = None
    """After this many seconds a turn is stopped, even in the middle of its work; `None` for no limit."""
    covers_all_turns: bool = False
    """Whether the limits of cost and time apply to the sum of all turns since the session was opened."""
    exits_on_tool_error: bool = False


class RunningTime(Struct):
    seconds: float | None
    limit_s: float | None
    of: str = "turn"
    is_over: bool = False

    def notice(self, turn: int, failure: ProviderError | None) -> ev.Notice | None:
        """Return the notice for a turn that ran out of time, else `None`. `failure` is the reason of its last retry."""
        if not self.is_over:
            return None
        tried = f"Its last request failed: {failure} " if failure is not None else ""
        return ev.Notice(
            level="error",
            code=MAX_TIME,
            title=f"The {self.of} was stopped after {self.limit_s:g} seconds, its time limit.",
            hint=f"{tried}Its changes so far are kept. Raise the time limit, or continue the session.",
            detail=failure.detail if failure is not None else "",
            turn=turn,
        )

    @asynccontextmanager
    async def limit(self, clock: Clock, stop: Callable[[], bool]) -> AsyncGenerator[None]:
        """Call `stop` if the block takes too long. `stop` returns whether it was the first to stop the turn."""
        if self.seconds is None:
            yield
            return
        watching = asyncio.create_task(self._watch(self.seconds, clock, stop), name="time limit")
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _watch(self, seconds: float, clock: Clock, stop: Callable[[], bool]) -> None:
        await clock.sleep(seconds)
        self.is_over = stop()


def time_of_turn(limits: TurnLimits, since_first_s: float) -> RunningTime:
    limit = limits.max_time_s
    if limit is None or not limits.covers_all_turns:
        return RunningTime(limit, limit)
    return RunningTime(max(0.0, limit - since_first_s), limit, of="run")


MAX_COST: Final = "max_cost"


class SpendingGuard(Struct, kw_only=True, eq=False):
    state: SessionState
    limits: TurnLimits
    settings: WorkspaceSettings
    approvals: Approvals
    is_attended: bool
    others: Callable[[], Sequence[SessionSummary]]
    log: EventLog
    clock: Clock
    before: Usage
    _unpriced: set[ModelRef] = set()

    async def why_stop(self, turn: int) -> ev.TurnEndReason | None:
        """Return why the turn must not ask the model again; `None` if it may. The user may be asked first."""
        if (reached := self._cost_reached(turn)) is not None:
            await self.log.record(reached)
            return "limit"
        answer = await self._held_answer(turn)
        while answer is None or isinstance(answer, Allowed):
            question = await self._question()
            if question is None:
                return None
            if not self.is_attended:
                until = " The next day begins at midnight UTC." if question.limit == "day_usd" else ""
                hint = f"The setting spending.{question.limit} says how much.{until}"
                title = _words(question)
                await self.log.record(ev.Notice(level="error", code=question.limit, title=title, hint=hint, turn=turn))
                return "limit"
            answer = await self._ask(turn, question)
        return "interrupted"

    async def is_limit_reached(self, turn: int) -> bool:
        return self._cost_reached(turn) is not None or await self._question() is not None

    async def warn_of_unknown_price(self, turn: int, usage: Usage, model: ModelRef) -> None:
        """Warn, once for each model, that cost limits do not apply because the price of the model is unknown."""
        spending = self.settings.current.spending
        limits = (self.limits.max_cost_usd, spending.session_usd, spending.day_usd)
        if usage.cost_usd is not None or model in self._unpriced or limits == (None, None, None):
            return
        self._unpriced.add(model)
        title = f"The price of {model.model} is not known, so cost limits do not apply to it."
        if model.is_agent:
            title = f"{model.name} does not tell what it costs, so cost limits do not apply to it."
        hint = "The cost of its requests is not counted. Limits on requests and time still apply."
        await self.log.record(ev.Notice(level="warning", code="unknown_price", title=title, hint=hint, turn=turn))

    @property
    def spent(self) -> Usage:
        return self.state.transcript.turns.usage

    def _cost_reached(self, turn: int) -> ev.Notice | None:
        turns, limits = self.state.transcript.turns, self.limits
        spent = (turns.usage - self.before if limits.covers_all_turns else turns.turn_usage).cost_usd or 0.0
        if (limit := limits.max_cost_usd) is None or spent < limit:
            return None
        what = "The run" if limits.covers_all_turns else "The turn"
        title = f"{what} has cost {money(spent)}, and its limit is {money(limit)}."
        hint = "Its changes so far are kept. Raise the cost limit, or continue the session."
        return ev.Notice(level="error", code=MAX_COST, title=title, hint=hint, turn=turn)

    async def _question(self) -> SpendingQuestion | None:
        spending, known, day = self.settings.current.spending, self.state.spending, day_of(self.clock.now())
        limit, spent = spending.session_usd, known.total_usd
        if limit is not None and spent >= max(limit, known.session_until_usd):
            return SpendingQuestion(
                limit="session_usd", day=day, limit_usd=limit, spent_usd=spent, until_usd=spent + limit
            )
        if (limit := spending.day_usd) is None:
            return None
        others = await asyncio.to_thread(self.others)
        spent = (known.usage_on(day) + usage_on(day, others)).cost_usd or 0.0
        if spent < max(limit, known.until_usd_on(day), until_usd_on(day, others)):
            return None
        return SpendingQuestion(limit="day_usd", day=day, limit_usd=limit, spent_usd=spent, until_usd=spent + limit)

    async def _ask(self, turn: int, question: SpendingQuestion) -> Decision:
        request = ApprovalRequest(
            call_id=new_id("q"),
            tool="",
            title=f"{_words(question)} Go on?",
            reason="",
            arguments_digest="",
            scopes=(ScopeOffer(scope="once", label=f"Go on for another {money(question.limit_usd)}"),),
            spending=question,
        )
        return await self.approvals.ask(turn, request)

    async def _held_answer(self, turn: int) -> Decision | None:
        """Return the user's answer to a spending question of an earlier process, if it resumed this turn."""
        for request in list(self.state.unfinished.asked.values()):
            held = self.approvals.held(request.call_id)
            if request.spending is not None and held is not None and held.decision is not None:
                await self.approvals.conclude(turn, request.call_id, held.decision)
                return held.decision
        return None


def _words(question: SpendingQuestion) -> str:
    spent, limit = money(question.spent_usd), money(question.limit_usd)
    if question.limit == "session_usd":
        return f"This conversation has cost {spent}, and its limit is {limit}."
    return f"Today's conversations have cost {spent}, and the limit of a day is {limit}."
