"""What tells an address who asks: a key, a token that is renewed, or nothing; as accounts and keys are now.

A conversation may stay open for days after its provider was built, so a credential is looked up again when its account,
or the account's key, has changed.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol
from weakref import WeakKeyDictionary

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import KeyHeader
from desktop_agent.core.providers.auth.token_renewal import TokenSource
from desktop_agent.core.system.private_files import FileStamp, is_unchanged


class Credential(Protocol):
    """Belongs to one account. Its representation never shows a secret."""

    async def headers(self) -> Mapping[str, str]:
        """Return what goes with a request. Raises `CredentialsError` and `ProviderError`."""
        ...

    async def renew(self) -> bool:
        """Note that the address refused it; return whether there is another to try. Raises `CredentialsError`."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown, in any message: everything that it has sent."""
        ...


class KeyCredential:
    """An API key. Only this one is sent, no credential that may lie around on the machine."""

    def __init__(self, key: str, *, header: KeyHeader = "bearer", key_hint: str = "") -> None:
        """`key_hint` tells the user where another key is entered."""
        self._key = key.strip()
        self._header = header
        self._hint = key_hint

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self._key,)

    async def headers(self) -> Mapping[str, str]:
        """Return the header with the key. Raises `ProviderError` for one that HTTP could not carry."""
        if not (self._key and self._key.isascii() and self._key.isprintable() and " " not in self._key):
            raise ProviderError(
                "The key is not a key: it is empty or contains characters that keys do not have.",
                fault="authentication",
                hint=self._hint,
            )
        return {"Authorization": f"Bearer {self._key}"} if self._header == "bearer" else {"x-api-key": self._key}

    async def renew(self) -> bool:
        return False


class NoCredential:
    secrets: tuple[str, ...] = ()

    async def headers(self) -> Mapping[str, str]:
        return {}

    async def renew(self) -> bool:
        return False


class Seen(Struct, frozen=True):
    accounts: FileStamp | None
    key_changes: int


class CurrentCredential:
    """A credential that is looked up again when its account, or the key of that, has changed.

    A change of a key by another process is not noticed: the keyring might ask the user with every request.
    """

    def __init__(
        self,
        account: Account,
        look: Callable[[], Seen],
        find_account: Callable[[], Awaitable[Account]],
        find_credential: Callable[[Account], Awaitable[Credential]],
    ) -> None:
        """`look` blocks for a moment; the other two raise an `AgentError` that says why there is nothing to find."""
        self.account = account
        self._look = look
        self._find_account = find_account
        self._find_credential = find_credential
        self._seen: Seen | None = None
        self._inner: Credential = NoCredential()
        self._earlier_secrets: tuple[str, ...] = ()

    async def look_up(self) -> None:
        """Find the account and its credential, if they may have changed. Raises `AgentError`."""
        now = await asyncio.to_thread(self._look)  # before: what changes meanwhile is noticed the next time
        seen = self._seen
        is_same_key = seen is not None and now.key_changes == seen.key_changes
        if seen is not None and is_same_key and is_unchanged(now.accounts, seen.accounts):
            return
        account = await self._find_account()
        if not is_same_key or account != self.account:
            found = await self._find_credential(account)
            self._earlier_secrets, self.account, self._inner = self.secrets, account, found
        self._seen = now

    @property
    def secrets(self) -> tuple[str, ...]:
        return (*self._earlier_secrets, *self._inner.secrets)

    async def headers(self) -> Mapping[str, str]:
        await self.look_up()
        return await self._inner.headers()

    async def renew(self) -> bool:
        return await self._inner.renew()


_REMEMBERED = 10


class TokenCredential:
    """Tokens of one account, as a bearer. Belongs to one event loop. The representation shows none."""

    def __init__(self, source: TokenSource, headers: Mapping[str, str] | None = None) -> None:
        self._source = source
        self._headers = dict(headers or {})
        self._sent: deque[str] = deque(maxlen=_REMEMBERED)
        self._last: WeakKeyDictionary[asyncio.Task[object], str] = WeakKeyDictionary()
        """What each task sent last: a request that was slow to be refused must not blame the token of another one."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The latest tokens that were sent."""
        return tuple(self._sent)

    async def headers(self) -> Mapping[str, str]:
        """Return what goes with a request of this task. Raises `CredentialsError` and `ProviderError`."""
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
