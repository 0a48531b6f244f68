"""The wait of a turn before it sends a request again: told to the user, who can skip it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from desktop_agent.core import events as ev
from desktop_agent.core.clock import Clock
from desktop_agent.core.errors import ProviderError
from desktop_agent.core.event_log import EventLog
from desktop_agent.core.providers.retry import RetryPolicy
from desktop_agent.core.transcript import RETRYING


@dataclass(slots=True)
class Retries:
    """Waits for the turns of one session, which run one at a time."""

    policy: RetryPolicy
    log: EventLog
    clock: Clock
    random: Random = field(default_factory=Random)
    _wait: asyncio.Timeout | None = field(default=None, init=False)
    """What ends the wait that is on."""

    async def wait(self, turn: int, attempt: int, error: ProviderError) -> None:
        """Tell that try number `attempt` (from 1) failed, and return when the next one is due or the user skips.

        Raises `error` when it makes no sense to try again.
        """
        if not self.policy.should_retry(error, attempt):
            raise error
        delay_s = self.policy.delay_s(attempt, error, self.random.random)
        hint = f"Trying again in {delay_s:.0f} s (try {attempt + 1} of {self.policy.max_tries})."
        await self.log.record(
            ev.Notice(level="warning", code=RETRYING, title=error.title, hint=hint, detail=error.detail, turn=turn)
        )
        self.log.emit(ev.RetryWaitReported(turn=turn, is_waiting=True))
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(None) as self._wait:
                    await self.clock.sleep(delay_s)
        finally:
            self._wait = None
            self.log.emit(ev.RetryWaitReported(turn=turn, is_waiting=False))

    def skip(self) -> None:
        """End the wait that is on, if there is one."""
        # The wait is given up before it has ended: a second call would find a timeout that cannot be changed any more.
        wait, self._wait = self._wait, None
        if wait is not None:
            wait.reschedule(asyncio.get_running_loop().time())
