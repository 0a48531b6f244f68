"""What goes with a request as accounts and keys are now: a conversation may stay open for days after it was built."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from desktop_agent.core.models.account import Account
from desktop_agent.core.providers.http.credential import Credential
from desktop_agent.core.system.private_files import FileStamp, is_unchanged


class Seen(Struct, frozen=True):
    """What a credential depends on, without the credential itself."""

    accounts: FileStamp | None
    key_changes: int
    """How often this process changed the account's key."""


class CredentialLookup(Struct, frozen=True, eq=False):
    """Where an account and its credential are found. Each raises `AgentError` that says why there is none."""

    look: Callable[[], Seen]
    """Blocks, for a moment."""
    account: Callable[[], Awaitable[Account]]
    credential: Callable[[Account], Awaitable[Credential]]


async def current_credential(lookup: CredentialLookup) -> "tuple[Account, CurrentCredential]":
    """Return an account as it is now, with its credential. Raises what `lookup` raises."""
    seen = await asyncio.to_thread(lookup.look)  # before: what changes meanwhile is then noticed
    account = await lookup.account()
    return account, CurrentCredential(lookup, seen, account, await lookup.credential(account))


class CurrentCredential:
    """A credential that is looked up anew when its account, or the key of that, has changed.

    An account that was taken out, or signed out, is used no more, and a key that was replaced is not sent again. What
    another process does to a key alone is not noticed: the keyring might ask the user with every request.
    """

    def __init__(self, lookup: CredentialLookup, seen: Seen, account: Account, first: Credential) -> None:
        """`account` and `first` were found after what was `seen`."""
        self._lookup = lookup
        self._seen = seen
        self._account: Account = account
        self._inner = first
        self._secrets: tuple[str, ...] = ()
        """Of those before."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Everything that was sent."""
        return (*self._secrets, *self._inner.secrets)

    async def headers(self) -> Mapping[str, str]:
        """Return what goes with a request. Raises what its lookup raises."""
        now = await asyncio.to_thread(self._lookup.look)
        is_same_key = now.key_changes == self._seen.key_changes
        if not (is_same_key and is_unchanged(now.accounts, self._seen.accounts)):
            account: Account = await self._lookup.account()
            if not is_same_key or account != self._account:
                found = await self._lookup.credential(account)
                self._secrets = self.secrets
                self._account = account
                self._inner = found
            self._seen = now
        return await self._inner.headers()

    async def renew(self) -> bool:
        """Take note that the address refused it, and return whether there is another to try now."""
        return await self._inner.renew()
