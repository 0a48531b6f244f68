"""What goes with the requests to an MCP server, from the keyring."""

from collections.abc import Mapping
from pathlib import Path

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError, ServerError
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.secret_headers import Keyring, read_secret_headers
from desktop_agent.core.providers.auth.keyring_calls import beside
from desktop_agent.core.providers.auth.servers.client_credentials import tokens_for_client
from desktop_agent.core.providers.auth.servers.kept_sign_in import KeptSignIn
from desktop_agent.core.providers.auth.servers.server_tokens import ServerTokens, tokens_for


class KeyringCredentials:
    """The credentials of every server of the user."""

    def __init__(self, keyring: Keyring, data: Path, clock: Clock) -> None:
        """`data` is the application's data folder."""
        self._keyring = keyring
        self._data = data
        self._clock = clock

    async def headers(self, definition: ServerDefinition) -> Mapping[str, str]:
        """Return the secret headers of a server with their values. Raises `ServerError` for one that has none."""
        try:
            return await beside(lambda: read_secret_headers(self._keyring, definition))
        except CredentialsError as error:
            raise ServerError(error.title, hint=error.hint, detail=error.detail) from error

    async def tokens(self, definition: ServerDefinition) -> ServerTokens | None:
        """Return the tokens of the user's sign-in, or `None` without one. Raises `ServerError`."""
        assert isinstance(definition.reached_by, Address)
        kept = KeptSignIn(self._keyring, definition.reached_by, self._data, self._clock)
        if definition.reached_by.grant == "client_credentials":
            return tokens_for_client(self._keyring, definition, kept, self._clock)
        try:
            registration = await beside(kept.read_registration)
        except CredentialsError as error:
            raise ServerError(error.title, hint=error.hint, detail=error.detail) from error
        return tokens_for(kept, registration, definition.name, self._clock) if registration is not None else None
