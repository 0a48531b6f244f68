"""MCP servers into the settings and out of them, with what the keyring and the records of trust have of them."""

import asyncio
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.secret_headers import Keyring
from desktop_agent.core.mcp.trust.records import ToolTrust
from desktop_agent.core.mcp.writing import add_definitions
from desktop_agent.core.providers.auth.servers.client_secret import forget_client_secret, keep_client_secret
from desktop_agent.core.providers.auth.servers.server_sign_ins import ServerSignIns


def define_server(path: Path, definition: ServerDefinition, keyring: Keyring, client_secret: str = "") -> None:
    """Add a server to the settings file, with the secret of its client in the keyring: both or neither.

    Blocks. Raises what `add_definitions` raises.
    """
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
    """Forget what is kept of a server that is no longer defined: which of its tools were allowed, and its secrets.

    Raises `StorageError`, and `CredentialsError` when the keyring does not answer; the tools are forgotten then.
    """
    await asyncio.to_thread(trust.forget, definition)
    if isinstance(definition.reached_by, Address):
        await sign_ins.forget(definition)
