"""The servers of tools: those that all sessions of a program share, and what one session has of them."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from desktop_agent.composition.session_plan import SessionPlan
from desktop_agent.composition.settings_in_force import wanted_servers
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.server_pool import ServerPool
from desktop_agent.core.mcp.trust import ToolTrust
from desktop_agent.core.providers.auth.server_credentials import KeyringCredentials, ServerKeyring
from desktop_agent.core.session.recorder import Recorder
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.tools.execution.confiner import SandboxProbe, server_confiner
from desktop_agent.core.tools.execution.writers import RunningServer
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.servers.mcp_tool import SessionTrust
from desktop_agent.core.tools.servers.search_tools import SearchTools
from desktop_agent.core.tools.servers.session_servers import SessionServers
from desktop_agent.core.tools.tool import AnyServerTool, AnyTool


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


def build_session_servers(
    shared: SharedParts, plan: SessionPlan, registry: ToolRegistry, recorder: Recorder
) -> SessionServers:
    """Return the servers that the settings of one session want, as far as the user trusts their tools."""
    trust = SessionTrust(ToolTrust(shared.paths.tool_trust), recorder)
    wanted = partial(wanted_servers, plan.settings)
    return SessionServers(shared.tools.servers, plan.root, wanted, registry, trust, recorder)


def running_servers(pool: ServerPool, root: Path) -> tuple[RunningServer, ...]:
    """Return the servers of a folder that run and may write there."""
    return tuple(
        RunningServer(
            connection.definition.name, activity, partial(_may_write, connection.definition, root), is_shared=is_shared
        )
        for connection, activity, is_shared in pool.activities(root)
    )


def _may_write(definition: ServerDefinition, root: Path, path: str) -> bool:
    return definition.may_write(root / path, root)


def with_search(tools: tuple[AnyTool, ...], of_servers: Callable[[], tuple[AnyServerTool, ...]]) -> tuple[AnyTool, ...]:
    """Return the tools with the search for those of servers, unless a program has a tool of that name."""
    return tools if any(tool.name == SearchTools.name for tool in tools) else (*tools, SearchTools(of_servers))
