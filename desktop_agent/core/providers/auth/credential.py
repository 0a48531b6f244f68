"""Credentials for requests to an address: a key, a renewable token, or none."""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Protocol
from weakref import WeakKeyDictionary

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.vendors import KeyHeader
from desktop_agent.core.providers.auth.token_renewal import RenewingSource


class Credential(Protocol):
    """The credential of one account. Its `repr` never shows a secret."""

    async def headers(self) -> Mapping[str, str]:
        """Return the authentication headers of a request. Raises `CredentialsError` and `ProviderError`."""
        ...

    async def renew(self) -> bool:
        """Note that the address refused the credential. Return whether to try again. Raises `CredentialsError`."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secrets that were sent. They must not appear in any message."""
        ...


class KeyCredential:
    def __init__(self, key: str, *, header: KeyHeader = "bearer", key_hint: str = "") -> None:
        self._key = key.strip()
        self._header = header
        self._hint = key_hint

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self._key,)

    async def headers(self) -> Mapping[str, str]:
        """Return the header with the key. Raises `ProviderError` for a key that an HTTP header cannot hold."""
        if not (self._key and self._key.isascii() and self._key.isprintable() and " " not in self._key):
            raise ProviderError(
                "The key is not valid: it is empty or contains characters that keys do not have.",
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


_REMEMBERED = 10


class TokenCredential:
    """Bearer tokens of one account. Belongs to one event loop. Its `repr` shows no token."""

    def __init__(self, source: RenewingSource) -> None:
        self._source = source
        self._sent: deque[str] = deque(maxlen=_REMEMBERED)
        self._last: WeakKeyDictionary[asyncio.Task[object], str] = WeakKeyDictionary()
        """The last token that each task sent, so that a late refusal is not blamed on a newer token."""

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(self._sent)

    async def headers(self) -> Mapping[str, str]:
        token = await self._source.access_token()
        if token not in self._sent:
            self._sent.append(token)
        if (task := asyncio.current_task()) is not None:
            self._last[task] = token
        return {"Authorization": f"Bearer {token}"}

    async def renew(self) -> bool:
        """Renew the refused token, which the current task sent last. Raises like `headers`."""
        task = asyncio.current_task()
        refused = self._last.pop(task, None) if task is not None else None
        if refused is None:
            return False
        await self._source.refused(refused)
        return True
