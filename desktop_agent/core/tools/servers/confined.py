"""Confining servers with what confines commands: the same sandbox, and the same files hidden."""

from collections.abc import Mapping

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.mcp.confining import ServerConfiner
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.tools.secret_files import secret_files, secrets_beside_programs


def server_confiner(paths: AppPaths, environ: Mapping[str, str], probe: SandboxProbe) -> ServerConfiner:
    """Return what confines the servers of an application with this environment."""
    return ServerConfiner(
        search=probe.search,
        cache=paths.cache / "mcp",
        environ=environ,
        secrets_in=secret_files,
        secrets_beside=secrets_beside_programs,
    )
