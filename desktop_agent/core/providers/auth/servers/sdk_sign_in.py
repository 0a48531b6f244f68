"""A sign-in with an MCP server by the SDK, which is imported for the first one, with what the keyring has for it."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.secret_headers import Keyring, read_secret_headers
from desktop_agent.core.mcp.sign_in import AskInBrowser, GrantedAccess, SignInRequest
from desktop_agent.core.providers.auth.keyring_calls import beside
from desktop_agent.core.providers.auth.servers.client_secret import read_client_secret
from desktop_agent.core.providers.auth.servers.kept_sign_in import KeptSignIn

_SDK = "desktop_agent.core.mcp.sdk.http.sign_in"
_SignIn = Callable[[SignInRequest, AskInBrowser], Awaitable[GrantedAccess]]


async def granted_by_user(
    keyring: Keyring, definition: ServerDefinition, kept: KeptSignIn, redirect: str, ask: AskInBrowser
) -> GrantedAccess:
    """Have the user sign in. Raises `ServerError`, `CredentialsError`, and what `ask` raises."""
    return await _granted(keyring, definition, kept, redirect, ask)


async def granted_to_client(keyring: Keyring, definition: ServerDefinition, kept: KeptSignIn) -> GrantedAccess:
    """Sign in as the client that the definition names, without the user. Raises `ServerError`, `CredentialsError`."""
    return await _granted(keyring, definition, kept, "", _nobody)


async def _granted(
    keyring: Keyring, definition: ServerDefinition, kept: KeptSignIn, redirect: str, ask: AskInBrowser
) -> GrantedAccess:
    address = definition.reached_by
    assert isinstance(address, Address)
    headers = await beside(lambda: read_secret_headers(keyring, definition))
    challenge = await beside(kept.read_challenge)
    before = await kept.tokens.load() if challenge else None
    request = SignInRequest(
        address=address,
        headers={**address.headers, **headers},
        redirect=redirect,
        client_secret=await beside(lambda: read_client_secret(keyring, definition)),
        granted=before.scopes if before is not None else frozenset(),
        challenge=challenge,
    )
    sdk = await asyncio.to_thread(importlib.import_module, _SDK)
    return await cast("_SignIn", sdk.sign_in)(request, ask)


async def _nobody(_page: str) -> Mapping[str, str]:
    raise ServerError("It wants a user to sign in, but its definition says that there is none.")
