"""The settings in force, as the parts of a session ask for them: at each call, because they may have changed."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from desktop_agent.core.capture.safety import SafetyLimits
from desktop_agent.core.mcp.definition_file import Definitions, read_definitions
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.system.processes.cgroup import CommandLimits

ALL_SERVERS = "mcp://local"
"""What `mcp.servers` says for every server that is defined."""


def allowed_folders(settings: WorkspaceSettings) -> tuple[Path, ...]:
    """Return the folders beside the workspace that calls may write."""
    return tuple(map(Path, settings.current.execution.allowed_paths))


def boundary_in_force(settings: WorkspaceSettings, root: Path, guarded: tuple[Path, ...]) -> Callable[[], Boundary]:
    """Return what gives the boundary of calls in `root`; it is made anew only when the settings changed."""

    @lru_cache(maxsize=1)
    def build(allowed: tuple[Path, ...]) -> Boundary:
        return Boundary(root, allowed, guarded=guarded)

    return lambda: build(allowed_folders(settings))


def visible_folders(settings: WorkspaceSettings) -> tuple[Path, ...]:
    """Return what confined commands may read of the home folder."""
    return tuple(map(Path, settings.current.execution.home_visible))


def passed_variables(settings: WorkspaceSettings) -> tuple[str, ...]:
    """Return the names of the environment variables that reach commands though they lead out of the sandbox."""
    return settings.current.execution.passed_variables


def wanted_servers(settings: WorkspaceSettings) -> Definitions:
    """Return the MCP servers that are used."""
    mcp = settings.current.mcp
    if not mcp.enable:
        return Definitions()
    found = read_definitions(settings.loaded.tables)
    used = tuple(
        server
        for server in found.servers
        if server.is_enabled and (ALL_SERVERS in mcp.servers or server.name in mcp.servers)
    )
    return Definitions(servers=used, problems=found.problems)


def command_limits(settings: WorkspaceSettings) -> CommandLimits:
    """Return what a command may use of the machine."""
    execution = settings.current.execution
    gib = execution.max_memory_gib
    return CommandLimits(
        max_processes=execution.max_processes,
        max_memory_bytes=None if gib is None else int(gib * 2**30),
        max_open_files=execution.max_open_files,
    )


def safety_limits(settings: WorkspaceSettings) -> SafetyLimits:
    """Return how much is copied before a command that may destroy it."""
    copied, captured = settings.current.safety_copy, settings.current.capture
    return SafetyLimits(
        max_files=copied.max_files,
        max_bytes=copied.max_mib * 2**20,
        ignored_folders=frozenset(captured.ignored_folders),
        max_captured_bytes=captured.max_file_bytes,
    )
