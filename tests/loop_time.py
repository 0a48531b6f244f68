"""Time that passes on a test's command, for limits that must not expire too early."""

import asyncio
from collections.abc import Callable
from contextvars import Context


class LoopTime:
    """Controls the running loop's clock from now on. Create it before any limit starts."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._now, self._call_at = loop.time, loop.call_at
        self._passed_s = 0.0
        self._waits: set[int] = set()
        """The limits in whole seconds that were started."""
        self._news = asyncio.Event()
        # Each test has a loop of its own, so no other test sees this.
        loop.time = self._time  # pyright: ignore[reportAttributeAccessIssue]
        loop.call_at = self._watched_call_at  # pyright: ignore[reportAttributeAccessIssue]

    async def let_pass(self, limit_s: int) -> None:
        """Wait for a limit of `limit_s` seconds, and let it expire."""
        while limit_s not in self._waits:
            self._news.clear()
            await self._news.wait()
        self._passed_s += limit_s

    def _time(self) -> float:
        return self._now() + self._passed_s

    def _watched_call_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self._waits.add(round(when - self._time()))
        self._news.set()
        return self._call_at(when, callback, *args, context=context)
