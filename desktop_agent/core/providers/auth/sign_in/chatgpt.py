"""Signing in with ChatGPT, so that requests to the public API count against the user's plan.

https://developers.openai.com/siwc/token-sharing-open-source/sign-in. The first sign-in of an account goes out under a
client id that all such programs share; its answer brings the account's own, which is kept and used from then on.
"""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.providers.auth.sign_in import failures
from desktop_agent.core.providers.auth.sign_in.attempt import Attempt
from desktop_agent.core.providers.auth.sign_in.flow import Browser, code_from_browser
from desktop_agent.core.providers.auth.sign_in.identity import Expected, read_identity
from desktop_agent.core.providers.auth.sign_in.redirect import RedirectReceiver
from desktop_agent.core.providers.auth.sign_in.registration import Registration
from desktop_agent.core.providers.auth.sign_in.services import CHATGPT, ChatGptService
from desktop_agent.core.providers.auth.tokens.answers import TokenAnswer, read_grant
from desktop_agent.core.providers.auth.tokens.endpoint import RefusedGrantError, TokenEndpoint
from desktop_agent.core.providers.auth.tokens.granted import Tokens
from desktop_agent.core.providers.auth.tokens.source import signed_out

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
    """What a sign-in brought."""

    registration: Registration
    tokens: Tokens = field(repr=False)


async def sign_in(
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
        raise failures.another_account(service.name)
    tokens = _usable(service, grant.tokens(clock.now(), scopes=frozenset(service.scopes)))
    registration = Registration(client_id=client_id, subject=identity.subject, email=identity.email)
    return SignedIn(registration=registration, tokens=tokens)


class ChatGptRenewal:
    """Renews the tokens of one account."""

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
        """Return what the refresh token brings; it is used up then. Raises as `Renewal` says."""
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
        """Raise `CredentialsError` when the user, or the plan, does not allow its use any more."""
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
            raise failures.not_registered(service.name)
        return earlier.client_id
    if not client_id or client_id == service.first_client_id:
        raise failures.not_registered(service.name)
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
        raise failures.refused_grant(service.name, error) from None
    except ProviderError as error:
        raise failures.unanswered(error) from None


def _usable(service: ChatGptService, tokens: Tokens) -> Tokens:
    if missing := service.required_scopes - tokens.scopes:
        raise failures.not_allowed(service.name, missing)
    return tokens
