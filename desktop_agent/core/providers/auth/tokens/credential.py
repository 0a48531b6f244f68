"""An access token as what tells an address who asks, with every request."""

import asyncio
from collections import deque
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from desktop_agent.core.providers.auth.tokens.source import TokenSource

_REMEMBERED = 10


class TokenCredential:
    """Tokens of one account, as a bearer. Belongs to one event loop. The representation shows none."""

    def __init__(self, source: TokenSource, headers: Mapping[str, str] | None = None) -> None:
        """`headers` go with every request besides."""
        self._source = source
        self._headers = dict(headers or {})
        self._sent: deque[str] = deque(maxlen=_REMEMBERED)
        self._last: WeakKeyDictionary[asyncio.Task[object], str] = WeakKeyDictionary()
        """What each task sent last: a request that was slow to be refused must not blame the token of another one."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The latest tokens that were sent; older ones are worth nothing any more."""
        return tuple(self._sent)

    async def headers(self) -> Mapping[str, str]:
        """Return what goes with a request of this task.

        Raises `CredentialsError`, and `ProviderError` for what may pass by itself.
        """
        token = await self._source.access_token()
        if token not in self._sent:
            self._sent.append(token)
        self._last[_this_task()] = token
        return {"Authorization": f"Bearer {token}", **self._headers}

    async def renew(self) -> bool:
        """Have the token that this task sent last renewed, as the address refused it. Raises like `headers`."""
        refused = self._last.pop(_this_task(), None)
        if refused is None:
            return False
        await self._source.refused(refused)
        return True


def _this_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None
    return task
