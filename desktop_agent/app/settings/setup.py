"""The settings dialog: opened where the user wants it, and kept showing what holds."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.settings.dialog_actions import DialogActions
from desktop_agent.app.settings.dialog_making import DialogMaking
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.models.vendors import known_vendor
from desktop_agent.core.protocol.model import ModelRef, Rule
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.ui.runtime.pacing import open_next_turn
from desktop_agent.ui.settings.settings_view import SettingsView
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.main_window import MainWindow

if TYPE_CHECKING:  # a dialog with all its pages, which a start does not need
    from desktop_agent.ui.settings.settings_dialog import SettingsDialog
    from desktop_agent.ui.settings.settings_view import Section


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
            self.actions.sign_ins.sign_in(vendor.sign_in, model.account)

    def open_project(self) -> None:
        """Show the settings at what the project wants."""
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
        """Show the settings of this workspace's project, now or when the settings are opened."""
        self._project = project
        self.actions.servers.follow(project)
        self._show_settings()

    def show_rules(self, rules: tuple[Rule, ...]) -> None:
        """Show these rules as those in force, now or when the settings are opened."""
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
