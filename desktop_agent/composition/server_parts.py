"""The servers of tools that all sessions of a program share."""

from collections.abc import Mapping

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.mcp.connecting.pool import ServerPool
from desktop_agent.core.providers.auth.servers.server_credentials import KeyringCredentials
from desktop_agent.core.providers.auth.servers.server_keyring import ServerKeyring
from desktop_agent.core.system.child_environment import child_environment
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.tools.servers.confined import server_confiner


def build_server_pool(
    paths: AppPaths, environ: Mapping[str, str], clock: Clock, keyring: ServerKeyring, probe: SandboxProbe
) -> ServerPool:
    """Return a pool that starts servers when they are leased, confined and signed in as the user wants."""
    return ServerPool(
        clock,
        child_environment(environ),
        paths.logs / "mcp",
        credentials=KeyringCredentials(keyring, paths.data, clock),
        confiner=server_confiner(paths, environ, probe),
    )
