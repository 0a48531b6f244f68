"""What all sessions of one process share: the user's settings, rules and accounts, the tools, and where files are."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.approvals import RULES_NAME, LiveRules, RulesFile
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import UnsafeSettingsError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.context.tokens import Calibration
from desktop_agent.core.mcp.server_pool import ServerPool
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.catalog import KnownModels
from desktop_agent.core.providers.provider import ProviderSource, RetryPolicy
from desktop_agent.core.settings import FileProblem, Settings
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import NamedModel, model_meant
from desktop_agent.core.settings.models_file import MODELS_FILE_NAME, ModelsFile
from desktop_agent.core.settings.workspace_settings import ProjectTrust, WorkspaceSettings
from desktop_agent.core.slash.session_commands import Services
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.journal import JOURNAL_NAME
from desktop_agent.core.telemetry.telemetry import Telemetry
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.tools.tool import AnyTool


class UserSettings:
    """What the user has set, for all sessions of one process."""

    def __init__(self, paths: AppPaths, settings: Settings | LiveSettings, environ: Mapping[str, str]) -> None:
        """Touches no disk. With plain `settings` there is no file: they change only through `live`."""
        self.live = settings if isinstance(settings, LiveSettings) else LiveSettings(settings)
        self.rules = LiveRules(RulesFile(paths.config / RULES_NAME))
        self._environ = environ
        self.accounts = AccountsFile(paths.config / ACCOUNTS_NAME)
        self.models_file = ModelsFile(paths.config / MODELS_FILE_NAME)
        self._workspaces: dict[Path, WorkspaceSettings] = {}
        self._trust = ProjectTrust(paths.project_answers)

    def settings_in(self, root: Path) -> WorkspaceSettings:
        """Those in force in a workspace. Touches no disk: what its project tightens holds after `refresh()`."""
        return self._workspaces.setdefault(root, WorkspaceSettings(self.live, root, self._trust))

    def faults_in(self, root: Path) -> tuple[FileProblem, ...]:
        """Why nothing may run in a workspace, as far as its settings and the rules have been looked at."""
        return (*self.settings_in(root).faults, *self.rules.faults)

    async def safe_in(self, root: Path) -> WorkspaceSettings:
        """Look at all of them and return those in force. Raises `UnsafeSettingsError` while nothing may run there."""
        settings = self.settings_in(root)
        await settings.refresh()
        await asyncio.to_thread(self.rules.look)
        if faults := self.faults_in(root):
            raise UnsafeSettingsError(faults)
        return settings

    def default_model(self) -> ModelRef:
        return self.model_meant(NamedModel())

    def model_meant(self, meant: NamedModel, now: ModelRef | None = None) -> ModelRef:
        """The model that the user means, who leaves the rest as it is `now`, or to the settings."""
        return model_meant(meant, self.live.loaded, self._environ, now)


class SharedTools:
    """The tools and servers that all sessions have in common, and who still uses them."""

    def __init__(self, tools: Sequence[AnyTool], servers: ServerPool) -> None:
        self.tools = tuple(tools)
        self.servers = servers
        self._users = 0

    def take(self) -> None:
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
