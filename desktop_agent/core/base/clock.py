"""Time as a dependency: the core uses a `Clock`, so that tests control the time and never really wait."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The time in UTC, for users and for the journal."""
        ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None:
        """Cancelling the awaiting task ends the wait at once."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def is_over(ends_at: datetime, now: datetime) -> bool:
    """A time without a zone, as in another program's journal, counts as UTC."""
    return (ends_at if ends_at.tzinfo is not None else ends_at.replace(tzinfo=UTC)) <= now
