"""The wait before a turn or a summary sends its request again: shown to the user, who can skip it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.providers.provider import RetryPolicy
from desktop_agent.core.transcript import RETRYING


@dataclass(slots=True)
class Retries:
    """Waits for the turns of one session, and for the summaries beside them."""

    policy: RetryPolicy
    log: EventLog
    clock: Clock
    random: Random = field(default_factory=Random)
    _waits: set[asyncio.Timeout] = field(default_factory=set[asyncio.Timeout], init=False)
    """What ends the waits that are on."""

    async def wait(self, turn: int, attempt: int, error: ProviderError) -> None:
        """Tell that try number `attempt` (from 1) failed, and return when the next one is due or the user skips.

        Raises `error` when it makes no sense to try again.
        """
        if not self.policy.should_retry(error, attempt):
            raise error
        delay_s = self.policy.delay_s(attempt, error, self.random.random)
        again = f"Trying again in {delay_s:.0f} s (try {attempt + 1} of {self.policy.max_tries})."
        hint = f"{error.hint} {again}".strip()
        await self.log.record(
            ev.Notice(level="warning", code=RETRYING, title=error.title, hint=hint, detail=error.detail, turn=turn)
        )
        self.log.emit(ev.RetryWaitReported(turn=turn, is_waiting=True, delay_s=delay_s))
        limit = asyncio.timeout(None)
        try:
            with suppress(TimeoutError):
                async with limit:
                    self._waits.add(limit)
                    await self.clock.sleep(delay_s)
        finally:
            self._waits.discard(limit)
            self.log.emit(ev.RetryWaitReported(turn=turn, is_waiting=False))

    def skip(self) -> None:
        """End the waits that are on."""
        # They are given up before they have ended: a second call would find timeouts that cannot be changed any more.
        waits, self._waits = self._waits, set()
        for wait in waits:
            wait.reschedule(asyncio.get_running_loop().time())
