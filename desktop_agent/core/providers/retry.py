"""When to send a request again, and how long to wait first. Pure: the turn does the waiting."""

from collections.abc import Callable

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError

_SPREAD = 0.1
"""Added to what a server asked for, at most: sessions that were refused together should not come back together."""


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """Exponential backoff with jitter. Times in seconds; a try is one request, the first one included."""

    max_tries: int = 5
    base_s: float = 1.0
    cap_s: float = 30.0
    retry_after_cap_s: float = 60.0

    def should_retry(self, error: ProviderError, attempt: int) -> bool:
        """Whether to try again after try number `attempt` (from 1) failed with `error`."""
        return error.is_transient and attempt < self.max_tries

    def delay_s(self, attempt: int, error: ProviderError, random: Callable[[], float]) -> float:
        """Return how long to wait after try number `attempt` (from 1). `random` returns a number from 0 to below 1.

        What the server asked for is honoured, up to `retry_after_cap_s`. If it asked for nothing, the wait doubles from
        `base_s` to `cap_s`, and is somewhere between half of that and all of it.
        """
        asked = error.retry_after_s
        if asked is not None and asked > 0:
            return min(asked * (1 + _SPREAD * random()), self.retry_after_cap_s)
        doublings = min(max(attempt, 1) - 1, 64)  # 2.0**1024 would overflow
        full = min(self.base_s * 2.0**doublings, self.cap_s)
        return full * (1 + random()) / 2
