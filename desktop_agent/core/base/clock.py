"""Time as a dependency: the core asks a `Clock`, so tests decide what time it is and never really wait."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where the core gets the time from, and the only thing in it that may wait."""

    def now(self) -> datetime:
        """The current wall-clock time, in UTC, for people and for the journal."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back, for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`; cancelling the awaiting task ends the wait at once."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def is_over(ends_at: datetime, now: datetime) -> bool:
    """Whether a time has come. One without a time zone, as in a journal that another program wrote, is UTC."""
    return (ends_at if ends_at.tzinfo is not None else ends_at.replace(tzinfo=UTC)) <= now
