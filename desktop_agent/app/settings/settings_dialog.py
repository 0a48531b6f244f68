"""The settings dialog: opens it, carries out what it asks for, and keeps it up to date."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from desktop_agent.app.connections import local_server
from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.file_opening import open_in_editor
from desktop_agent.app.settings.account_actions import AccountActions
from desktop_agent.app.settings.server_control import ServerControl
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import DEMO, known_vendor
from desktop_agent.core.protocol.model import ModelRef, Rule
from desktop_agent.core.settings.live_settings import LiveSettings, SettingChange
from desktop_agent.core.settings.model_choice import left_behind
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.ui.runtime.pacing import open_next_turn
from desktop_agent.ui.settings.settings_view import SettingsActions, SettingsView

if TYPE_CHECKING:
    from desktop_agent.ui.settings.settings_dialog import SettingsDialog


class SettingChanges:
    """Writes changed settings, one after the other."""

    def __init__(
        self, live: LiveSettings, *, done: Callable[[SettingChange], None], fail: Callable[[AgentError], None]
    ) -> None:
        """`done` and `fail` show the result where the user is."""
        self._live = live
        self._done = done
        self._fail = fail
        self._saving = asyncio.Lock()
        self._asked = live.current.model.provider
        """The provider in use; while the demo is chosen, the one before it."""
        live.subscribe(self._note_provider)

    async def change(self, key: str, value: object) -> None:
        """Change a setting. Another provider drops the settings that belonged to the previous one."""
        is_provider = key == "model.provider"
        await self._save(lambda: self._change_provider(str(value)) if is_provider else self._live.change(key, value))

    async def reset(self, key: str) -> None:
        await self._save(lambda: self._live.reset(key))

    def _note_provider(self) -> None:
        if (provider := self._live.current.model.provider) != DEMO:
            self._asked = provider

    async def _change_provider(self, provider: str) -> SettingChange:
        if provider != self._asked:
            for key in left_behind(self._live.loaded, provider):
                await self._live.reset(key)
        return await self._live.change("model.provider", provider)

    async def _save(self, carry_out: Callable[[], Awaitable[SettingChange]]) -> None:
        async with self._saving:
            try:
                change = await carry_out()
            except AgentError as error:
                self._fail(error)
                return
        self._done(change)


class Setup(Controller):
    """Shows the settings dialog and carries out what it asks for. Results that come after it closed are dropped."""

    project_answered = Signal(str)  # trusted or ignored
    rule_revoked = Signal(str)  # a rule's id

    def __init__(self, context: WindowContext) -> None:
        super().__init__(context)
        bench, launch = self._bench, self._launch
        self._project: WorkspaceSettings | None = None
        self._rules: tuple[Rule, ...] = ()
        self._dialog: SettingsDialog | None = None
        self._made_ahead: SettingsDialog | None = None
        changes = SettingChanges(bench.live, done=self._show_change, fail=self._show_failure)
        self._accounts = accounts = AccountActions(context, self._show_failure)
        self._servers = ServerControl(context, fail=self._show_failure)
        self._refresh_accounts = in_background(launch, accounts.refresh)
        self._actions = SettingsActions(
            change=in_background(launch, changes.change),
            reset=in_background(launch, changes.reset),
            open_file=in_background(launch, self._open_file),
            answer_project=self.project_answered.emit,
            revoke_rule=self.rule_revoked.emit,
            add_account=in_background(launch, accounts.add),
            remove_account=in_background(launch, accounts.remove),
            show_key=in_background(launch, accounts.show_key),
            save_key=in_background(launch, accounts.save_key),
            remove_key=in_background(launch, accounts.remove_key),
            check_key=in_background(launch, accounts.check_key),
            sign_in=accounts.sign_in,
            cancel_sign_in=accounts.cancel_sign_in,
            check_sign_in=accounts.check_sign_in,
            look_for_server=in_background(launch, self._look_for_server),
            servers=self._servers.actions,
        )
        bench.live.subscribe(self._show_settings)
        self._theme.changed.connect(self._drop_made_ahead)

    # --- the dialog -----------------------------------------------------------------------------------------------

    def make_ahead(self) -> Iterator[None]:
        """Make a dialog in small steps, for the first time that the settings are opened."""
        from desktop_agent.ui.settings.settings_dialog import Pages, SettingsDialog

        now = SystemClock().now
        pages = Pages(self._theme, now, self._actions)
        yield
        self._made_ahead = SettingsDialog(self._theme, now, self._actions, self._panels.window, pages=pages)

    def _drop_made_ahead(self) -> None:
        if self._made_ahead is not None:
            self._made_ahead.deleteLater()
            self._made_ahead = None

    def open(self) -> "SettingsDialog":
        """Show the dialog and, until it is closed, the results of what it asks for."""
        dialog = self._dialog
        if dialog is None:
            dialog = self._dialog = self._accounts.dialog = self._new_dialog()
            dialog.finished.connect(self._forget)
            self._servers.begin(dialog.pages.servers.show_servers, dialog.foot.show_note)
        self._show_settings()
        dialog.pages.rules.show_rules(self._rules)
        self._actions.show_key(dialog.key.account)
        self._refresh_accounts()
        open_next_turn(dialog)
        return dialog

    def _new_dialog(self) -> "SettingsDialog":
        from desktop_agent.ui.settings.settings_dialog import SettingsDialog

        made, self._made_ahead = self._made_ahead, None
        if made is None:
            return SettingsDialog(self._theme, SystemClock().now, self._actions, self._panels.window)
        made.fit_screen()
        return made

    def _forget(self) -> None:
        if self._dialog is not None:
            self._servers.end()
            self._dialog.deleteLater()
            self._dialog = self._accounts.dialog = None

    # --- what the window asks for ---------------------------------------------------------------------------------

    def open_project(self) -> None:
        self.open().show_section("project")

    def sign_in_again(self, model: ModelRef) -> None:
        """Start the sign-in for the account that a conversation uses."""
        vendor = known_vendor(model.provider)
        self.open().connect_provider(model.provider)
        if vendor is not None and vendor.sign_in is not None:
            self._accounts.sign_in(vendor.sign_in, model.account)

    def show_project(self, project: WorkspaceSettings) -> None:
        """Show this workspace's project, now or when the dialog opens."""
        self._project = project
        self._servers.follow(project)
        self._show_settings()

    def show_rules(self, rules: tuple[Rule, ...]) -> None:
        """Show these rules, now or when the dialog opens."""
        self._rules = rules
        if self._dialog is not None:
            self._dialog.pages.rules.show_rules(rules)

    # --- showing --------------------------------------------------------------------------------------------------

    def _show_settings(self) -> None:
        if self._dialog is None:
            return
        project = self._project
        is_trusted = project is not None and project.answer == "trusted"
        proposal = project.proposal if project is not None else None
        tightened = {change.key: change.after for change in proposal.changes} if proposal and is_trusted else {}
        self._dialog.show_view(SettingsView.of(self._bench.live.loaded, tightened, self._bench.environ))
        self._servers.refresh()
        self._dialog.show_project(proposal, project.answer if project is not None else None)

    def _show_change(self, change: SettingChange) -> None:
        if self._dialog is not None:
            self._dialog.foot.show_change(change)

    def _show_failure(self, error: AgentError) -> None:
        if self._dialog is None:
            raise error
        self._show_settings()
        self._dialog.foot.show_failure(error)

    async def _look_for_server(self, account: Account) -> None:
        server = await local_server(self._bench, account)
        if server is not None and self._dialog is not None:
            self._dialog.model.show_server(account, server)

    async def _open_file(self) -> None:
        """Open the settings file in the user's editor; create it if it is missing."""
        from desktop_agent.core.settings.settings_file import begin_settings_file  # with a slow parser of TOML

        path = self._bench.live.path or self._bench.paths.settings_file()
        await asyncio.to_thread(begin_settings_file, path)
        await open_in_editor(path)
