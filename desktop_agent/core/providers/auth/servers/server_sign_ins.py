"""Signs the user in with MCP servers, and out: the browser, the SDK and the keyring together."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import cast

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.secret_headers import read_secret_headers
from desktop_agent.core.mcp.sign_in import AskInBrowser, GrantedAccess
from desktop_agent.core.providers.auth.patience import beside
from desktop_agent.core.providers.auth.servers.server_keyring import ServerKeyring
from desktop_agent.core.providers.auth.servers.server_tokens import KeptSignIn
from desktop_agent.core.providers.auth.sign_in.attempt import Attempt
from desktop_agent.core.providers.auth.sign_in.flow import Browser, code_from_browser
from desktop_agent.core.providers.auth.sign_in.redirect import RedirectReceiver
from desktop_agent.core.providers.auth.tokens.granted import Tokens

_SDK = "desktop_agent.core.mcp.sdk.sign_in"
_SignIn = Callable[[Address, Mapping[str, str], str, AskInBrowser], Awaitable[GrantedAccess]]


class ServerSignIns:
    """The sign-ins of one user with MCP servers. Belongs to one event loop."""

    def __init__(self, keyring: ServerKeyring, data: Path, clock: Clock) -> None:
        """`data` is the application's data folder."""
        self._keyring = keyring
        self._data = data
        self._clock = clock

    async def sign_in(self, definition: ServerDefinition, browser: Browser) -> None:
        """Have the user sign in, and keep what that brings.

        Raises `UsageError` for a server without a sign-in of its own, `CredentialsError` and `ServerError`. Being
        cancelled leaves everything as it was.
        """
        address = _address(definition)
        if any(name.lower() == "authorization" for name in (*address.headers, *address.secret_headers)):
            raise UsageError(
                f"{definition.name} has a credential already: its header Authorization.",
                hint="To sign in instead, remove it and add it again without that header.",
            )
        await beside(self._keyring.require)  # before the user goes to the browser
        secrets = await beside(lambda: read_secret_headers(self._keyring, definition))
        sdk = await asyncio.to_thread(importlib.import_module, _SDK)
        # The state is the SDK's, made and checked there; the path is one that nobody else knows either.
        receiver = RedirectReceiver(f"/sign-in/{Attempt.new().state}", state=None)
        async with receiver:

            async def ask(page: str) -> Mapping[str, str]:
                return await code_from_browser(definition.name, page, receiver, browser, self._clock)

            work = cast("_SignIn", sdk.sign_in)
            granted = await work(address, {**address.headers, **secrets}, receiver.address, ask)
        kept = self._kept(address)
        async with kept.lock():
            await kept.tokens.drop()
            await beside(lambda: kept.write_registration(granted.registration))
            await kept.tokens.keep(self._tokens(granted))

    async def sign_out(self, definition: ServerDefinition) -> None:
        """Forget what the sign-in brought. No error when there is none. Raises `CredentialsError`."""
        kept = self._kept(_address(definition))
        async with kept.lock():
            await kept.tokens.drop()
            await beside(kept.delete_registration)

    def _kept(self, address: Address) -> KeptSignIn:
        return KeptSignIn(self._keyring, address, self._data, self._clock)

    def _tokens(self, granted: GrantedAccess) -> Tokens:
        expires_at = self._clock.now() + granted.expires_in if granted.expires_in is not None else None
        return Tokens(access=granted.access, refresh=granted.refresh, expires_at=expires_at, scopes=granted.scopes)


def _address(definition: ServerDefinition) -> Address:
    if not isinstance(definition.reached_by, Address):
        raise UsageError(f"{definition.name} is started here, so there is nobody to sign in with.")
    return definition.reached_by
