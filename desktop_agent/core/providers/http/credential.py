"""What tells an address who asks: a key, a token that is renewed, or nothing."""

from collections.abc import Mapping
from typing import Protocol

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.vendors import KeyHeader


class Credential(Protocol):
    """Belongs to one account. Its representation never shows a secret."""

    async def headers(self) -> Mapping[str, str]:
        """Return what goes with a request. Raises `CredentialsError` or `ProviderError` when there is none."""
        ...

    async def renew(self) -> bool:
        """Take note that the address refused it, and return whether there is another to try now.

        Raises `CredentialsError` when the user has to sign in again.
        """
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
        """The key."""
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
        """Return that there is no other."""
        return False


class NoCredential:
    """For a server that asks for none."""

    secrets: tuple[str, ...] = ()

    async def headers(self) -> Mapping[str, str]:
        """Return nothing."""
        return {}

    async def renew(self) -> bool:
        """Return that there is no other."""
        return False
