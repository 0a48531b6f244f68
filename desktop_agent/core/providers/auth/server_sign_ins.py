"""Sign-ins with MCP servers: credentials in the keyring, and what adding and removing a server keeps and forgets."""

import asyncio
import base64
import importlib
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, quote, urlsplit

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AgentError, CredentialsError, ServerError, UsageError
from desktop_agent.core.base.secrets import Keyring
from desktop_agent.core.base.web_address import address_of
from desktop_agent.core.mcp.client import (
    AskInBrowser,
    Challenge,
    GrantedAccess,
    ServerRegistration,
    SignInNeededError,
    SignInRequest,
)
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.definition_file import add_definitions, forget_secrets, read_secrets
from desktop_agent.core.mcp.trust import ToolTrust
from desktop_agent.core.providers.auth.browser_sign_in import Attempt, Browser, RedirectReceiver, code_from_browser
from desktop_agent.core.providers.auth.keys import (
    USE_ENVIRONMENT,
    SystemKeyStore,
    delete_long,
    in_daemon_thread,
    read_long,
    write_long,
)
from desktop_agent.core.providers.auth.token_renewal import (
    LONG_AGO,
    KeptSignIn,
    RefreshGrant,
    Renewal,
    RenewingSource,
    SignedOutError,
)
from desktop_agent.core.providers.auth.tokens import TokenEndpoint, Tokens


class ServerKeyring:
    def __init__(self, keys: SystemKeyStore | None = None, *, tell: Callable[[str], None] = lambda _: None) -> None:
        """Without `keys`, this machine's keyring is used. `tell` is called with the reason when a call waits long."""
        self._keys = keys or SystemKeyStore(tell=tell)

    def get(self, entry: str) -> str | None:
        with _in_our_words():
            return self._keys.get(entry)

    def set(self, entry: str, secret: str) -> None:
        with _in_our_words():
            self._keys.set(entry, secret)

    def delete(self, entry: str) -> None:
        with _in_our_words():
            self._keys.delete(entry)

    def require(self) -> None:
        report = self._keys.probe()
        if not report.is_usable:
            raise CredentialsError(report.problem, hint=_hint(report.hint))


@contextmanager
def _in_our_words() -> Generator[None]:
    try:
        yield
    except CredentialsError as error:
        raise CredentialsError(error.title, hint=_hint(error.hint), detail=error.detail) from None


def _hint(hint: str) -> str:
    return hint.replace(USE_ENVIRONMENT, "").strip()


def keep_client_secret(keyring: Keyring, definition: ServerDefinition, secret: str) -> None:
    write_long(keyring, _entry(definition), secret)


def read_client_secret(keyring: Keyring, definition: ServerDefinition) -> str:
    return read_long(keyring, _entry(definition)) or "" if _has_client(definition) else ""


def forget_client_secret(keyring: Keyring, definition: ServerDefinition) -> None:
    if _has_client(definition):
        delete_long(keyring, _entry(definition))


def _has_client(definition: ServerDefinition) -> bool:
    return isinstance(definition.reached_by, Address) and bool(definition.reached_by.client_id)


def _entry(definition: ServerDefinition) -> str:
    address = definition.reached_by
    assert isinstance(address, Address)
    client = blake2b(f"{address.client_id}\n{address.issuer}".encode(), digest_size=8).hexdigest()
    return f"mcp:{definition.name}@{address_of(address.url) or address.url}/client/{client}"


def kept_sign_in(keyring: Keyring, address: Address, data: Path, clock: Clock) -> KeptSignIn:
    return KeptSignIn(keyring, f"mcp:{address.url.partition('?')[0].rstrip('/')}", data, clock)


def tokens_of(granted: GrantedAccess, now: datetime) -> Tokens:
    expires_at = now + granted.expires_in if granted.expires_in is not None else None
    return Tokens(access=granted.access, refresh=granted.refresh, expires_at=expires_at, scopes=granted.scopes)


_SDK = "desktop_agent.core.mcp.sdk.oauth"
_SignIn = Callable[[SignInRequest, AskInBrowser], Awaitable[GrantedAccess]]


async def _nobody(_page: str) -> Mapping[str, str]:
    raise ServerError("It wants a user to sign in, but its definition says that there is none.")


async def granted(
    keyring: Keyring, definition: ServerDefinition, kept: KeptSignIn, redirect: str = "", ask: AskInBrowser = _nobody
) -> GrantedAccess:
    """Have the user sign in. Without `ask`, sign in as the client that the definition names.

    Raises `ServerError`, `CredentialsError`, and what `ask` raises.
    """
    address = definition.reached_by
    assert isinstance(address, Address)
    headers = await in_daemon_thread(lambda: read_secrets(keyring, definition))
    challenge = await kept.challenge()
    before = await kept.load() if challenge else None
    request = SignInRequest(
        address=address,
        headers={**address.headers, **headers},
        redirect=redirect,
        client_secret=await in_daemon_thread(lambda: read_client_secret(keyring, definition)),
        granted=before.scopes if before is not None else frozenset(),
        challenge=challenge,
    )
    sdk = await asyncio.to_thread(importlib.import_module, _SDK)
    return await cast("_SignIn", sdk.sign_in)(request, ask)


_OVER = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""Refusals after which only a new sign-in by the user helps: RFC 6749 5.2."""


def _refresh_grant(name: str, registration: ServerRegistration, clock: Clock) -> RefreshGrant:
    fields = {"client_id": registration.client_id}
    fields |= {"resource": registration.resource} if registration.resource else {}
    headers: dict[str, str] = {}
    secret = registration.client_secret or ""
    if registration.proof == "client_secret_post":
        fields["client_secret"] = secret
    elif registration.proof == "client_secret_basic":
        pair = f"{quote(registration.client_id, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    endpoint = TokenEndpoint(f"the MCP server {name}", registration.token_url, headers=headers)
    return RefreshGrant(endpoint, fields, how_to_sign_in=SignInNeededError(name).hint, clock=clock, over=_OVER)


class ClientRenewal(Renewal):
    first = Tokens(access="", expires_at=LONG_AGO)

    def __init__(self, keyring: Keyring, definition: ServerDefinition, kept: KeptSignIn, clock: Clock) -> None:
        super().__init__(f"the MCP server {definition.name}", SignInNeededError(definition.name).hint)
        self._keyring = keyring
        self._definition = definition
        self._kept = kept
        self._clock = clock

    async def renewed(self, tokens: Tokens) -> Tokens:
        return tokens_of(await granted(self._keyring, self._definition, self._kept), self._clock.now())


@contextmanager
def _as_server_errors(name: str) -> Generator[None]:
    try:
        yield
    except ServerError:
        raise
    except SignedOutError as error:
        raise SignInNeededError(name) from error
    except AgentError as error:
        raise ServerError(error.title, hint=error.hint, detail=error.detail) from error


class ServerTokens:
    def __init__(self, source: RenewingSource, name: str, *, asks_user: bool) -> None:
        self._source = source
        self._asks_user = asks_user
        self._name = name

    async def access_token(self) -> str:
        with _as_server_errors(self._name):
            return await self._source.access_token()

    async def refused(self, token: str) -> str:
        with _as_server_errors(self._name):
            return await self._source.refused(token)

    async def insufficient(self, token: str, challenge: Challenge) -> str:
        with _as_server_errors(self._name):
            kept = await self._source.kept.load()
            if kept is not None and kept.access != token:
                return await self._source.refused(token)
            if kept is not None and challenge.scopes <= kept.scopes:
                raise ServerError(
                    "It refuses this, although you allowed all that it asks for.",
                    hint="Your account there may lack a right. Signing in again does not help.",
                )
            await self._source.kept.keep_challenge(challenge.header)
            if not self._asks_user:
                return await self._source.refused(token)
        raise SignInNeededError(self._name, challenge.scopes)


class KeyringCredentials:
    def __init__(self, keyring: Keyring, data: Path, clock: Clock) -> None:
        self._keyring = keyring
        self._data = data
        self._clock = clock

    async def secrets(self, definition: ServerDefinition) -> Mapping[str, str]:
        """Return the secret headers or variables of a server. Raises `ServerError` when a value is missing."""
        with _as_server_errors(definition.name):
            return await in_daemon_thread(lambda: read_secrets(self._keyring, definition))

    async def tokens(self, definition: ServerDefinition) -> ServerTokens | None:
        """Return the tokens of the user's sign-in; `None` if there was none. Raises `ServerError`."""
        assert isinstance(definition.reached_by, Address)
        kept = kept_sign_in(self._keyring, definition.reached_by, self._data, self._clock)
        asks_user = definition.reached_by.grant != "client_credentials"
        if asks_user:
            with _as_server_errors(definition.name):
                registration = await kept.registration(ServerRegistration)
            if registration is None:
                return None
            renewal = _refresh_grant(definition.name, registration, self._clock)
        else:
            renewal = ClientRenewal(self._keyring, definition, kept, self._clock)
        return ServerTokens(RenewingSource(kept, renewal, clock=self._clock), definition.name, asks_user=asks_user)


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
