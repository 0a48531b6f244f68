"""The settings, lasting rules and accounts of a user, and what is in force in each of their workspaces."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from desktop_agent.core.approvals import RULES_NAME, LiveRules, RulesFile
from desktop_agent.core.base.errors import UnsafeSettingsError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.settings import FileProblem, Settings
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import NamedModel, model_meant
from desktop_agent.core.settings.models_file import MODELS_FILE_NAME, ModelsFile
from desktop_agent.core.settings.workspace_settings import ProjectTrust, WorkspaceSettings


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
        """The model that the settings name."""
        return self.model_meant(NamedModel())

    def model_meant(self, meant: NamedModel, now: ModelRef | None = None) -> ModelRef:
        """The model that the user means, who leaves the rest as it is `now`, or to the settings."""
        return model_meant(meant, self.live.loaded, self._environ, now)
