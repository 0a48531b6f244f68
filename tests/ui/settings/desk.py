"""The settings dialog, driven by a test, with its emissions."""

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.core.models.account import Account
from desktop_agent.core.settings.loading import LoadedSettings
from desktop_agent.core.settings.sections import Settings
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.settings.accounts import KeyStatus
from desktop_agent.ui.settings.page_parts import SettingRow
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from desktop_agent.ui.settings.settings_view import (
    AccountsView,
    AgentActions,
    PluginActions,
    Section,
    ServerActions,
    SettingsActions,
    SettingsView,
)
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.buttons import Switch
from tests.parts import part

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Desk:
    def __init__(self, app: QApplication, qtbot: QtBot, section: Section = "model") -> None:
        """`section` is shown first: building another page before it takes as long as the rest."""
        self.changed: list[tuple[str, object]] = []
        self.saved: list[tuple[Account, str]] = []
        self.removed: list[Account] = []
        self.checks: list[tuple[Account, str]] = []
        self.added: list[Account] = []
        self.changed_accounts: list[Account] = []
        self.removed_accounts: list[Account] = []
        self.asked_keys: list[Account] = []
        self.looked_for: list[Account] = []
        self.signed_in: list[tuple[str, str]] = []
        self.checked_sign_ins: list[Account] = []
        self.cancelled = 0
        self.reset: list[str] = []
        self.answers: list[str] = []
        self.revoked: list[str] = []
        self.asked_servers: list[tuple[object, ...]] = []
        self.opened_files = 0
        asked = self.asked_servers
        actions = SettingsActions(
            change=lambda key, value: self.changed.append((key, value)),
            reset=self.reset.append,
            open_file=self._note_file,
            answer_project=self.answers.append,
            revoke_rule=self.revoked.append,
            add_account=self.added.append,
            change_account=self.changed_accounts.append,
            remove_account=self.removed_accounts.append,
            show_key=self.asked_keys.append,
            save_key=lambda account, key: self.saved.append((account, key)),
            remove_key=self.removed.append,
            sign_in=lambda way, name: self.signed_in.append((way, name)),
            cancel_sign_in=self._note_cancelled,
            check_sign_in=self.checked_sign_ins.append,
            look_for_server=self.looked_for.append,
            servers=ServerActions(
                add=lambda definition, secret: asked.append(("add", definition, *filter(None, (secret,)))),
                edit=lambda definition, secret: asked.append(("edit", definition, *filter(None, (secret,)))),
                keep=lambda name: asked.append(("keep", name)),
                sign_in=lambda name: asked.append(("sign in", name)),
                cancel_sign_in=lambda name: asked.append(("cancel sign-in", name)),
                import_file=lambda path: asked.append(("import", path)),
                restart=lambda name: asked.append(("restart", name)),
                remove=lambda name: asked.append(("remove", name)),
                switch=lambda name, is_on: asked.append(("switch", name, is_on)),
                switch_tool=lambda name, tool, is_on: asked.append(("switch tool", name, tool, is_on)),
            ),
            agents=AgentActions(
                look=lambda: None,
                add=lambda agent: asked.append(("add", agent)),
                edit=lambda agent: asked.append(("edit", agent)),
                take_from_zed=lambda: asked.append(("take from zed",)),
                test=lambda name: asked.append(("test", name)),
                sign_in=lambda name, way: asked.append(("sign in", name, way.id)),
                cancel_sign_in=lambda: asked.append(("cancel sign-in",)),
                remove=lambda name: asked.append(("remove", name)),
            ),
            look_at_extensions=lambda kind: asked.append(("look at", kind)),
            plugins=PluginActions(
                look=lambda: asked.append(("look at plugins",)),
                stage=lambda source, inside: asked.append(("stage", source, inside)),
                add=lambda: asked.append(("add",)),
                discard=lambda: asked.append(("discard",)),
                renew=lambda name, digest: asked.append(("renew", name, digest)),
                remove=lambda name: asked.append(("remove", name)),
            ),
            check_key=lambda account, key: self.checks.append((account, key)),
        )
        self.dialog = SettingsDialog(Theme(app, "light"), lambda: NOW, actions)
        qtbot.addWidget(self.dialog)
        self.show(Settings())
        self.dialog.model.show_accounts(AccountsView(is_known=True))
        self.dialog.key.show_status(KeyStatus())
        self.dialog.show_section(section)
        with qtbot.waitExposed(self.dialog):
            self.dialog.open()
        self.settle()

    def turn_to(self, section: Section) -> None:
        self.dialog.show_section(section)
        self.settle()

    def settle(self) -> None:
        page = self.dialog.page
        while not page.is_built or any(not work.is_done for work in self.dialog.findChildren(GradualWork)):
            QApplication.processEvents()
        QApplication.processEvents()
        self.dialog.activateWindow()  # no window manager does it here

    def _note_file(self) -> None:
        self.opened_files += 1

    def _note_cancelled(self) -> None:
        self.cancelled += 1

    def show(self, settings: Settings, **more: Any) -> None:
        self.dialog.show_view(SettingsView.of(replace(LoadedSettings(settings, ()), **more)))

    def setting(self, key: str) -> SettingRow:
        return part(self.dialog, SettingRow, f"setting_{key}")

    def line(self, accessible_name: str) -> QLineEdit:
        return next(line for line in self.dialog.findChildren(QLineEdit) if line.accessibleName() == accessible_name)

    def switch(self, accessible_name: str) -> Switch:
        return next(item for item in self.dialog.findChildren(Switch) if item.accessibleName() == accessible_name)

    def type_into(self, accessible_name: str, text: str) -> None:
        line = self.line(accessible_name)
        line.selectAll()
        QTest.keyClicks(line, text)
        QTest.keyClick(line, Qt.Key.Key_Return)

    def button(self, name: str) -> QPushButton:
        return part(self.dialog, QPushButton, name)

    def click(self, name: str) -> None:
        assert self.button(name).isVisible()
        QTest.mouseClick(self.button(name), Qt.MouseButton.LeftButton)

    @property
    def field(self) -> QLineEdit:
        return part(self.dialog, QLineEdit, "apiKeyEdit")

    def picker(self, accessible_name: str) -> QComboBox:
        return next(box for box in self.dialog.findChildren(QComboBox) if box.accessibleName() == accessible_name)

    def visible_texts(self) -> list[str]:
        return [label.text() for label in self.dialog.findChildren(QLabel) if label.isVisible() and label.text()]
