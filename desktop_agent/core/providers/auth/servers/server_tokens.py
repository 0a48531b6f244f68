"""The tokens of a sign-in with an MCP server: kept in the keyring, renewed where its registration says."""

import base64
from contextlib import AbstractAsyncContextManager
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

import msgspec

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AgentError, CredentialsError, ServerError
from desktop_agent.core.mcp.client import SignInNeededError
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.mcp.secret_headers import Keyring
from desktop_agent.core.mcp.sign_in import ServerRegistration
from desktop_agent.core.providers.auth.tokens.answers import read_grant
from desktop_agent.core.providers.auth.tokens.endpoint import RefusedGrantError, TokenEndpoint
from desktop_agent.core.providers.auth.tokens.granted import Tokens
from desktop_agent.core.providers.auth.tokens.keyring_tokens import KeyringTokens
from desktop_agent.core.providers.auth.tokens.long_entries import delete_long, read_long, write_long
from desktop_agent.core.providers.auth.tokens.renewal_lock import renewing
from desktop_agent.core.providers.auth.tokens.source import RenewingSource, SignedOutError, TokenSource, signed_out

_OVER = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""Refusals after which only the user can sign in again: RFC 6749 5.2."""


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
            return msgspec.json.decode(kept, type=ServerRegistration) if kept is not None else None
        except msgspec.DecodeError:  # of another version: the user signs in anew
            return None

    def write_registration(self, registration: ServerRegistration) -> None:
        """Keep it. Blocks."""
        write_long(self._keyring, f"{self._name}/registration", msgspec.json.encode(registration).decode())

    def delete_registration(self) -> None:
        """Forget it. Blocks. No error when there is none."""
        delete_long(self._keyring, f"{self._name}/registration")


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

    def __init__(self, source: TokenSource, name: str) -> None:
        self._source = source
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

    def _in_words(self, error: AgentError) -> ServerError:
        if isinstance(error, SignedOutError):
            return SignInNeededError(self._name)
        return ServerError(error.title, hint=error.hint, detail=error.detail)


def tokens_for(kept: KeptSignIn, registration: ServerRegistration, name: str, clock: Clock) -> ServerTokens:
    """Return the tokens of a sign-in, renewed in time, once for all processes."""
    renewal = ServerRenewal(name, registration, clock)
    return ServerTokens(RenewingSource(kept.tokens, renewal, clock=clock, lock=kept.lock), name)
