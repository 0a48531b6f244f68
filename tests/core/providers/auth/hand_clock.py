import asyncio
from datetime import UTC, datetime, timedelta


class HandClock:
    """A clock that stands still until a test moves it; then it wakes the sleepers whose time has passed."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 21, 21, 37, tzinfo=UTC)
        self._passed_s = 0.0
        self._moved = asyncio.Event()

    def now(self) -> datetime:
        return self._now + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        return self._passed_s

    async def sleep(self, seconds: float) -> None:
        until = self._passed_s + seconds
        while self._passed_s < until:
            self._moved.clear()
            await self._moved.wait()

    def move(self, seconds: float) -> None:
        self._passed_s += seconds
        self._moved.set()
