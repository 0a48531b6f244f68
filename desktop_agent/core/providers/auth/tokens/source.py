"""An access token whenever one is wanted: kept in memory, renewed in time, once for all who ask at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import timedelta
from typing import Protocol

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError, ProviderError, SignedOutError
from desktop_agent.core.providers.auth.tokens.granted import KeptTokens, Tokens

MARGIN = timedelta(minutes=2)
"""How long before its end an access token is renewed."""

SETTLED_S = 60.0
"""How long after a renewal a refusal means that renewing does not help."""

KEEP_AGAIN_S = 60.0
"""How long after tokens could not be kept that is tried again."""


class TokenSource(Protocol):
    """What a provider asks for the token of each request."""

    async def access_token(self) -> str:
        """Return a token that is good now.

        Raises `CredentialsError`, and `ProviderError` for what may pass by itself.
        """
        ...

    async def refused(self, token: str) -> str:
        """Return another token after the service refused `token`. Raises like `access_token`; ask once a request."""
        ...


class Renewal(Protocol):
    """How the tokens of one service are renewed."""

    @property
    def service(self) -> str:
        """Its name for people."""
        ...

    @property
    def how_to_sign_in(self) -> str:
        """What the user does when the sign-in is over, as a sentence."""
        ...

    async def renewed(self, tokens: Tokens) -> Tokens:
        """Return what the refresh token brings, which is used up then. Raises what a `TokenSource` raises.

        `SignedOutError` when it brings nothing any more.
        """
        ...

    def require_use(self, tokens: Tokens) -> None:
        """Raise `CredentialsError` when these tokens do not allow what they are for."""
        ...


class RenewingSource:
    """The tokens of one account. Belongs to one event loop; other processes may renew the same tokens."""

    def __init__(
        self,
        kept: KeptTokens,
        renewal: Renewal,
        *,
        clock: Clock,
        lock: Callable[[], AbstractAsyncContextManager[None]],
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`lock` keeps other processes from renewing meanwhile. `tell` hears when tokens could not be kept."""
        self._kept = kept
        self._renewal = renewal
        self._clock = clock
        self._lock = lock
        self._tell = tell
        self._tokens: Tokens | None = None
        self._keep_at: float | None = None
        """When to try again to keep the tokens; `None` when they are kept."""
        self._renewed_at: float | None = None
        self._one_at_a_time = asyncio.Lock()

    async def access_token(self) -> str:
        """Return a token that is good for a while, renewed when it is not.

        A renewal that fails for now leaves a token that is still good in use.
        """
        async with self._one_at_a_time:
            if self._tokens is None:
                self._tokens = await self._kept.load()
            tokens = self._tokens
            if tokens is None or not tokens.is_fresh(self._clock.now(), MARGIN) or self._is_time_to_keep():
                tokens = await self._renewed_in_time(tokens)
            self._renewal.require_use(tokens)
            return tokens.access

    async def refused(self, token: str) -> str:
        """Return another token, renewed unless that has happened since. Raises `SignedOutError` the second time."""
        async with self._one_at_a_time:
            if self._tokens is not None and self._tokens.access != token:
                return self._tokens.access
            if self._renewed_at is not None and self._clock.monotonic() - self._renewed_at < SETTLED_S:
                raise signed_out(self._renewal, "a token was refused right after it was renewed")
            tokens = await self._renew(token)
            self._renewal.require_use(tokens)
            return tokens.access

    async def _renewed_in_time(self, tokens: Tokens | None) -> Tokens:
        try:
            return await self._renew(None)
        except ProviderError:
            if tokens is not None and tokens.is_fresh(self._clock.now()):
                return tokens
            raise

    async def _renew(self, refused: str | None) -> Tokens:
        """Return fresh tokens that are not the `refused` one: those of another process, else renewed ones."""
        async with self._lock():
            current = await self._current()
            if current is None:
                raise signed_out(self._renewal, "no tokens are kept")
            if current.access == refused or not current.is_fresh(self._clock.now(), MARGIN):
                # Cancelled before the answer, the new refresh token would be lost, and the old one is used up.
                current = await _undisturbed(self._renewed(current))
            self._tokens = current
            return current

    async def _current(self) -> Tokens | None:
        """Return the newest tokens there are: those that could not be kept, else what is kept."""
        if self._keep_at is None:
            return await self._kept.load()
        assert self._tokens is not None
        await self._keep(self._tokens)
        return self._tokens

    def _is_time_to_keep(self) -> bool:
        return self._keep_at is not None and self._clock.monotonic() >= self._keep_at

    async def _renewed(self, current: Tokens) -> Tokens:
        try:
            tokens = await self._renewal.renewed(current)
        except SignedOutError:
            others = await self._kept_by_others(current)
            if others is not None:
                return others
            self._tokens, self._keep_at = None, None
            with suppress(CredentialsError):  # that it is over is what the user must know
                await self._kept.drop()
            raise
        self._tokens = tokens
        self._renewed_at = self._clock.monotonic()
        await self._keep(tokens)
        return tokens

    async def _kept_by_others(self, current: Tokens) -> Tokens | None:
        """Return what a program that knows nothing of our lock has renewed meanwhile, or `None`."""
        with suppress(CredentialsError):
            kept = await self._kept.load()
            if kept is not None and kept.access != current.access and kept.is_fresh(self._clock.now()):
                return kept
        return None

    async def _keep(self, tokens: Tokens) -> None:
        """Keep the tokens; when that fails they are used all the same, and tried to be kept the next time."""
        is_told = self._keep_at is not None
        try:
            await self._kept.keep(tokens)
        except CredentialsError as error:
            self._keep_at = self._clock.monotonic() + KEEP_AGAIN_S
            if not is_told:
                self._tell(f"The renewed sign-in with {self._renewal.service} could not be kept: {error}")
        else:
            self._keep_at = None


def signed_out(renewal: Renewal, detail: str) -> SignedOutError:
    """The sign-in is over."""
    return SignedOutError(
        f"You are not signed in with {renewal.service} any more.", hint=renewal.how_to_sign_in, detail=detail
    )


async def _undisturbed(work: Awaitable[Tokens]) -> Tokens:
    """Return what `work` returns; being cancelled waits for its end first."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise
