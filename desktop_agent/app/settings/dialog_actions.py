"""Carries out what the settings dialog asks for, and shows in it what came of that."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.connecting.local_servers import LocalServers
from desktop_agent.app.connecting.sign_in_actions import SignInActions
from desktop_agent.app.file_opening import open_in_editor
from desktop_agent.app.settings.account_actions import AccountActions
from desktop_agent.app.settings.key_actions import KeyActions
from desktop_agent.app.settings.server_control import ServerControl
from desktop_agent.app.settings.setting_changes import SettingChanges
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import LocalServer
from desktop_agent.core.settings.live_settings import SettingChange
from desktop_agent.ui.settings.settings_view import AccountsView, SettingsActions

if TYPE_CHECKING:  # a dialog with all its pages, which a start does not need
    from desktop_agent.ui.settings.settings_dialog import SettingsDialog


class DialogActions(QObject):
    """Each of its parts does it for one page. What comes when the dialog is closed is shown nowhere."""

    def __init__(
        self,
        bench: Workbench,
        try_: Try,
        parent: QObject,
        *,
        show_settings: Callable[[], None],
        answer_project: Callable[[str], None],
        revoke_rule: Callable[[str], None],
    ) -> None:
        """`show_settings` lets the controls show again what holds."""
        super().__init__(parent)
        self._path = bench.live.path or bench.paths.settings_file()
        self._try = try_
        self._show_settings = show_settings
        self._dialog: SettingsDialog | None = None
        changes = SettingChanges(bench.live, try_, done=self._show_change, fail=self._show_failure)
        accounts = AccountActions(bench, try_, self, show=self._show_accounts, fail=self._show_failure)
        self._accounts = accounts
        self.keys = KeyActions(bench, try_, self, changed=accounts.refresh)
        self.sign_ins = SignInActions(bench, try_, self, changed=accounts.refresh)
        self.local_servers = LocalServers(bench, try_, self._show_server)
        self.servers = ServerControl(bench, try_, self, fail=self._show_failure)
        """Shows the MCP servers and does with them what the user wants."""
        self.offered = SettingsActions(
            change=changes.change,
            reset=changes.reset,
            open_file=self._on_file,
            answer_project=answer_project,
            revoke_rule=revoke_rule,
            add_account=accounts.add,
            remove_account=accounts.remove,
            show_key=self.keys.show_status,
            save_key=self.keys.save,
            remove_key=self.keys.remove,
            sign_in=self.sign_ins.sign_in,
            cancel_sign_in=self.sign_ins.cancel,
            check_sign_in=self.sign_ins.check,
            look_for_server=self.local_servers.look_for,
            servers=self.servers.actions,
            check_key=self.keys.check,
        )
        """For the dialog."""

    def begin(self, dialog: "SettingsDialog") -> None:
        """Show in this dialog from now on what comes of what it asks for."""
        self._dialog, self.keys.editor, self.sign_ins.panel = dialog, dialog.key, dialog.sign_in
        self.servers.begin(dialog.show_servers, dialog.foot.show_note)

    def end(self) -> None:
        """Show it no longer: the dialog is closed."""
        self.servers.end()
        self._dialog = self.keys.editor = self.sign_ins.panel = None

    def show_accounts(self, chosen: Account) -> None:
        """Show the accounts, and the key of the one that is chosen."""
        self.keys.show_status(chosen)
        self._accounts.refresh()

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
        self._show_settings()
        self._dialog.foot.show_failure(error)

    def _on_file(self) -> None:
        self._try(self._open_file())

    async def _open_file(self) -> None:
        """Open the settings file in the user's editor; an empty one is made if there is none."""
        await asyncio.to_thread(_begin_file, self._path)
        await open_in_editor(self._path)


def _begin_file(path: Path) -> None:
    from desktop_agent.core.settings.settings_file import (
        begin_settings_file,  # with a parser of TOML, which takes a while
    )

    begin_settings_file(path)
