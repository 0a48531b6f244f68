"""Tokens in the operating system's keyring: the refresh token in one entry, the access token with its end in others."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from desktop_agent.core.base.learned import learned
from desktop_agent.core.providers.auth.keyring_calls import beside
from desktop_agent.core.providers.auth.tokens.granted import Tokens
from desktop_agent.core.providers.auth.tokens.long_entries import Entries, delete_long, read_long, write_long


@dataclass(frozen=True, slots=True)
class _Access:
    """What is kept of an access token, as JSON."""

    token: str = field(repr=False)
    expires_at: int | None = None
    """Seconds since 1970."""
    scopes: tuple[str, ...] = ()


class KeyringTokens:
    """The tokens of one account. Each call goes through a thread of its own, as the keyring may ask the user."""

    def __init__(self, entries: Entries, name: str) -> None:
        """`name` is what the account's entries begin with."""
        self._entries = entries
        self._refresh = f"{name}/refresh"
        self._access = f"{name}/access"

    async def load(self) -> Tokens | None:
        """Return what is kept, or `None`. With a refresh token alone, the access token counts as expired."""
        return await beside(self._load)

    async def keep(self, tokens: Tokens) -> None:
        """Keep `tokens`: the refresh token first, since the one before it is worth nothing any more."""
        await beside(lambda: self._keep(tokens))

    async def drop(self) -> None:
        """Forget both."""
        await beside(self._drop)

    def _load(self) -> Tokens | None:
        refresh = read_long(self._entries, self._refresh)
        access = _decoded(read_long(self._entries, self._access))
        if access is None:
            return Tokens(access="", refresh=refresh, expires_at=LONG_AGO) if refresh is not None else None
        expires_at = datetime.fromtimestamp(access.expires_at, UTC) if access.expires_at is not None else None
        return Tokens(access=access.token, refresh=refresh, expires_at=expires_at, scopes=frozenset(access.scopes))

    def _keep(self, tokens: Tokens) -> None:
        if tokens.refresh is not None:
            write_long(self._entries, self._refresh, tokens.refresh)
        expires_at = int(tokens.expires_at.timestamp()) if tokens.expires_at is not None else None
        access = _Access(tokens.access, expires_at, tuple(sorted(tokens.scopes)))
        write_long(self._entries, self._access, msgspec.json.encode(access).decode())

    def _drop(self) -> None:
        delete_long(self._entries, self._access)
        delete_long(self._entries, self._refresh)


LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""When a token ended that is not there."""


def _decoded(kept: str | None) -> _Access | None:
    if kept is None:
        return None
    try:
        return msgspec.json.decode(kept, type=learned(_Access))
    except msgspec.DecodeError:  # of another version: the refresh token brings another one
        return None
