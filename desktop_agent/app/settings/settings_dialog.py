"""The settings dialog: opened where the user wants it, carried out, and kept showing what holds."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.connections import LocalServers
from desktop_agent.app.file_opening import open_in_editor
from desktop_agent.app.settings.account_actions import AccountActions, KeyActions, SignInActions
from desktop_agent.app.settings.server_control import ServerControl
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import DEMO, LocalServer, known_vendor
from desktop_agent.core.protocol.model import ModelRef, Rule
from desktop_agent.core.settings.live_settings import LiveSettings, SettingChange
from desktop_agent.core.settings.model_choice import left_behind
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.ui.runtime.pacing import open_next_turn
from desktop_agent.ui.settings.settings_view import AccountsView, SettingsActions, SettingsView
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.main_window import MainWindow

if TYPE_CHECKING:
    from desktop_agent.ui.settings.settings_dialog import SettingsDialog
    from desktop_agent.ui.settings.settings_view import Section


class DialogMaking:
    """Gives the settings dialog to who opens it: one that was made ahead, or a new one."""

    def __init__(self, window: MainWindow, theme: Theme, actions: SettingsActions) -> None:
        self._window = window
        self._theme = theme
        self._actions = actions
        self._made: SettingsDialog | None = None
        theme.changed.connect(self._drop)

    def make_ahead(self) -> Iterator[None]:
        from desktop_agent.ui.runtime.painting import polished
        from desktop_agent.ui.settings.settings_dialog import Pages, SettingsDialog

        now = SystemClock().now
        pages = Pages(self._theme, now, self._actions)
        yield
        made = self._made = SettingsDialog(self._theme, now, self._actions, self._window, pages=pages)
        for _ in polished(made):
            yield
            if self._made is not made:
                return  # it is in use, or of another look

    def take(self) -> "SettingsDialog":
        from desktop_agent.ui.settings.settings_dialog import SettingsDialog

        made, self._made = self._made, None
        if made is None:
            return SettingsDialog(self._theme, SystemClock().now, self._actions, self._window)
        made.fit_screen()
        return made

    def _drop(self) -> None:
        """Forget the one that was made, for fonts of another size."""
        if self._made is not None:
            self._made.deleteLater()
            self._made = None


class SettingChanges:
    """Carries them out. None blocks the window."""

    def __init__(
        self,
        live: LiveSettings,
        try_: Try,
        *,
        done: Callable[[SettingChange], None],
        fail: Callable[[AgentError], None],
    ) -> None:
        self._live = live
        self._try = try_
        self._done = done
        self._fail = fail
        self._saving = asyncio.Lock()
        self._asked = live.current.model.provider
        """The provider that was asked last, before the demo if that is chosen."""
        live.subscribe(self._note_provider)

    def change(self, key: str, value: object) -> None:
        if key == "model.provider":
            self._try(self._save(lambda: self._change_provider(str(value))))
        else:
            self._try(self._save(lambda: self._live.change(key, value)))

    def reset(self, key: str) -> None:
        self._try(self._save(lambda: self._live.reset(key)))

    def _note_provider(self) -> None:
        if (provider := self._live.current.model.provider) != DEMO:
            self._asked = provider

    async def _change_provider(self, provider: str) -> SettingChange:
        """Choose another provider, without the address, account and model of the one before."""
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

    def begin(self, dialog: "SettingsDialog") -> None:
        self._dialog, self.keys.editor, self.sign_ins.panel = dialog, dialog.key, dialog.sign_in
        self.servers.begin(dialog.show_servers, dialog.foot.show_note)

    def end(self) -> None:
        self.servers.end()
        self._dialog = self.keys.editor = self.sign_ins.panel = None

    def show_accounts(self, chosen: Account) -> None:
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
        await asyncio.to_thread(_begin_file, self._path)
        await open_in_editor(self._path)


def _begin_file(path: Path) -> None:
    from desktop_agent.core.settings.settings_file import (
        begin_settings_file,  # with a parser of TOML, which takes a while
    )

    begin_settings_file(path)


class Setup(QObject):
    """Shows the settings dialog; its `actions` carry out what it asks for.

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
        self._live = live = bench.live
        self._environ = bench.environ
        self._project: WorkspaceSettings | None = None
        self.actions = DialogActions(
            bench,
            try_,
            self,
            show_settings=self._show_settings,
            answer_project=self.project_answered.emit,
            revoke_rule=self.rule_revoked.emit,
        )
        live.subscribe(self._show_settings)
        self._dialog: SettingsDialog | None = None
        self._rules: tuple[Rule, ...] = ()
        self.making = DialogMaking(window, theme, self.actions.offered)

    def open_settings(self) -> None:
        self._open()

    def open_section(self, section: "Section") -> None:
        self._open().show_section(section)

    def find_setting(self, key: str) -> None:
        self._open().search_for(key)

    def enter_key(self, pasted: str = "") -> None:
        self._open().enter_key(pasted)

    def connect_provider(self, provider: str) -> None:
        self._open().connect_provider(provider)

    def sign_in_again(self, model: ModelRef) -> None:
        vendor = known_vendor(model.provider)
        self.connect_provider(model.provider)
        if vendor is not None and vendor.sign_in is not None:
            self.actions.sign_ins.sign_in(vendor.sign_in, model.account)

    def open_project(self) -> None:
        self._open().show_section("project")

    def _open(self) -> "SettingsDialog":
        dialog = self._dialog
        if dialog is None:
            dialog = self.making.take()
            dialog.finished.connect(self._forget_settings)
            self._dialog = dialog
            self.actions.begin(dialog)
        self._show_settings()
        dialog.show_rules(self._rules)
        self.actions.show_accounts(dialog.key.account)
        open_next_turn(dialog)
        return dialog

    def show_project(self, project: WorkspaceSettings) -> None:
        self._project = project
        self.actions.servers.follow(project)
        self._show_settings()

    def show_rules(self, rules: tuple[Rule, ...]) -> None:
        self._rules = rules
        if self._dialog is not None:
            self._dialog.show_rules(rules)

    def _forget_settings(self) -> None:
        if self._dialog is not None:
            self.actions.end()
            self._dialog.deleteLater()
            self._dialog = None

    def _show_settings(self) -> None:
        if self._dialog is None:
            return
        project = self._project
        is_trusted = project is not None and project.answer == "trusted"
        proposal = project.proposal if project is not None else None
        tightened = {change.key: change.after for change in proposal.changes} if proposal and is_trusted else {}
        self._dialog.show_view(SettingsView.of(self._live.loaded, tightened, self._environ))
        self.actions.servers.refresh()
        self._dialog.show_project(proposal, project.answer if project is not None else None)
