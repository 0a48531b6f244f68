"""The sign-in with an MCP server as the keyring has it: tokens, what renews them, what the server asked for since."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

import msgspec

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.learned import learned
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.mcp.secret_headers import Keyring
from desktop_agent.core.mcp.sign_in import GrantedAccess, ServerRegistration
from desktop_agent.core.providers.auth.keyring_calls import beside
from desktop_agent.core.providers.auth.tokens.granted import Tokens
from desktop_agent.core.providers.auth.tokens.keyring_tokens import KeyringTokens
from desktop_agent.core.providers.auth.tokens.long_entries import delete_long, read_long, write_long
from desktop_agent.core.providers.auth.tokens.renewal_lock import renewing


class KeptSignIn:
    """What the keyring has of the sign-in with one address; blocking calls raise `CredentialsError`."""

    def __init__(self, keyring: Keyring, address: Address, data: Path, clock: Clock) -> None:
        """`data` is the application's data folder, which has the locks."""
        self._keyring = keyring
        self._name = f"mcp:{address.url.partition('?')[0].rstrip('/')}"
        self._data = data
        self._clock = clock

    @property
    def tokens(self) -> KeyringTokens:
        """Where its tokens are."""
        return KeyringTokens(self._keyring, self._name)

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Keep everybody else, also other processes, from renewing or changing it."""
        digest = blake2b(self._name.encode(), digest_size=12).hexdigest()
        return renewing(self._data / "locks" / f"sign-in-{digest}.lock", self._clock)

    def read_registration(self) -> ServerRegistration | None:
        """Return the registration, or `None` without a sign-in. Blocks."""
        kept = read_long(self._keyring, f"{self._name}/registration")
        try:
            return msgspec.json.decode(kept, type=learned(ServerRegistration)) if kept is not None else None
        except msgspec.DecodeError:  # of another version: the user signs in anew
            return None

    def read_challenge(self) -> str:
        """Return the header with which the server asked for more than was granted, or nothing. Blocks."""
        return read_long(self._keyring, f"{self._name}/challenge") or ""

    def write_challenge(self, header: str) -> None:
        """Keep it for the next sign-in. Blocks."""
        write_long(self._keyring, f"{self._name}/challenge", header)

    async def keep(self, granted: GrantedAccess) -> None:
        """Keep what a sign-in brought, in place of the one before; what the server asked for is part of it."""
        async with self.lock():
            await self.tokens.drop()
            await beside(lambda: self._write(granted.registration))
            await self.tokens.keep(tokens_of(granted, self._clock.now()))

    async def keep_tokens(self, granted: GrantedAccess) -> None:
        """Keep the tokens alone, when others are got as they were; what the server asked for is asked for again."""
        async with self.lock():
            await self.tokens.keep(tokens_of(granted, self._clock.now()))

    async def forget(self) -> None:
        """Forget the sign-in. No error when there is none."""
        async with self.lock():
            await self.tokens.drop()
            await beside(self._delete)

    def _write(self, registration: ServerRegistration) -> None:
        entry = f"{self._name}/registration"
        write_long(self._keyring, entry, msgspec.json.encode(registration).decode())
        self._delete_challenge()

    def _delete(self) -> None:
        delete_long(self._keyring, f"{self._name}/registration")
        self._delete_challenge()

    def _delete_challenge(self) -> None:
        delete_long(self._keyring, f"{self._name}/challenge")


def tokens_of(granted: GrantedAccess, now: datetime) -> Tokens:
    """Return the tokens that a sign-in brought, with the time at which they end."""
    expires_at = now + granted.expires_in if granted.expires_in is not None else None
    return Tokens(access=granted.access, refresh=granted.refresh, expires_at=expires_at, scopes=granted.scopes)
