"""Signs accounts in and out: with ChatGPT, whose plan requests then count against, and with OpenRouter, for a key."""

import asyncio
import base64
import binascii
import os
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import (
    CredentialsError,
    ProviderError,
    SignedOutError,
    UnsafeSettingsError,
    UsageError,
)
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.secrets import Discreet
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.anthropic_profiles import read_profile
from desktop_agent.core.providers.auth.browser_sign_in import (
    Attempt,
    Browser,
    RedirectReceiver,
    code_from_browser,
    is_same,
)
from desktop_agent.core.providers.auth.credential import TokenCredential
from desktop_agent.core.providers.auth.keys import SystemKeyStore, entry_of, in_daemon_thread
from desktop_agent.core.providers.auth.token_renewal import KeptSignIn, RefreshGrant, RenewingSource
from desktop_agent.core.providers.auth.tokens import RefusedGrantError, TokenEndpoint, Tokens, read_grant
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder


class ChatGptService(Struct, frozen=True, kw_only=True):
    """Where and as what to sign in with ChatGPT: https://developers.openai.com/siwc/token-sharing-open-source."""

    name: str = "ChatGPT"
    authorize_url: str = "https://auth.openai.com/api/accounts/authorize"
    token_url: str = "https://auth.openai.com/api/accounts/oauth/token"  # noqa: S105 - an address
    issuer: str = "https://auth.openai.com"
    resource: str = "https://api.openai.com/v1"
    first_client_id: str = "dynamic_agent_client"
    """The shared client ID for the first sign-in of an account. The answer brings the account's own ID."""
    agent_name: str = "Desktop Agent"
    redirect_path: str = "/auth/callback"
    scopes: tuple[str, ...] = (
        "openid", "profile", "email", "offline_access", "resource.invoke", "chatgpt.tokens.use.direct",
    )  # fmt: skip
    required_scopes: frozenset[str] = frozenset({"chatgpt.tokens.use.direct"})


class OpenRouterService(Struct, frozen=True, kw_only=True):
    """Where to sign in with OpenRouter: https://openrouter.ai/docs/use-cases/oauth-pkce."""

    name: str = "OpenRouter"
    authorize_url: str = "https://openrouter.ai/auth"
    keys_url: str = "https://openrouter.ai/api/v1/auth/keys"
    redirect_host: Literal["localhost", "127.0.0.1"] = "localhost"


CHATGPT = ChatGptService()
OPENROUTER = OpenRouterService()


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The data of an account's first sign-in, stored beside its tokens. It contains no secret."""

    client_id: str
    subject: str
    email: str = ""


_LOCK_TIMEOUT_S = 10.0
_PREFIX = "urn:uuid:"


def host_id(folder: Path) -> str:
    """Return the random name of this installation, made once for all processes. Blocks. Raises `CredentialsError`."""
    from filelock import FileLock, Timeout  # slow, and of no use before a sign-in

    path = folder / "host-id"
    try:
        make_private_folder(folder)
        with FileLock(folder / ".host-id.lock", timeout=_LOCK_TIMEOUT_S, mode=PRIVATE_FILE):
            kept = _kept(path)
            if kept is None:
                kept = uuid.uuid4().urn
                write_atomically(path, f"{kept}\n".encode(), mode=PRIVATE_FILE)
            return kept
    except (OSError, Timeout) as error:
        raise CredentialsError(
            "The name of this installation could not be kept, which the sign-in needs.",
            hint="Check the application's data folder: `desktop-agent doctor`.",
            detail=f"{path}: {error}",
        ) from error


def _kept(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="ascii").strip()
        return uuid.UUID(text.removeprefix(_PREFIX)).urn if text.startswith(_PREFIX) else None
    except (FileNotFoundError, ValueError):  # of UnicodeDecodeError too
        return None


_SKEW = timedelta(minutes=5)


class _Claims(Discreet, frozen=True):
    SHOWN = ("iss", "sub", "aud", "exp", "azp", "email")

    iss: str
    sub: str
    aud: str | list[str]
    exp: float
    nonce: str
    azp: str | None = None
    email: str = ""


def _registration(service: ChatGptService, attempt: Attempt, client_id: str, token: str, now: datetime) -> Registration:
    """Return the registration of the user in the identity token. Raises `CredentialsError` for another sign-in's token.

    The signature is not checked, because the token comes straight from the endpoint: OpenID Connect Core 3.1.3.7, 6.
    """
    claims = _claims(token, service.name)
    audience = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    party = claims.azp if claims.azp is not None or len(audience) > 1 else client_id
    problems = (
        ("another issuer", claims.iss == service.issuer),
        ("another application", client_id in audience and party == client_id),
        ("another sign-in", is_same(claims.nonce, attempt.nonce)),
        ("expired", now.timestamp() < claims.exp + _SKEW.total_seconds()),
        ("nobody", bool(claims.sub)),
    )
    for problem, is_right in problems:
        if not is_right:
            raise _not_for_us(service.name, problem)
    return Registration(client_id=client_id, subject=claims.sub, email=claims.email)


def _claims(token: str, service: str) -> _Claims:
    parts = token.split(".")
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)) if len(parts) == 3 else b""
        return msgspec.json.decode(payload, type=learned(_Claims))
    except (msgspec.DecodeError, binascii.Error, ValueError):
        raise _not_for_us(service, "malformed") from None


def _not_for_us(service: str, problem: str) -> CredentialsError:
    return CredentialsError(
        f"The identity that {service} sent does not belong to this sign-in. Nothing was saved.",
        hint="Sign in again. If this happens again, do not use this network.",
        detail=f"identity token: {problem}",
    )


@contextmanager
def _explained_refusals(service: str) -> Generator[None]:
    try:
        yield
    except RefusedGrantError as error:
        raise CredentialsError(
            f"{service} refused to finish the sign-in.", hint="Sign in again, or use an API key.", detail=str(error)
        ) from None
    except ProviderError as error:
        raise CredentialsError(error.title, hint=error.hint, detail=error.detail) from None


# https://developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery
_OVER = frozenset({
    "invalid_grant", "invalid_refresh_token", "token_expired", "refresh_token_expired", "refresh_token_invalidated",
    "refresh_token_reused",
})  # fmt: skip
"""The errors that end a sign-in. After any other error, the refresh token can be tried again."""


async def sign_in_with_chatgpt(
    browser: Browser,
    *,
    host_id: str,
    clock: Clock,
    earlier: Registration | None = None,
    service: ChatGptService = CHATGPT,
) -> tuple[Registration, Tokens]:
    """Have the user sign in, and return the account's registration and tokens. Nothing is stored here.

    `earlier` is the registration of an account that signs in again. Raises `CredentialsError`.
    """
    attempt = Attempt.new()
    receiver = RedirectReceiver(service.redirect_path, state=attempt.state)
    async with receiver:
        redirect = receiver.address
        address = _address(service, attempt, redirect, host_id, earlier)
        answer = await code_from_browser(service.name, address, receiver, browser, clock)
    client_id = _issued(service, answer.get("client_id"), earlier)
    fields = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": answer["code"],
        "redirect_uri": redirect,
        "code_verifier": attempt.verifier,
        "resource": service.resource,
    }
    with _explained_refusals(service.name):
        grant = read_grant(await TokenEndpoint(service.name, service.token_url).post(fields), service.name)
    registration = _registration(service, attempt, client_id, grant.id_token or "", clock.now())
    if earlier is not None and registration.subject != earlier.subject:
        raise CredentialsError(
            f"You signed in with a different {service.name} account.",
            hint="Choose the right account in the browser, or sign in with a new account here.",
        )
    tokens = grant.tokens(clock.now(), scopes=frozenset(service.scopes))
    _require_plan(service, tokens)
    return registration, tokens


class ChatGptRenewal(RefreshGrant):
    def __init__(self, client_id: str, *, clock: Clock, service: ChatGptService = CHATGPT) -> None:
        super().__init__(
            TokenEndpoint(service.name, service.token_url),
            {"client_id": client_id, "resource": service.resource},
            how_to_sign_in="Sign in again: in Settings, or with `desktop-agent auth sign-in openai`.",
            clock=clock,
            over=_OVER,
        )
        self._chatgpt = service

    def require_use(self, tokens: Tokens) -> None:
        _require_plan(self._chatgpt, tokens)


def _address(
    service: ChatGptService, attempt: Attempt, redirect: str, host_id: str, earlier: Registration | None
) -> str:
    fields = {
        "client_id": earlier.client_id if earlier is not None else service.first_client_id,
        "ext_agent_host_id": host_id,
        "response_type": "code",
        "redirect_uri": redirect,
        "scope": " ".join(service.scopes),
        "resource": service.resource,
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": attempt.challenge,
        "code_challenge_method": "S256",
    }
    if earlier is None:
        fields["agent_name_hint"] = service.agent_name
    elif earlier.email:
        fields["login_hint"] = earlier.email
    return f"{service.authorize_url}?{urlencode(fields)}"


def _issued(service: ChatGptService, client_id: str | None, earlier: Registration | None) -> str:
    known = earlier.client_id if earlier is not None else None
    client_id = client_id or known
    if not client_id or client_id == service.first_client_id or known not in (None, client_id):
        raise CredentialsError(
            f"{service.name} did not register this application for your account.",
            hint="Sign in again, or use an API key.",
        )
    return client_id


def _require_plan(service: ChatGptService, tokens: Tokens) -> None:
    if missing := service.required_scopes - tokens.scopes:
        raise CredentialsError(
            f"{service.name} does not allow this application to use your plan.",
            hint="Sign in again and allow the use of the plan, or use an API key.",
            detail=f"not granted: {', '.join(sorted(missing))}",
        )


class _KeyAnswer(Discreet, frozen=True):
    key: Annotated[str, msgspec.Meta(min_length=8, max_length=1_000, pattern=r"^[\x21-\x7e]+$")]


async def sign_in_with_openrouter(browser: Browser, *, clock: Clock, service: OpenRouterService = OPENROUTER) -> str:
    """Have the user sign in, and return an API key. Nothing is stored here. Raises `CredentialsError`."""
    attempt = Attempt.new()
    receiver = RedirectReceiver(f"/sign-in/{attempt.state}", state=None, host=service.redirect_host)
    async with receiver:
        fields = {
            "callback_url": receiver.address,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        address = f"{service.authorize_url}?{urlencode(fields)}"
        answer = await code_from_browser(service.name, address, receiver, browser, clock)
    proof = {"code": answer["code"], "code_verifier": attempt.verifier, "code_challenge_method": "S256"}
    with _explained_refusals(service.name):
        body = await TokenEndpoint(service.name, service.keys_url).post(proof, as_json=True)
    try:
        return msgspec.json.decode(body, type=learned(_KeyAnswer)).key
    except msgspec.DecodeError as error:  # its message has types and places, no values
        raise CredentialsError(
            f"{service.name} answered the sign-in with something other than a key.",
            hint="Sign in again.",
            detail=str(error),
        ) from None


class OtherSignIn(Struct, frozen=True, kw_only=True):
    program: str
    reason: str
    instead: str


_CODEX = OtherSignIn(
    program="Codex",
    reason="Codex is signed in with ChatGPT on this machine. Its tokens can be used once each: another program that "
    "uses them signs Codex out.",
    instead="Sign in with ChatGPT here as well. It uses the same plan, and Codex stays signed in.",
)
_CLAUDE_CODE = OtherSignIn(
    program="Claude Code",
    reason="Claude Code is signed in on this machine. Anthropic does not permit other applications to use the sign-in "
    "of a Claude subscription, so it is not read.",
    instead="Use an API key, or a profile of Anthropic's own tools (`ant auth login`).",
)


def other_sign_ins(environ: Mapping[str, str] = os.environ) -> tuple[OtherSignIn, ...]:
    """Return the sign-ins of other programs on this machine, whose files are not read. Blocks; never raises."""
    codex = Path(environ.get("CODEX_HOME") or Path.home() / ".codex") / "auth.json"
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / ".credentials.json"
    return tuple(sign_in for file, sign_in in ((codex, _CODEX), (claude, _CLAUDE_CODE)) if _exists(file))


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:
        return False


CHATGPT_PROVIDER = "openai"
CHATGPT_NAME = "chatgpt"

OPENROUTER_PROVIDER = "openrouter"
PROFILE_PROVIDER = "anthropic"


class SignInServices(Struct, frozen=True):
    chatgpt: ChatGptService = CHATGPT
    openrouter: OpenRouterService = OPENROUTER


class SignIns:
    def __init__(
        self,
        keys: SystemKeyStore,
        accounts: AccountsFile,
        data: Path,
        *,
        clock: Clock,
        environ: Mapping[str, str] = os.environ,
        tell: Callable[[str], None] = lambda _: None,
        services: SignInServices | None = None,
    ) -> None:
        """`data` is the application's data folder. `tell` is called when renewed tokens could not be stored."""
        self._keys = keys
        self._accounts = accounts
        self._data = data
        self._clock = clock
        self._environ = environ
        self._tell = tell
        self._services = services or SignInServices()
        self._sources: dict[str, RenewingSource] = {}

    async def sign_in_with_chatgpt(self, browser: Browser, name: str = CHATGPT_NAME) -> Account:
        """Have the user sign in, store the tokens, and return the account, which is added if it is new.

        Raises `CredentialsError`, `UnsafeSettingsError`, and `UsageError` for a name that another account has.
        """
        address = _own_address(CHATGPT_PROVIDER, self._services.chatgpt.resource)
        account = await self._new_or_same(Account(provider=CHATGPT_PROVIDER, name=name, address=address, kind="oauth"))
        await self._require_keyring()
        kept = self._kept(account)
        registration, tokens = await sign_in_with_chatgpt(
            browser,
            host_id=await asyncio.to_thread(host_id, self._data),
            clock=self._clock,
            earlier=await kept.registration(Registration),
            service=self._services.chatgpt,
        )
        await kept.begin(registration, tokens)
        self._sources.pop(entry_of(account), None)
        await asyncio.to_thread(self._accounts.put, account)
        return account

    async def sign_in_with_openrouter(self, browser: Browser, name: str = "") -> Account:
        """Have the user sign in, store the key, and return its account. Raises like `sign_in_with_chatgpt`."""
        account = await self._new_or_same(Account(provider=OPENROUTER_PROVIDER, name=name))
        await self._require_keyring()
        key = await sign_in_with_openrouter(browser, clock=self._clock, service=self._services.openrouter)
        await in_daemon_thread(lambda: self._keys.set(entry_of(account), key))
        if not account.is_usual:
            await asyncio.to_thread(self._accounts.put, account)
        return account

    async def use_profile(self, name: str) -> Account:
        profile = await asyncio.to_thread(read_profile, name, self._environ)
        address = _own_address(PROFILE_PROVIDER, profile.base_url)
        profiled = Account(provider=PROFILE_PROVIDER, name=profile.name, address=address, kind="profile")
        account = await self._new_or_same(profiled)
        await asyncio.to_thread(self._accounts.put, account)
        return account

    async def use_cloud(self, account: Account) -> None:
        """Add an account that a cloud's own credentials are for. Raises `UsageError` if it has a key."""
        known = (await asyncio.to_thread(self._accounts.load)).find(account.provider, account.name)
        if known is not None and known.kind == "key":
            command = f"desktop-agent auth delete {known.provider} --account {known.label}"
            raise UsageError(f"{known.full_label} has a key.", hint=f"Remove it first: `{command}`.")
        await asyncio.to_thread(self._accounts.put, account)

    async def sign_out(self, account: Account) -> None:
        """Remove the credential, and the account unless it is the usual one. Raises `CredentialsError`.

        The tokens of a profile are kept, because they belong to the tool that made it.
        """
        entry = entry_of(account)
        if account.kind == "oauth":
            await self._kept(account).forget()
        elif account.kind == "key":
            await in_daemon_thread(lambda: self._keys.delete(entry))
        self._sources.pop(entry, None)
        if not account.is_usual or account.kind == "profile":
            await asyncio.to_thread(self._accounts.remove, account)

    async def registration(self, account: Account) -> Registration | None:
        return await self._kept(account).registration(Registration)

    async def credential(self, account: Account) -> TokenCredential:
        address, where = self._services.chatgpt.resource, account.where.rstrip("/")
        if where != address.rstrip("/"):
            raise CredentialsError(
                f"The sign-in of {account.full_label} belongs to {address}, not to {where}.",
                hint="It is sent there only. Take the account out and sign in again, or use a key.",
            )
        registration = await self.registration(account)
        if registration is None:
            raise SignedOutError(
                f"You are not signed in for {account.full_label}.",
                hint=f"Sign in: `desktop-agent auth sign-in {account.provider} --account {account.label}`.",
            )
        service = self._services.chatgpt
        renewal = ChatGptRenewal(registration.client_id, clock=self._clock, service=service)
        source = RenewingSource(self._kept(account), renewal, clock=self._clock, tell=self._tell)
        return TokenCredential(self._sources.setdefault(entry_of(account), source))

    def _kept(self, account: Account) -> KeptSignIn:
        return KeptSignIn(self._keys, entry_of(account), self._data, self._clock)

    async def _new_or_same(self, account: Account) -> Account:
        """Return the existing account, or else the new one. Raises `UsageError` if the two differ."""
        loaded = await asyncio.to_thread(self._accounts.load)
        if loaded.problems:
            raise UnsafeSettingsError(loaded.problems)
        known = loaded.find(account.provider, account.name)
        if known is None:
            return account
        if known.kind != account.kind or known.address != account.address:
            raise UsageError(
                f"There is another account of {known.provider} called {known.label!r}.",
                hint="Choose another name with --account.",
            )
        return known

    async def _require_keyring(self) -> None:
        report = await in_daemon_thread(self._keys.probe)
        if not report.is_usable:
            raise CredentialsError(report.problem, hint=report.hint)


def _own_address(provider: str, address: str) -> str:
    return "" if address.rstrip("/") == vendor_of(provider).address.rstrip("/") else address
