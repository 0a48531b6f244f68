"""A valid access token on demand: kept in memory and in the keyring, and renewed in time.

A refresh token can be used only once, so one process at a time renews the tokens of an account.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError, ProviderError, SignedOutError
from desktop_agent.core.base.secrets import Discreet, Keyring
from desktop_agent.core.providers.auth.keys import (
    delete_long,
    in_daemon_thread,
    read_long,
    read_record,
    write_long,
    write_record,
)
from desktop_agent.core.providers.auth.tokens import RefusedGrantError, TokenEndpoint, Tokens, read_grant
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.system.processes.child import unhurried

T = TypeVar("T")


class _Access(Discreet, frozen=True):
    SHOWN = ("expires_at", "scopes")

    token: str
    expires_at: int | None = None
    """In seconds since 1970."""
    scopes: tuple[str, ...] = ()


class KeptSignIn:
    """One sign-in in the keyring: its tokens, and what signing in once gave. Methods raise `CredentialsError`."""

    def __init__(self, keyring: Keyring, name: str, data: Path, clock: Clock) -> None:
        """`data` is the application's data folder."""
        self._keyring = keyring
        self._clock = clock
        self._refresh = f"{name}/refresh"
        self._access = f"{name}/access"
        self._registration = f"{name}/registration"
        self._challenge = f"{name}/challenge"
        digest = blake2b(name.encode(), digest_size=12).hexdigest()  # names may contain what file names must not
        self.lock_path = data / "locks" / f"sign-in-{digest}.lock"

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Hold the lock that keeps others, including other processes, from changing the sign-in."""
        return renewing(self.lock_path, self._clock)

    async def begin(self, registration: object, tokens: Tokens) -> None:
        """Store a new sign-in instead of the earlier one."""

        def write() -> None:
            self._drop()
            write_record(self._keyring, self._registration, registration)
            delete_long(self._keyring, self._challenge)
            self._keep(tokens)

        async with self.lock():
            await in_daemon_thread(write)

    async def forget(self) -> None:
        def delete() -> None:
            self._drop()
            delete_long(self._keyring, self._registration)
            delete_long(self._keyring, self._challenge)

        async with self.lock():
            await in_daemon_thread(delete)

    async def registration(self, kind: type[T]) -> T | None:
        return await in_daemon_thread(lambda: read_record(self._keyring, self._registration, kind))

    async def challenge(self) -> str:
        """Return the header with which a server asked for more scopes; empty if it did not."""
        return await in_daemon_thread(lambda: read_long(self._keyring, self._challenge)) or ""

    async def keep_challenge(self, header: str) -> None:
        await in_daemon_thread(lambda: write_long(self._keyring, self._challenge, header))

    async def load(self) -> Tokens | None:
        """Return the stored tokens, or `None`. A missing access token counts as expired."""
        return await in_daemon_thread(self._load)

    async def keep(self, tokens: Tokens) -> None:
        """Store `tokens`: the refresh token first, because the previous one cannot be used again."""
        await in_daemon_thread(lambda: self._keep(tokens))

    async def drop(self) -> None:
        """Remove the tokens."""
        await in_daemon_thread(self._drop)

    def _drop(self) -> None:
        delete_long(self._keyring, self._access)
        delete_long(self._keyring, self._refresh)

    def _load(self) -> Tokens | None:
        refresh = read_long(self._keyring, self._refresh)
        access = read_record(self._keyring, self._access, _Access)
        if access is None:
            return Tokens(access="", refresh=refresh, expires_at=LONG_AGO) if refresh is not None else None
        expires_at = datetime.fromtimestamp(access.expires_at, UTC) if access.expires_at is not None else None
        return Tokens(access=access.token, refresh=refresh, expires_at=expires_at, scopes=frozenset(access.scopes))

    def _keep(self, tokens: Tokens) -> None:
        if tokens.refresh is not None:
            write_long(self._keyring, self._refresh, tokens.refresh)
        expires_at = int(tokens.expires_at.timestamp()) if tokens.expires_at is not None else None
        access = _Access(tokens.access, expires_at, tuple(sorted(tokens.scopes)))
        write_record(self._keyring, self._access, access)


LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)

LIMIT_S = 120.0

_LOOK_EVERY_S = 0.1


@asynccontextmanager
async def renewing(path: Path, clock: Clock) -> AsyncGenerator[None]:
    """Hold the lock at `path` during the block. It is released if the process ends. Raises `CredentialsError`."""
    take, release = await asyncio.to_thread(_lock_at, path)
    began = clock.monotonic()
    try:
        while not await unhurried(asyncio.to_thread(take)):
            if clock.monotonic() - began > LIMIT_S:
                raise CredentialsError(
                    "Another process has been renewing the sign-in for two minutes.",
                    hint="See whether it waits for the keyring, then try again.",
                )
            await clock.sleep(_LOOK_EVERY_S)
        yield
    finally:
        release()


def _lock_at(path: Path) -> tuple[Callable[[], bool], Callable[[], None]]:
    """Return functions that try once to take the lock, and that release it. They block and raise `CredentialsError`."""
    from filelock import FileLock  # slow, and of no use before a token is renewed

    try:
        make_private_folder(path.parent)
        # Not bound to a thread: taken in one, released in another.
        lock = FileLock(path, timeout=0, mode=PRIVATE_FILE, thread_local=False)
    except OSError as error:
        raise _unusable(path, error) from error

    def take() -> bool:
        try:
            lock.acquire()
        except TimeoutError:
            return False
        except OSError as error:
            raise _unusable(path, error) from error
        return True

    return take, lock.release


def _unusable(path: Path, error: OSError) -> CredentialsError:
    return CredentialsError(
        "The sign-in cannot be renewed: its lock cannot be used.",
        hint="Check the application's data folder: `desktop-agent doctor`.",
        detail=f"{path}: {error}",
    )


MARGIN = timedelta(minutes=2)

SETTLED_S = 60.0
"""If a token is refused within this many seconds after a renewal, renewing again does not help."""

KEEP_AGAIN_S = 60.0


class Renewal(ABC):
    first: Tokens | None = None
    """The tokens to renew if none are stored yet; `None` if the user has to sign in first."""

    def __init__(self, service: str, how_to_sign_in: str) -> None:
        self.service = service
        self.how_to_sign_in = how_to_sign_in

    @abstractmethod
    async def renewed(self, tokens: Tokens) -> Tokens:
        """Exchange the refresh token, which cannot be used again. Raises like a `RenewingSource`."""

    def require_use(self, tokens: Tokens) -> None:  # noqa: B027 - the tokens of most services allow all that is needed
        """Raise `CredentialsError` if the tokens lack necessary rights."""

    def signed_out(self, detail: str) -> SignedOutError:
        title = f"You are not signed in with {self.service} any more."
        return SignedOutError(title, hint=self.how_to_sign_in, detail=detail)


class RefreshGrant(Renewal):
    def __init__(
        self,
        endpoint: TokenEndpoint,
        fields: Mapping[str, str],
        *,
        how_to_sign_in: str,
        clock: Clock,
        over: Collection[str],
    ) -> None:
        """The errors in `over` end the sign-in."""
        super().__init__(endpoint.service, how_to_sign_in)
        self._endpoint = endpoint
        self._fields = fields
        self._clock = clock
        self._over = over

    async def renewed(self, tokens: Tokens) -> Tokens:
        if not tokens.refresh:
            raise self.signed_out("there is no refresh token")
        fields = {"grant_type": "refresh_token", "refresh_token": tokens.refresh, **self._fields}
        try:
            body = await self._endpoint.post(fields)
        except RefusedGrantError as error:
            if error.code in self._over:
                raise self.signed_out(str(error)) from None
            title = f"{self.service} did not renew the sign-in."
            raise CredentialsError(title, hint=f"Try again. {self.how_to_sign_in}", detail=str(error)) from None
        return read_grant(body, self.service).tokens(self._clock.now(), before=tokens)


class RenewingSource:
    """The tokens of one account, renewed when due. Belongs to one event loop; other processes may renew them, too."""

    def __init__(
        self,
        kept: KeptSignIn,
        renewal: Renewal,
        *,
        clock: Clock,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`tell` is called if tokens could not be stored."""
        self.kept = kept
        self._renewal = renewal
        self._clock = clock
        self._tell = tell
        self._tokens: Tokens | None = None
        self._keep_at: float | None = None
        """When to try again to store the tokens; `None` if they are stored."""
        self._renewed_at: float | None = None
        self._one_at_a_time = asyncio.Lock()

    async def access_token(self) -> str:
        """Return a valid token. If renewing fails, a token that is still valid is used.

        Raises `CredentialsError`, `SignedOutError` and `ProviderError`.
        """
        async with self._one_at_a_time:
            if self._tokens is None:
                self._tokens = await self.kept.load()
            tokens = self._tokens
            if tokens is None or not tokens.is_fresh(self._clock.now(), MARGIN) or self._is_time_to_keep():
                tokens = await self._renewed_in_time(tokens)
            self._renewal.require_use(tokens)
            return tokens.access

    async def refused(self, token: str) -> str:
        """Return another token, from the store or renewed. Raises `SignedOutError` if a renewed one is refused, too."""
        async with self._one_at_a_time:
            if self._tokens is not None and self._tokens.access != token:
                return self._tokens.access
            if self._renewed_at is not None and self._clock.monotonic() - self._renewed_at < SETTLED_S:
                raise self._renewal.signed_out("a token was refused right after it was renewed")
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
        async with self.kept.lock():
            current = await self._current() or self._renewal.first
            if current is None:
                raise self._renewal.signed_out("no tokens are kept")
            if current.access == refused or not current.is_fresh(self._clock.now(), MARGIN):
                # Cancelling before the answer would lose the new refresh token, and the old one is used up.
                current = await unhurried(self._renewed(current))
            self._tokens = current
            return current

    async def _current(self) -> Tokens | None:
        if self._keep_at is None:
            return await self.kept.load()
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
            with suppress(CredentialsError):  # what matters to the user is that the sign-in is over
                await self.kept.drop()
            raise
        self._tokens = tokens
        self._renewed_at = self._clock.monotonic()
        await self._keep(tokens)
        return tokens

    async def _kept_by_others(self, current: Tokens) -> Tokens | None:
        """Return tokens that a program without the lock has renewed meanwhile, or `None`."""
        with suppress(CredentialsError):
            kept = await self.kept.load()
            if kept is not None and kept.access != current.access and kept.is_fresh(self._clock.now()):
                return kept
        return None

    async def _keep(self, tokens: Tokens) -> None:
        is_told = self._keep_at is not None
        try:
            await self.kept.keep(tokens)
        except CredentialsError as error:
            self._keep_at = self._clock.monotonic() + KEEP_AGAIN_S
            if not is_told:
                self._tell(f"The renewed sign-in with {self._renewal.service} could not be kept: {error}")
        else:
            self._keep_at = None
