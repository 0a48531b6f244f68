"""What all sessions of one process share."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.approvals import LiveRules
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.context.tokens import Calibration
from desktop_agent.core.mcp.server_pool import ServerPool
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.catalog import KnownModels
from desktop_agent.core.providers.provider import ProviderSource, RetryPolicy
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.slash.session_commands import Services
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.journal import JOURNAL_NAME
from desktop_agent.core.telemetry.telemetry import Telemetry
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.tools.tool import AnyTool


class SharedTools:
    """The tools and servers that all sessions have in common, and who still uses them."""

    def __init__(self, tools: Sequence[AnyTool], servers: ServerPool) -> None:
        self.tools = tuple(tools)
        self.servers = servers
        self._users = 0

    def take(self) -> None:
        """Count one more session."""
        self._users += 1

    async def give_back(self) -> None:
        """Count one session less. With the last one end the servers, and what tools do in the background."""
        self._users -= 1
        if self._users == 0:
            async with AsyncExitStack() as ends:
                ends.push_async_callback(self.servers.aclose)
                for tool in self.tools:
                    ends.push_async_callback(tool.aclose)


class SharedParts(Struct, frozen=True, kw_only=True):
    """What all sessions of one `Workbench` share, and where they keep their files."""

    paths: AppPaths
    settings_file: Path | None
    rules: LiveRules
    accounts: AccountsFile
    known_models: KnownModels
    model_meant: Callable[[NamedModel, ModelRef | None], ModelRef]
    """Completes a model that is named in part by the one that answers now, and by the settings."""
    takes_images: Callable[[ModelRef], Awaitable[bool | None]]
    """Whether a model is known to take pictures, or not to; None: nobody says."""
    environ: Mapping[str, str]
    clock: Clock
    blobs: Blobs
    catalog: Catalog
    tools: SharedTools
    telemetry: Telemetry
    probe: SandboxProbe
    provider_source: ProviderSource
    retry: RetryPolicy
    calibration: Calibration = field(default_factory=Calibration)
    services: Services
    """What slash commands reach beyond their session."""
    makes_titles: bool

    @property
    def own_places(self) -> tuple[Path, ...]:
        """What edit tools never write: the application's folders, and the settings file wherever it is."""
        own = (self.paths.config, self.paths.data, self.paths.cache, self.paths.logs)
        return (*own, self.settings_file) if self.settings_file is not None else own

    def journal_path(self, session_id: SessionId) -> Path:
        """The journal of a session of ours, whether it exists or not."""
        return self.catalog.session_folder(session_id) / JOURNAL_NAME

    def job_logs(self, session_id: SessionId) -> Path:
        """The folder of the output of a session's background commands: its own commands may read it, others not."""
        return self.paths.logs / "jobs" / session_id

    def temp_folder(self, session_id: SessionId) -> Path:
        """The folder for temporary files of a session's commands. It goes when the session closes."""
        return self.paths.cache / "tmp" / session_id
