"""When a turn ends although the model would go on: how much it may ask, cost and take."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol import events as ev

MAX_TIME: Final = "max_time"
"""The code of the notice that a turn took as long as it may."""


class TurnLimits(Struct, frozen=True, kw_only=True):
    """The limits of every turn of a session."""

    max_requests: int | None = None
    """How many requests one turn may send; None for no limit."""
    max_tokens: int | None = None
    """The longest single answer; None for what the settings say."""
    max_cost_usd: float | None = None
    """A turn that has cost so many dollars sends no further request; None for no limit."""
    max_time_s: float | None = None
    """A turn is stopped in the middle of what it does after so many seconds; None for no limit."""
    covers_all_turns: bool = False
    """Whether cost and time are those of all turns since the session was opened, together, and not of each."""
    exits_on_tool_error: bool = False


class RunningTime(Struct):
    """The time that a turn has."""

    seconds: float | None
    limit_s: float | None
    """What the user allowed: the same, or what several turns together may take."""
    of: str = "turn"
    is_over: bool = False
    """Whether the turn was stopped because it took longer."""

    def notice(self, turn: int, failure: ProviderError | None) -> ev.Notice | None:
        """Return what the user should know of a turn that was stopped; None when its time was not over.

        `failure` is why its last request failed, if it was trying again when it was stopped.
        """
        if not self.is_over:
            return None
        tried = f"Its last request failed: {failure} " if failure is not None else ""
        return ev.Notice(
            level="error",
            code=MAX_TIME,
            title=f"The {self.of} was stopped after {self.limit_s:g} seconds, which is as long as it may take.",
            hint=f"{tried}What it did until then is kept. Allow it more time, or go on with the session.",
            detail=failure.detail if failure is not None else "",
            turn=turn,
        )

    @asynccontextmanager
    async def limit(self, clock: Clock, stop: Callable[[], bool]) -> AsyncGenerator[None]:
        """Call `stop` when the body takes longer. It says whether that stopped the turn, which nobody else had."""
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


class TimeAllowance:
    """How long the turns of a session may take: each of them, or all together from the first on."""

    def __init__(self, limits: TurnLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._began: float | None = None

    def next_turn(self) -> RunningTime:
        """Return the time of a turn that starts now."""
        limit, now = self._limits.max_time_s, self._clock.monotonic()
        if self._began is None:
            self._began = now
        if limit is None or not self._limits.covers_all_turns:
            return RunningTime(limit, limit)
        return RunningTime(max(0.0, self._began + limit - now), limit, of="run")
