"""The tokens of a sign-in with an MCP server: renewed where its registration says."""

import base64
from urllib.parse import quote

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AgentError, CredentialsError, ServerError
from desktop_agent.core.mcp.client import SignInNeededError
from desktop_agent.core.mcp.sign_in import Challenge, ServerRegistration
from desktop_agent.core.providers.auth.keyring_calls import beside
from desktop_agent.core.providers.auth.servers.kept_sign_in import KeptSignIn
from desktop_agent.core.providers.auth.tokens.answers import read_grant
from desktop_agent.core.providers.auth.tokens.endpoint import RefusedGrantError, TokenEndpoint
from desktop_agent.core.providers.auth.tokens.granted import Tokens
from desktop_agent.core.providers.auth.tokens.source import RenewingSource, SignedOutError, TokenSource, signed_out

_OVER = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""Refusals after which only the user can sign in again: RFC 6749 5.2."""


class ServerRenewal:
    """Renews the tokens for one server."""

    def __init__(self, name: str, registration: ServerRegistration, clock: Clock) -> None:
        self._name = name
        self._registration = registration
        self._clock = clock

    @property
    def service(self) -> str:
        return f"the MCP server {self._name}"

    @property
    def how_to_sign_in(self) -> str:
        return SignInNeededError(self._name).hint

    async def renewed(self, tokens: Tokens) -> Tokens:
        """Return what the refresh token brings; it is used up then. Raises as `Renewal` says."""
        if not tokens.refresh:
            raise signed_out(self, "there is no refresh token")
        registration = self._registration
        fields = {"grant_type": "refresh_token", "refresh_token": tokens.refresh, "client_id": registration.client_id}
        fields |= {"resource": registration.resource} if registration.resource else {}
        headers: dict[str, str] = {}
        secret = registration.client_secret or ""
        if registration.proof == "client_secret_post":
            fields["client_secret"] = secret
        elif registration.proof == "client_secret_basic":
            pair = f"{quote(registration.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        try:
            body = await TokenEndpoint(self.service, registration.token_url, headers=headers).post_form(fields)
        except RefusedGrantError as error:
            if error.code in _OVER:
                raise signed_out(self, str(error)) from None
            title = f"{self.service} did not renew the sign-in."
            raise CredentialsError(title, hint=f"Try again. {self.how_to_sign_in}", detail=str(error)) from None
        return read_grant(body, self.service).tokens(self._clock.now(), before=tokens)

    def require_use(self, tokens: Tokens) -> None:
        """Every token is good for what the server says that it is good for."""


class ServerTokens:
    """The tokens for one server, for its connection, with what goes wrong as `ServerError`."""

    def __init__(self, source: TokenSource, kept: KeptSignIn, name: str, *, asks_user: bool = True) -> None:
        """`asks_user` is whether the user decides what they allow."""
        self._source = source
        self._asks_user = asks_user
        self._kept = kept
        self._name = name

    async def access_token(self) -> str:
        """Return a token that is good now."""
        try:
            return await self._source.access_token()
        except AgentError as error:
            raise self._in_words(error) from error

    async def refused(self, token: str) -> str:
        """Return another token after the server refused `token`."""
        try:
            return await self._source.refused(token)
        except AgentError as error:
            raise self._in_words(error) from error

    async def insufficient(self, token: str, challenge: Challenge) -> str:
        """Return another token after the server wanted one that allows more, if the user has signed in since."""
        try:
            kept = await self._kept.tokens.load()
            if kept is not None and kept.access != token:
                return await self._source.refused(token)
            if kept is not None and challenge.scopes <= kept.scopes:
                raise ServerError(
                    "It refuses this, although you allowed all that it asks for.",
                    hint="Your account there may lack a right. Signing in again does not help.",
                )
            await beside(lambda: self._kept.write_challenge(challenge.header))
            if not self._asks_user:
                return await self._source.refused(token)
        except AgentError as error:
            raise self._in_words(error) from error
        raise SignInNeededError(self._name, challenge.scopes)

    def _in_words(self, error: AgentError) -> ServerError:
        if isinstance(error, ServerError):
            return error
        if isinstance(error, SignedOutError):
            return SignInNeededError(self._name)
        return ServerError(error.title, hint=error.hint, detail=error.detail)


def tokens_for(kept: KeptSignIn, registration: ServerRegistration, name: str, clock: Clock) -> ServerTokens:
    """Return the tokens of a sign-in, renewed in time, once for all processes."""
    renewal = ServerRenewal(name, registration, clock)
    return ServerTokens(RenewingSource(kept.tokens, renewal, clock=clock, lock=kept.lock), kept, name)
