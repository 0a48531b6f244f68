"""An access token whenever one is wanted: kept in memory and in the keyring, renewed in time, once for all who ask.

A refresh token is good for one use, so one process at a time renews the tokens of an account.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError, ProviderError, SignedOutError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.providers.auth.keys import Entries, beside, delete_long, read_long, write_long
from desktop_agent.core.providers.auth.tokens import KeptTokens, Tokens
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder

if TYPE_CHECKING:
    from filelock import FileLock


@dataclass(frozen=True, slots=True)
class _Access:
    token: str = field(repr=False)
    expires_at: int | None = None
    """Seconds since 1970."""
    scopes: tuple[str, ...] = ()


class KeyringTokens:
    """The tokens of one account in the keyring: the refresh token in one entry, the access token in others.

    Each call goes through a thread of its own, as the keyring may ask the user.
    """

    def __init__(self, entries: Entries, name: str) -> None:
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


LIMIT_S = 120.0
"""How long another process is waited for. It may be asking the user for the keyring, and then the network."""

_LOOK_EVERY_S = 0.1


@asynccontextmanager
async def renewing(path: Path, clock: Clock) -> AsyncGenerator[None]:
    """Hold the lock at `path` for the length of the block. It goes away with its process.

    Raises `CredentialsError` when another process holds it for too long, or it cannot be made.
    """
    lock = await _lock_at(path)
    began = clock.monotonic()
    try:
        while not await _acquired(lock):
            if clock.monotonic() - began > LIMIT_S:
                raise CredentialsError(
                    "Another process has been renewing the sign-in for two minutes.",
                    hint="See whether it waits for the keyring, then try again.",
                )
            await clock.sleep(_LOOK_EVERY_S)
        yield
    finally:
        lock.release()


async def _lock_at(path: Path) -> "FileLock":
    def made() -> "FileLock":
        from filelock import FileLock  # slow, and of no use before a token is renewed

        make_private_folder(path.parent)
        # Of no thread: taken in one, released in another.
        return FileLock(path, timeout=0, mode=PRIVATE_FILE, thread_local=False)

    try:
        return await asyncio.to_thread(made)
    except OSError as error:
        raise _unusable(path, error) from error


async def _acquired(lock: "FileLock") -> bool:
    """Try once, in a thread, and return whether it worked. Being cancelled meanwhile leaves nothing held."""
    attempt = asyncio.ensure_future(asyncio.to_thread(_try, lock))
    try:
        return await asyncio.shield(attempt)
    except asyncio.CancelledError:
        await asyncio.gather(attempt, return_exceptions=True)  # a moment: nothing is waited for in there
        raise


def _try(lock: "FileLock") -> bool:
    from filelock import Timeout

    try:
        lock.acquire()
    except Timeout:
        return False
    except OSError as error:
        raise _unusable(Path(lock.lock_file), error) from error
    return True


def _unusable(path: Path, error: OSError) -> CredentialsError:
    return CredentialsError(
        "The sign-in cannot be renewed: its lock cannot be used.",
        hint="Check the application's data folder: `desktop-agent doctor`.",
        detail=f"{path}: {error}",
    )


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
