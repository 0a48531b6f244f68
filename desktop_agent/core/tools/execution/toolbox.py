"""What calls work with."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.jobs import Jobs
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.protocol.model import TodoItem
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.system.workspace import HeldWorkspace
from desktop_agent.core.tools.access import Access
from desktop_agent.core.tools.execution.confiner import Confiner
from desktop_agent.core.tools.output import ContextLimits
from desktop_agent.core.tools.reads import ReadLog
from desktop_agent.core.tools.secret_names import SecretNames


class Toolbox(Struct, frozen=True, kw_only=True):
    """What calls work with: one per session."""

    workspace: HeldWorkspace
    access: Access
    boundary: Callable[[], Boundary]
    """What calls may reach under the settings in force."""
    confiner: Confiner
    reads: ReadLog
    processes: ProcessRunner
    jobs: Jobs
    blobs: Blobs
    environ: Mapping[str, str]
    """What children get of the application's environment."""
    kept_back: Mapping[str, str]
    """The names of what they do not get of it, each with the reason."""
    spool_folder: Path
    todos: Callable[[], tuple[TodoItem, ...]]
    secrets: Callable[[], SecretNames]
    """What finds which files of the workspace are secrets by another name, made for one call."""
    limits: Callable[[], ContextLimits] = ContextLimits
