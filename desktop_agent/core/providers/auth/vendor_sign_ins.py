"""Signing in with ChatGPT, so that requests count against the user's plan, and with OpenRouter, which brings a key.

ChatGPT: https://developers.openai.com/siwc/token-sharing-open-source/sign-in. The first sign-in of an account goes
out under a client id that all such programs share; its answer brings the account's own, which is kept and used from
then on.
"""

import base64
import binascii
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.providers.auth import sign_in_failures
from desktop_agent.core.providers.auth.browser_sign_in import (
    Attempt,
    Browser,
    RedirectReceiver,
    code_from_browser,
    is_same,
)
from desktop_agent.core.providers.auth.keys import Entries, delete_long, read_long, write_long
from desktop_agent.core.providers.auth.token_renewal import signed_out
from desktop_agent.core.providers.auth.tokens import RefusedGrantError, TokenAnswer, TokenEndpoint, Tokens, read_grant
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder


class ChatGptService(Struct, frozen=True, kw_only=True):
    """*Sign in with ChatGPT*, with the use of the user's plan by an open-source program on the user's machine.

    https://developers.openai.com/siwc/token-sharing-open-source
    """

    name: str = "ChatGPT"
    authorize_url: str = "https://auth.openai.com/api/accounts/authorize"
    token_url: str = "https://auth.openai.com/api/accounts/oauth/token"  # noqa: S105 - an address
    issuer: str = "https://auth.openai.com"
    resource: str = "https://api.openai.com/v1"
    first_client_id: str = "dynamic_agent_client"
    """For the first sign-in of an account; its answer brings the id that is used from then on."""
    agent_name: str = "Desktop Agent"
    redirect_path: str = "/auth/callback"
    """The same each time; only the port may change."""
    scopes: tuple[str, ...] = (
        "openid",
        "profile",
        "email",
        "offline_access",
        "resource.invoke",
        "chatgpt.tokens.use.direct",
    )
    required_scopes: frozenset[str] = frozenset({"chatgpt.tokens.use.direct"})


class OpenRouterService(Struct, frozen=True, kw_only=True):
    """OpenRouter's sign-in, which ends with an API key of the user: https://openrouter.ai/docs/use-cases/oauth-pkce."""

    name: str = "OpenRouter"
    authorize_url: str = "https://openrouter.ai/auth"
    keys_url: str = "https://openrouter.ai/api/v1/auth/keys"
    redirect_host: Literal["localhost", "127.0.0.1"] = "localhost"
    """The host for which it documents that every port may be used."""


CHATGPT = ChatGptService()
OPENROUTER = OpenRouterService()


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an account after its first sign-in, kept beside its tokens. None of it is a secret."""

    client_id: str
    """What this installation is called there, for this account."""
    subject: str
    """Who the user is there."""
    email: str = ""


def read_registration(entries: Entries, name: str) -> Registration | None:
    """Return the registration of the account whose entries begin with `name`, or `None`. Blocks."""
    kept = read_long(entries, f"{name}/registration")
    try:
        return msgspec.json.decode(kept, type=learned(Registration)) if kept is not None else None
    except msgspec.DecodeError:  # of another version: the account registers anew
        return None


def write_registration(entries: Entries, name: str, registration: Registration) -> None:
    write_long(entries, f"{name}/registration", msgspec.json.encode(registration).decode())


def delete_registration(entries: Entries, name: str) -> None:
    delete_long(entries, f"{name}/registration")


_LOCK_TIMEOUT_S = 10.0
_PREFIX = "urn:uuid:"


def host_id(folder: Path) -> str:
    """Return this installation's name for services that ask which machine a program runs on. Blocks.

    It is kept in `folder`, the application's data, and made when there is none; random, and not a secret.


    Processes that ask at the same time get the same. Raises `CredentialsError` when it cannot be kept.
    """
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
"""How far the two clocks may be apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    service: str
    issuer: str
    client_id: str
    nonce: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    subject: str
    """The same for each sign-in of the same user with the same application."""
    email: str = ""


@dataclass(frozen=True, slots=True)
class _Claims:
    iss: str
    sub: str
    aud: str | list[str]
    exp: float
    nonce: str = field(repr=False)
    azp: str | None = None
    email: str = ""


def read_identity(token: str, expected: Expected, now: datetime) -> Identity:
    """Return who the identity token is about. Raises `CredentialsError` when it is not for this sign-in.

    Its signature is not checked: it comes straight from the token endpoint, and TLS says who that is. OpenID Connect
    Core 3.1.3.7, number 6, allows that; https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation has
    the rest.
    """

    claims = _claims(token, expected.service)
    audience = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    party = claims.azp if claims.azp is not None or len(audience) > 1 else expected.client_id
    problems = (
        ("another issuer", claims.iss == expected.issuer),
        ("another application", expected.client_id in audience and party == expected.client_id),
        ("another sign-in", is_same(claims.nonce, expected.nonce)),
        ("expired", now.timestamp() < claims.exp + _SKEW.total_seconds()),
        ("nobody", bool(claims.sub)),
    )
    for problem, is_right in problems:
        if not is_right:
            raise sign_in_failures.not_for_us(expected.service, f"identity token: {problem}")
    return Identity(subject=claims.sub, email=claims.email)


def _claims(token: str, service: str) -> _Claims:
    parts = token.split(".")
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)) if len(parts) == 3 else b""
        return msgspec.json.decode(payload, type=learned(_Claims))
    except (msgspec.DecodeError, binascii.Error, ValueError):
        raise sign_in_failures.not_for_us(service, "identity token: malformed") from None


# https://developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery
_OVER = frozenset(
    {
        "invalid_grant",
        "invalid_refresh_token",
        "token_expired",
        "refresh_token_expired",
        "refresh_token_invalidated",
        "refresh_token_reused",
    }
)
"""The errors that mean that a refresh token is worth nothing any more. After any other it may be tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    registration: Registration
    tokens: Tokens = field(repr=False)


async def sign_in_with_chatgpt(
    browser: Browser,
    *,
    host_id: str,
    clock: Clock,
    earlier: Registration | None = None,
    service: ChatGptService = CHATGPT,
) -> SignedIn:
    """Have the user sign in, and return the account's registration and tokens; nothing is kept here.

    `host_id` is this installation's, of `host_id.py`; `earlier` is the registration of an account that signs in again.
    Raises `CredentialsError`. Being cancelled closes the port, and leaves nothing behind.
    """
    attempt = Attempt.new()
    receiver = RedirectReceiver(service.redirect_path, state=attempt.state)
    async with receiver:
        redirect = receiver.address
        address = _address(service, attempt, redirect, host_id, earlier)
        answer = await code_from_browser(service.name, address, receiver, browser, clock)
    client_id = _issued(service, answer.get("client_id"), earlier)
    grant = await _grant(service, attempt, redirect, client_id, answer["code"])
    expected = Expected(service=service.name, issuer=service.issuer, client_id=client_id, nonce=attempt.nonce)
    identity = read_identity(grant.id_token or "", expected, clock.now())
    if earlier is not None and identity.subject != earlier.subject:
        raise sign_in_failures.another_account(service.name)
    tokens = _usable(service, grant.tokens(clock.now(), scopes=frozenset(service.scopes)))
    registration = Registration(client_id=client_id, subject=identity.subject, email=identity.email)
    return SignedIn(registration=registration, tokens=tokens)


class ChatGptRenewal:
    def __init__(self, client_id: str, *, clock: Clock, service: ChatGptService = CHATGPT) -> None:
        self._client_id = client_id
        self._clock = clock
        self._service = service

    @property
    def service(self) -> str:
        return self._service.name

    @property
    def how_to_sign_in(self) -> str:
        return "Sign in again: in Settings, or with `desktop-agent auth sign-in openai`."

    async def renewed(self, tokens: Tokens) -> Tokens:
        if not tokens.refresh:
            raise signed_out(self, "there is no refresh token")
        fields = {
            "grant_type": "refresh_token",
            "client_id": self._client_id,
            "refresh_token": tokens.refresh,
            "resource": self._service.resource,
        }
        try:
            body = await TokenEndpoint(self.service, self._service.token_url).post_form(fields)
        except RefusedGrantError as error:
            if error.code in _OVER:
                raise signed_out(self, str(error)) from None
            raise CredentialsError(
                f"{self.service} did not renew the sign-in.",
                hint=f"Try again. {self.how_to_sign_in}",
                detail=str(error),
            ) from None
        return read_grant(body, self.service).tokens(self._clock.now(), before=tokens)

    def require_use(self, tokens: Tokens) -> None:
        _usable(self._service, tokens)


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
    """Return the account's own client id: the one that the answer brings, or the one it had."""
    if earlier is not None:
        if client_id not in (None, earlier.client_id):
            raise sign_in_failures.not_registered(service.name)
        return earlier.client_id
    if not client_id or client_id == service.first_client_id:
        raise sign_in_failures.not_registered(service.name)
    return client_id


async def _grant(service: ChatGptService, attempt: Attempt, redirect: str, client_id: str, code: str) -> TokenAnswer:
    fields = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "redirect_uri": redirect,
        "code_verifier": attempt.verifier,
        "resource": service.resource,
    }
    try:
        return read_grant(await TokenEndpoint(service.name, service.token_url).post_form(fields), service.name)
    except RefusedGrantError as error:
        raise sign_in_failures.refused_grant(service.name, error) from None
    except ProviderError as error:
        raise sign_in_failures.unanswered(error) from None


def _usable(service: ChatGptService, tokens: Tokens) -> Tokens:
    if missing := service.required_scopes - tokens.scopes:
        raise sign_in_failures.not_allowed(service.name, missing)
    return tokens


@dataclass(frozen=True, slots=True)
class _KeyAnswer:
    key: Annotated[str, msgspec.Meta(min_length=8, max_length=1_000, pattern=r"^[\x21-\x7e]+$")] = field(repr=False)


async def sign_in_with_openrouter(browser: Browser, *, clock: Clock, service: OpenRouterService = OPENROUTER) -> str:
    """Have the user sign in, and return an API key; nothing is kept here.

    Raises `CredentialsError`. Being cancelled closes the port, and leaves nothing behind.
    """
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
    try:
        body = await TokenEndpoint(service.name, service.keys_url).post_json(proof)
    except RefusedGrantError as error:
        raise sign_in_failures.refused_grant(service.name, error) from None
    except ProviderError as error:
        raise sign_in_failures.unanswered(error) from None
    return _key(body, service.name)


def _key(body: bytes, service: str) -> str:
    try:
        return msgspec.json.decode(body, type=learned(_KeyAnswer)).key
    except msgspec.DecodeError as error:  # its message has types and places, no values
        raise CredentialsError(
            f"{service} answered the sign-in with something else than a key.", hint="Sign in again.", detail=str(error)
        ) from None
