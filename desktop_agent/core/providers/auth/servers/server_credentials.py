"""What goes with the requests to an MCP server, from the keyring."""

from collections.abc import Mapping

from desktop_agent.core.base.errors import CredentialsError, ServerError
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.secret_headers import Keyring, read_secret_headers
from desktop_agent.core.providers.auth.patience import beside


class KeyringCredentials:
    """The credentials of every server of the user."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    async def headers(self, definition: ServerDefinition) -> Mapping[str, str]:
        """Return the secret headers of a server with their values. Raises `ServerError` for one that has none."""
        try:
            return await beside(lambda: read_secret_headers(self._keyring, definition))
        except CredentialsError as error:
            raise ServerError(error.title, hint=error.hint, detail=error.detail) from error
