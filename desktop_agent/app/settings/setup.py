"""Setting up: the welcome, the settings dialog, and the keys behind it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import Rule
from desktop_agent.core.providers.anthropic import AnthropicProvider
from desktop_agent.core.providers.auth.keys import KEY_VARIABLES, KeyStore, ResolvedKey, resolve_key
from desktop_agent.core.providers.auth.patience import beside
from desktop_agent.core.settings.live_settings import LiveSettings, SettingChange
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.ui.onboarding.dialog import OnboardingDialog
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.settings.dialog import SettingsDialog
from desktop_agent.ui.settings.key_status import KeyCheck, KeyStatus
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.main_window import MainWindow
from desktop_agent.ui.window.mode_pickers import ANTHROPIC_MODELS


class Setup(QObject):
    """Shows the dialogs around keys and settings, and carries out what they ask for.

    Signals:
        project_answered: the user says `trusted` or `ignored` to the project's settings.
        demo_requested, folder_requested: the user chose that in the welcome.
        rule_revoked: a rule (id) is to hold no longer.
        failed: something could not be saved; carries an `AgentError`.
    """

    project_answered = Signal(str)
    demo_requested = Signal()
    folder_requested = Signal()
    rule_revoked = Signal(str)
    failed = Signal(object)

    def __init__(
        self,
        window: MainWindow,
        theme: Theme,
        paths: AppPaths,
        live: LiveSettings,
        keys: KeyStore,
        environ: Mapping[str, str],
        spawner: TaskSpawner,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._path = live.path or paths.settings_file()
        self._live = live
        self._project: WorkspaceSettings | None = None
        self._keys = keys
        self._environ = environ
        self._spawner = spawner
        self._saving = asyncio.Lock()
        live.subscribe(self._show_settings)
        self._welcome: OnboardingDialog | None = None
        self._dialog: SettingsDialog | None = None
        self._rules: tuple[Rule, ...] = ()

    async def has_key(self) -> bool:
        """Whether some key could be used right now."""
        try:
            return (await self._resolve("anthropic")).value is not None
        except CredentialsError:
            return False

    # -- the welcome --

    def welcome(self, folder: Path | None) -> None:
        """Offer the ways to begin."""
        if self._welcome is None:
            self._welcome = OnboardingDialog(self._theme, self._window)
            self._welcome.demo_requested.connect(self.demo_requested)
            self._welcome.key_requested.connect(self.enter_key)
            self._welcome.folder_requested.connect(self.folder_requested)
            self._welcome.finished.connect(self._forget_welcome)
        self._welcome.set_folder(folder)
        self._welcome.open()

    def show_folder(self, folder: Path) -> None:
        """Tell the welcome, if it is open, which folder was chosen."""
        if self._welcome is not None:
            self._welcome.set_folder(folder)

    def _forget_welcome(self) -> None:
        if self._welcome is not None:
            self._welcome.deleteLater()
            self._welcome = None

    # -- the settings --

    def open_settings(self) -> None:
        """Show the settings as they are in force."""
        if self._dialog is None:
            self._dialog = SettingsDialog(self._theme, ANTHROPIC_MODELS, SystemClock().now, self._window)
            self._dialog.changed.connect(self._on_changed)
            self._dialog.reset.connect(self._on_reset)
            self._dialog.file_requested.connect(self._on_file)
            self._dialog.project_answered.connect(self.project_answered)
            self._dialog.key_saved.connect(self._on_key_saved)
            self._dialog.key_removed.connect(self._on_key_removed)
            self._dialog.key_check_requested.connect(self._on_key_check)
            self._dialog.rule_revoked.connect(self.rule_revoked)
            self._dialog.finished.connect(self._forget_settings)
        self._show_settings()
        self._dialog.show_rules(self._rules)
        self._spawn(self._show_key_status())
        self._dialog.open()

    def enter_key(self, pasted: str = "") -> None:
        """Show the settings with the keyboard in the field for the key, and what was pasted elsewhere in it."""
        self.open_settings()
        if self._dialog is not None:
            self._dialog.enter_key(pasted)

    def open_project(self) -> None:
        """Show the settings at what the project wants."""
        self.open_settings()
        if self._dialog is not None:
            self._dialog.show_section("project")

    def show_project(self, project: WorkspaceSettings) -> None:
        """Show the settings of this workspace's project, now or when the settings are opened."""
        self._project = project
        self._show_settings()

    def show_rules(self, rules: tuple[Rule, ...]) -> None:
        """Show these rules as those in force, now or when the settings are opened."""
        self._rules = rules
        if self._dialog is not None:
            self._dialog.show_rules(rules)

    def _forget_settings(self) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None

    def _show_settings(self) -> None:
        if self._dialog is None:
            return
        project = self._project
        is_trusted = project is not None and project.answer == "trusted"
        proposal = project.proposal if project is not None else None
        tightened = {change.key: change.after for change in proposal.changes} if proposal and is_trusted else {}
        self._dialog.show_view(SettingsView.of(self._live.loaded, tightened))
        self._dialog.show_project(proposal, project.answer if project is not None else None)

    def _on_changed(self, key: str, value: object) -> None:
        self._spawn(self._save(lambda: self._live.change(key, value)))

    def _on_reset(self, key: str) -> None:
        self._spawn(self._save(lambda: self._live.reset(key)))

    async def _save(self, carry_out: Callable[[], Awaitable[SettingChange]]) -> None:
        """Change one setting, after those before it, and say what came of it."""
        async with self._saving:
            try:
                change = await carry_out()
            except AgentError as error:
                if self._dialog is None:
                    raise
                self._show_settings()  # the control shows again what holds
                self._dialog.show_failure(error)
                return
        if self._dialog is not None:
            self._dialog.show_change(change)

    def _on_file(self) -> None:
        self._spawn(self._open_file())

    async def _open_file(self) -> None:
        """Open the settings file in the user's editor; an empty one is made if there is none."""
        await asyncio.to_thread(_begin_file, self._path)
        await self.open_text_file(self._path)

    async def open_text_file(self, path: Path) -> None:
        """Open a file in the user's editor; where there is nothing that an editor can show, its folder."""
        shown = path if await asyncio.to_thread(path.is_file) else path.parent
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(shown)))

    # -- keys --

    def _on_key_saved(self, provider: str, key: str) -> None:
        self._spawn(self._save_key(provider, key))

    def _on_key_removed(self, provider: str) -> None:
        self._spawn(self._remove_key(provider))

    def _on_key_check(self, provider: str, key: str) -> None:
        self._spawn(self._check_key(provider, key))

    async def _save_key(self, provider: str, key: str) -> None:
        self._show_busy(self.tr("Saving the key…"))
        try:
            await beside(lambda: self._keys.set(provider, key))
        except CredentialsError as error:
            self._keys.keep_for_now(provider, key)
            told = self.tr("{0} The key is kept for this run only.").format(error.title)
            self._show_result(is_good=False, message=told)
        else:
            self._show_result(is_good=True, message=self.tr("The key is kept in the system keyring."))
        await self._show_key_status()

    async def _remove_key(self, provider: str) -> None:
        self._show_busy(self.tr("Removing the key…"))
        try:
            await beside(lambda: self._keys.delete(provider))
        except CredentialsError as error:
            self._show_result(is_good=False, message=str(error))
        else:
            self._show_result(is_good=True, message=self.tr("The key was removed."))
        await self._show_key_status()

    async def _check_key(self, provider: str, typed: str) -> None:
        """Ask the provider whether a key works: the typed one, else the one in use."""
        self._show_busy(self.tr("Asking Anthropic…"))
        try:
            key = typed or (await self._resolve(provider)).value
            if not key:
                self._show_result(is_good=False, message=self.tr("There is no key to check."))
                return
            chosen = self._live.current.model
            client = AnthropicProvider(
                api_key=key,
                base_url=chosen.base_url or None,
                allows_readable_proxy=chosen.allow_readable_proxy,
            )
            try:
                await client.check_key()
            finally:
                await client.aclose()
        except AgentError as error:
            self._show_result(is_good=False, message=str(error))
        else:
            self._show_result(is_good=True, message=self.tr("The key works."))

    async def _show_key_status(self) -> None:
        provider = "anthropic"
        try:
            match (await self._resolve(provider)).source:
                case "environment":
                    status = KeyStatus(source="environment", place=KEY_VARIABLES[provider])
                case "keyring":
                    status = KeyStatus(source="keyring", place=await beside(self._keys.name))
                case "run":
                    status = KeyStatus(source="run")
                case None:  # whether one could be kept is worth trying only now
                    report = await beside(self._keys.probe)
                    status = KeyStatus(place=report.backend, problem=f"{report.problem} {report.hint}".strip())
        except CredentialsError as error:
            status = KeyStatus(problem=str(error))
        if self._dialog is not None:
            self._dialog.show_key_status(status)

    async def _resolve(self, provider: str) -> ResolvedKey:
        return await beside(lambda: resolve_key(provider, self._environ, self._keys))

    def _show_busy(self, message: str) -> None:
        if self._dialog is not None:
            self._dialog.show_key_busy(message)

    def _show_result(self, *, is_good: bool, message: str) -> None:
        if self._dialog is not None:
            self._dialog.show_key_result(KeyCheck(is_good=is_good, message=message))

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        self._spawner.spawn(self._told(work))

    async def _told(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except AgentError as error:
            self.failed.emit(error)


def _begin_file(path: Path) -> None:
    from desktop_agent.core.settings.settings_file import (
        begin_settings_file,  # with a parser of TOML, which takes a while
    )

    begin_settings_file(path)
