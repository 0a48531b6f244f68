"""Tokens for the application itself, without a user: got when they are needed, and anew when they end.

RFC 6749 4.4.
"""

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.mcp.client import SignInNeededError
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.secret_headers import Keyring
from desktop_agent.core.providers.auth.servers.kept_sign_in import KeptSignIn, tokens_of
from desktop_agent.core.providers.auth.servers.sdk_sign_in import granted_to_client
from desktop_agent.core.providers.auth.servers.server_tokens import ServerTokens
from desktop_agent.core.providers.auth.tokens.granted import KeptTokens, Tokens
from desktop_agent.core.providers.auth.tokens.keyring_tokens import LONG_AGO
from desktop_agent.core.providers.auth.tokens.source import RenewingSource


class ClientRenewal:
    """Gets new tokens each time, as there is nothing to renew them by."""

    def __init__(self, keyring: Keyring, definition: ServerDefinition, kept: KeptSignIn, clock: Clock) -> None:
        self._keyring = keyring
        self._definition = definition
        self._kept = kept
        self._clock = clock

    @property
    def service(self) -> str:
        return f"the MCP server {self._definition.name}"

    @property
    def how_to_sign_in(self) -> str:
        return SignInNeededError(self._definition.name).hint

    async def renewed(self, tokens: Tokens) -> Tokens:
        """Return new ones. Raises `ServerError` and `CredentialsError`."""
        del tokens
        granted = await granted_to_client(self._keyring, self._definition, self._kept)
        return tokens_of(granted, self._clock.now())

    def require_use(self, tokens: Tokens) -> None:
        """Every token is good for what the server says that it is good for."""


class _TokensOfClient:
    """What is kept; before the first time, a token that ended long ago, so that one is got."""

    def __init__(self, kept: KeptTokens) -> None:
        self._kept = kept

    async def load(self) -> Tokens | None:
        return await self._kept.load() or Tokens(access="", expires_at=LONG_AGO)

    async def keep(self, tokens: Tokens) -> None:
        await self._kept.keep(tokens)

    async def drop(self) -> None:
        await self._kept.drop()


def tokens_for_client(keyring: Keyring, definition: ServerDefinition, kept: KeptSignIn, clock: Clock) -> ServerTokens:
    """Return the tokens of the client that the definition names, the same for all processes."""
    renewal = ClientRenewal(keyring, definition, kept, clock)
    source = RenewingSource(_TokensOfClient(kept.tokens), renewal, clock=clock, lock=kept.lock)
    return ServerTokens(source, kept, definition.name, asks_user=False)
