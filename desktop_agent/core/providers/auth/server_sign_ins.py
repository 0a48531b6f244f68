"""Signs the user in with MCP servers, and out; adds servers to the settings, and removes them."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AgentError, CredentialsError, UsageError
from desktop_agent.core.base.secrets import Keyring
from desktop_agent.core.mcp.client import GrantedAccess
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.definition_file import add_definitions, forget_secrets
from desktop_agent.core.mcp.trust import ToolTrust
from desktop_agent.core.providers.auth.browser_sign_in import Attempt, Browser, RedirectReceiver, code_from_browser
from desktop_agent.core.providers.auth.keys import in_daemon_thread
from desktop_agent.core.providers.auth.server_credentials import (
    ServerKeyring,
    forget_client_secret,
    granted,
    keep_client_secret,
    kept_sign_in,
    tokens_of,
)
from desktop_agent.core.providers.auth.token_renewal import KeptSignIn

_REGISTERED_PATH = "/callback"


class ServerSignIns:
    def __init__(self, keyring: ServerKeyring, data: Path, clock: Clock) -> None:
        self._keyring = keyring
        self._data = data
        self._clock = clock

    async def sign_in(self, definition: ServerDefinition, browser: Browser) -> None:
        """Have the user sign in, and store the result. Raises `UsageError`, `CredentialsError` and `ServerError`."""
        address = _address(definition)
        if any(name.lower() == "authorization" for name in (*address.headers, *address.secret_headers)):
            raise UsageError(
                f"{definition.name} has a credential already: its header Authorization.",
                hint="To sign in instead, remove it and add it again without that header.",
            )
        await in_daemon_thread(self._keyring.require)  # before the user goes to the browser
        kept = self._kept(address)
        if address.grant == "client_credentials":
            access = await granted(self._keyring, definition, kept)
            async with kept.lock():
                await kept.keep(tokens_of(access, self._clock.now()))
        else:
            access = await self._by_browser(definition, address, kept, browser)
            await kept.begin(access.registration, tokens_of(access, self._clock.now()))

    async def sign_out(self, definition: ServerDefinition) -> None:
        await self._kept(_address(definition)).forget()

    async def forget(self, definition: ServerDefinition) -> None:
        """Remove all keyring entries of a server. Raises `CredentialsError`."""
        await in_daemon_thread(lambda: forget_secrets(self._keyring, definition))
        await in_daemon_thread(lambda: forget_client_secret(self._keyring, definition))
        if isinstance(definition.reached_by, Address):
            await self.sign_out(definition)

    async def _by_browser(
        self, definition: ServerDefinition, address: Address, kept: KeptSignIn, browser: Browser
    ) -> GrantedAccess:
        # The state is the SDK's, made and checked there. The path is one that no other program knows, unless it is
        # registered: then only the answer with that state is taken.
        path = _REGISTERED_PATH if address.client_id else f"/sign-in/{Attempt.new().state}"
        receiver = RedirectReceiver(path, state=None, port=address.callback_port)
        async with receiver:

            async def ask(page: str) -> Mapping[str, str]:
                if address.client_id:
                    receiver.expect(parse_qs(urlsplit(page).query)["state"][-1])  # RFC 6749 10.12
                return await code_from_browser(definition.name, page, receiver, browser, self._clock)

            return await granted(self._keyring, definition, kept, receiver.address, ask)

    def _kept(self, address: Address) -> KeptSignIn:
        return kept_sign_in(self._keyring, address, self._data, self._clock)


def _address(definition: ServerDefinition) -> Address:
    if not isinstance(definition.reached_by, Address):
        raise UsageError(f"{definition.name} is started here, so there is nobody to sign in with.")
    return definition.reached_by


def define_server(path: Path, definition: ServerDefinition, keyring: Keyring, client_secret: str = "") -> None:
    """Define a server and store its client secret, or do neither. Blocks. Raises like `add_definitions`."""
    is_kept = False

    def keep() -> None:
        nonlocal is_kept
        if client_secret:
            keep_client_secret(keyring, definition, client_secret)
            is_kept = True

    try:
        add_definitions(path, (definition,), keyring, keep)
    except AgentError:
        if is_kept:
            with suppress(CredentialsError):
                forget_client_secret(keyring, definition)
        raise


async def forget_server(definition: ServerDefinition, sign_ins: ServerSignIns, trust: ToolTrust) -> None:
    await asyncio.to_thread(trust.forget, definition)
    await sign_ins.forget(definition)
