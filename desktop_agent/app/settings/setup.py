"""Setting up: the settings dialog, and the keys behind it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.connecting.local_servers import LocalServers
from desktop_agent.app.connecting.sign_in_actions import SignInActions
from desktop_agent.app.settings.account_actions import AccountActions
from desktop_agent.app.settings.dialog_making import DialogMaking
from desktop_agent.app.settings.key_actions import KeyActions
from desktop_agent.app.settings.server_control import ServerControl
from desktop_agent.app.settings.setting_changes import SettingChanges
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.local_server import LocalServer
from desktop_agent.core.models.vendors import known_vendor
from desktop_agent.core.protocol.model import ModelRef, Rule
from desktop_agent.core.settings.live_settings import SettingChange
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.ui.runtime.next_turn import open_next_turn
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.state import AccountsView, SettingsView
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.main_window import MainWindow

if TYPE_CHECKING:  # a dialog with all its pages, which a start does not need
    from desktop_agent.ui.settings.dialog import SettingsDialog
    from desktop_agent.ui.settings.sections import Section


class Setup(QObject):
    """Shows the settings dialog, and carries out what it asks for.

    Signals:
        project_answered: the user says `trusted` or `ignored` to the project's settings.
        rule_revoked: a rule (id) is to hold no longer.
    """

    project_answered = Signal(str)
    rule_revoked = Signal(str)

    def __init__(
        self,
        window: MainWindow,
        theme: Theme,
        bench: Workbench,
        try_: Try,
    ) -> None:
        super().__init__(window)
        live = bench.live
        self._path = live.path or bench.paths.settings_file()
        self._live = live
        self._project: WorkspaceSettings | None = None
        self._changes = SettingChanges(live, try_, done=self._show_change, fail=self._show_failure)
        self._accounts = AccountActions(bench, try_, self, show=self._show_accounts, fail=self._show_failure)
        self.keys = KeyActions(bench, try_, self, changed=self._accounts.refresh)
        self._sign_ins = SignInActions(bench, try_, self, changed=self._accounts.refresh)
        self.local_servers = LocalServers(bench, try_, self._show_server)
        self.servers = ServerControl(bench, try_, self, fail=self._show_failure)
        """Shows the MCP servers and does with them what the user wants."""
        self._try = try_
        live.subscribe(self._show_settings)
        self._dialog: SettingsDialog | None = None
        self._rules: tuple[Rule, ...] = ()
        self._actions = SettingsActions(
            change=self._changes.change,
            reset=self._changes.reset,
            open_file=self._on_file,
            answer_project=self.project_answered.emit,
            revoke_rule=self.rule_revoked.emit,
            add_account=self._accounts.add,
            remove_account=self._accounts.remove,
            show_key=self.keys.show_status,
            save_key=self.keys.save,
            remove_key=self.keys.remove,
            sign_in=self._sign_ins.sign_in,
            cancel_sign_in=self._sign_ins.cancel,
            check_sign_in=self._sign_ins.check,
            look_for_server=self.local_servers.look_for,
            servers=self.servers.actions,
            check_key=self.keys.check,
        )

        self.making = DialogMaking(window, theme, self._actions)
        """Makes its dialog."""

    def open_settings(self) -> None:
        """Show the settings as they are in force."""
        self._open()

    def open_section(self, section: "Section") -> None:
        """Show the settings at a section."""
        self._open().show_section(section)

    def find_setting(self, key: str) -> None:
        """Show the setting with this dotted name."""
        self._open().search_for(key)

    def enter_key(self, pasted: str = "") -> None:
        """Show the settings with the keyboard in the field for the key, and what was pasted elsewhere in it."""
        self._open().enter_key(pasted)

    def connect_provider(self, provider: str) -> None:
        """Show the settings with the keyboard in the field for this provider's key; another may stay chosen."""
        self._open().connect_provider(provider)

    def sign_in_again(self, model: ModelRef) -> None:
        """Show the settings, and begin the sign-in of the account by which a conversation goes on."""
        vendor = known_vendor(model.provider)
        self.connect_provider(model.provider)
        if vendor is not None and vendor.sign_in is not None:
            self._sign_ins.sign_in(vendor.sign_in, model.account)

    def open_project(self) -> None:
        """Show the settings at what the project wants."""
        self._open().show_section("project")

    def _open(self) -> "SettingsDialog":
        dialog = self._dialog
        if dialog is None:
            dialog = self.making.take()
            dialog.finished.connect(self._forget_settings)
            self._dialog, self.keys.editor, self._sign_ins.panel = dialog, dialog.key, dialog.sign_in
            self.servers.begin(dialog.show_servers, dialog.foot.show_note)
        self._show_settings()
        dialog.show_rules(self._rules)
        self.keys.show_status(dialog.key.account)
        self._accounts.refresh()
        open_next_turn(dialog)
        return dialog

    def show_project(self, project: WorkspaceSettings) -> None:
        """Show the settings of this workspace's project, now or when the settings are opened."""
        self._project = project
        self.servers.follow(project)
        self._show_settings()

    def show_rules(self, rules: tuple[Rule, ...]) -> None:
        """Show these rules as those in force, now or when the settings are opened."""
        self._rules = rules
        if self._dialog is not None:
            self._dialog.show_rules(rules)

    def _forget_settings(self) -> None:
        if self._dialog is not None:
            self.servers.end()
            self._dialog.deleteLater()
            self._dialog = self.keys.editor = self._sign_ins.panel = None

    def _show_settings(self) -> None:
        if self._dialog is None:
            return
        project = self._project
        is_trusted = project is not None and project.answer == "trusted"
        proposal = project.proposal if project is not None else None
        tightened = {change.key: change.after for change in proposal.changes} if proposal and is_trusted else {}
        self._dialog.show_view(SettingsView.of(self._live.loaded, tightened))
        self.servers.refresh()
        self._dialog.show_project(proposal, project.answer if project is not None else None)

    def _show_accounts(self, accounts: AccountsView) -> None:
        if self._dialog is not None:
            self._dialog.show_accounts(accounts)

    def _show_server(self, account: Account, server: LocalServer) -> None:
        if self._dialog is not None:
            self._dialog.show_server(account, server)

    def _show_change(self, change: SettingChange) -> None:
        if self._dialog is not None:
            self._dialog.foot.show_change(change)

    def _show_failure(self, error: AgentError) -> None:
        if self._dialog is None:
            raise error
        self._show_settings()  # the control shows again what holds
        self._dialog.foot.show_failure(error)

    def _on_file(self) -> None:
        self._try(self._open_file())

    async def _open_file(self) -> None:
        """Open the settings file in the user's editor; an empty one is made if there is none."""
        await asyncio.to_thread(_begin_file, self._path)
        await open_in_editor(self._path)


async def open_in_editor(path: Path) -> None:
    """Open a file in the user's editor; where there is nothing that an editor can show, its folder."""
    shown = path if await asyncio.to_thread(path.is_file) else path.parent
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(shown)))


def _begin_file(path: Path) -> None:
    from desktop_agent.core.settings.settings_file import (
        begin_settings_file,  # with a parser of TOML, which takes a while
    )

    begin_settings_file(path)
