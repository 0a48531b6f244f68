"""The settings dialog shows what is in force, emits what the user wants, and never keeps a key."""

import logging
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QListWidget, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.protocol.model import Rule
from desktop_agent.core.settings import (
    ExecutionSettings,
    LoadedSettings,
    ModelSettings,
    Settings,
    SettingSource,
    SettingsProblem,
    UiSettings,
    declared_settings,
    with_setting,
)
from desktop_agent.core.settings.live_settings import SettingChange
from desktop_agent.core.settings.loading import parse_file
from desktop_agent.core.settings.project import proposal_of
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.dialog import Section, SettingsDialog
from desktop_agent.ui.settings.key_editor import KeyStatus
from desktop_agent.ui.settings.project_banner import ProjectBanner
from desktop_agent.ui.settings.project_page import change_lines, problem_lines
from desktop_agent.ui.settings.setting_row import SettingRow
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.settings.switch import Switch
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.choice_card import ChoiceCard

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
SECRET = "sk-ant-api03-very-secret"


class Desk:
    """The dialog and what it emitted."""

    def __init__(self, app: QApplication, qtbot: QtBot) -> None:
        self.changed: list[tuple[str, object]] = []
        self.saved: list[tuple[str, str]] = []
        self.removed: list[str] = []
        self.checks: list[tuple[str, str]] = []
        self.reset: list[str] = []
        self.answers: list[str] = []
        self.revoked: list[str] = []
        self.opened_files = 0
        actions = SettingsActions(
            change=self._note_change,
            reset=self.reset.append,
            open_file=self._note_file,
            answer_project=self.answers.append,
            revoke_rule=self.revoked.append,
            save_key=self._note_saved,
            remove_key=self.removed.append,
            check_key=self._note_check,
        )
        models = ["claude-sonnet-5-5", "claude-opus-5-5"]
        self.dialog = SettingsDialog(Theme(app, "light"), models, lambda: NOW, actions)
        qtbot.addWidget(self.dialog)
        self.show(Settings())
        self.dialog.key.show_status(KeyStatus())
        self.dialog.open()
        qtbot.waitExposed(self.dialog)

    def _note_change(self, name: str, value: object) -> None:
        self.changed.append((name, value))

    def _note_file(self) -> None:
        self.opened_files += 1

    def _note_saved(self, provider: str, key: str) -> None:
        self.saved.append((provider, key))

    def _note_check(self, provider: str, key: str) -> None:
        self.checks.append((provider, key))

    def show(self, settings: Settings, **more: Any) -> None:
        """Show these settings as they would come from a file."""
        self.dialog.show_view(SettingsView.of(replace(LoadedSettings(settings, ()), **more)))

    def setting(self, key: str) -> SettingRow:
        """The row of a setting, on its page."""
        row = self.dialog.findChild(SettingRow, f"setting_{key}")
        assert isinstance(row, SettingRow)
        return row

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
        button = self.dialog.findChild(QPushButton, name)
        assert isinstance(button, QPushButton)
        return button

    def click(self, name: str) -> None:
        assert self.button(name).isVisible()
        QTest.mouseClick(self.button(name), Qt.MouseButton.LeftButton)

    @property
    def field(self) -> QLineEdit:
        field = self.dialog.findChild(QLineEdit, "apiKeyEdit")
        assert isinstance(field, QLineEdit)
        return field

    def picker(self, accessible_name: str) -> QComboBox:
        return next(box for box in self.dialog.findChildren(QComboBox) if box.accessibleName() == accessible_name)

    def visible_texts(self) -> list[str]:
        return [label.text() for label in self.dialog.findChildren(QLabel) if label.isVisible() and label.text()]


@pytest.fixture
def desk(qapp: QApplication, qtbot: QtBot) -> Desk:
    return Desk(qapp, qtbot)


# --- settings -----------------------------------------------------------------------------------------------------


def test_showing_settings_tells_nothing(desk: Desk) -> None:
    desk.show(
        Settings(
            model=ModelSettings(provider="demo", name="another", base_url="https://proxy.example"),
            execution=ExecutionSettings(approval="always"),
            ui=UiSettings(theme="dark", colour_blind_safe_diff=True, chat_font_px=17, code_font_px=9, diff_font_px=9.5),
        )
    )
    desk.dialog.show_section("appearance")
    assert desk.changed == []
    assert desk.picker("Theme").currentText() == "Dark"
    assert desk.line("Size of chat text, pixels").text() == "17"
    assert desk.switch("Diffs in blue and orange").isChecked()


@pytest.mark.parametrize(
    ("section", "picker", "label", "name", "value"),
    [
        ("model", "Provider", "Demo, without a key", "model.provider", "demo"),
        ("appearance", "Theme", "Dark", "ui.theme", "dark"),
    ],
)
def test_a_choice_is_told_by_its_name_in_the_settings(
    desk: Desk, section: Section, picker: str, label: str, name: str, value: object
) -> None:
    desk.dialog.show_section(section)
    box = desk.picker(picker)
    box.setCurrentIndex(box.findText(label))
    assert desk.changed == [(name, value)]
    assert with_setting(Settings(), name, value) != Settings()  # the settings know the name and take the value


@pytest.mark.parametrize(
    ("section", "field", "typed", "name", "value"),
    [
        ("appearance", "Size of chat text, pixels", "15", "ui.chat_font_px", 15),
        ("appearance", "Size of diffs, pixels", "12.5", "ui.diff_font_px", 12.5),
        ("changes", "Largest file, MiB", "2", "capture.max_file_bytes", 2 * 2**20),
        ("tools", "Bytes of a result, KiB", "0.5", "tools.limits.max_stdout_bytes", 512),
        ("approvals", "Longest command, seconds", "90", "execution.timeout_seconds", 90.0),
        ("command line", "Audit log", " ~/audit.jsonl ", "runner.audit_log", "~/audit.jsonl"),
    ],
)
def test_what_is_typed_is_told_in_the_unit_of_the_settings_and_only_when_it_is_complete(
    desk: Desk, section: Section, field: str, typed: str, name: str, value: object
) -> None:
    desk.dialog.show_section(section)
    desk.type_into(field, typed)
    assert desk.changed == [(name, value)]
    assert with_setting(Settings(), name, value) != Settings()


def test_an_emptied_field_unsets_what_may_be_unset(desk: Desk) -> None:
    desk.show(with_setting(Settings(), "execution.timeout_seconds", 90))
    desk.dialog.show_section("approvals")
    line = desk.line("Longest command, seconds")
    line.clear()
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.changed == [("execution.timeout_seconds", None)]


def test_what_is_no_number_is_passed_on_for_the_settings_to_refuse(desk: Desk) -> None:
    desk.dialog.show_section("appearance")
    desk.type_into("Size of code, pixels", "large")
    assert desk.changed == [("ui.code_font_px", "large")]
    with pytest.raises(UsageError, match="not a whole number"):
        with_setting(Settings(), *desk.changed[0])


def test_arrow_keys_step_through_numbers(desk: Desk) -> None:
    desk.dialog.show_section("appearance")
    line = desk.line("Size of code, pixels")
    QTest.keyClick(line, Qt.Key.Key_Up)
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.changed == [("ui.code_font_px", 13)]


def test_entries_of_a_list_are_added_and_removed_by_keyboard(desk: Desk) -> None:
    desk.dialog.show_section("approvals")
    desk.type_into("New entry for Blocked commands", "git push")
    desk.type_into("New entry for Blocked commands", "git push")
    assert desk.changed == [("execution.blocked_commands", ("git push",))]
    entries = next(
        item for item in desk.dialog.findChildren(QListWidget) if item.accessibleName() == "Blocked commands"
    )
    entries.setCurrentRow(0)
    QTest.keyClick(entries, Qt.Key.Key_Delete)
    assert desk.changed[1:] == [("execution.blocked_commands", ())]


def test_every_setting_is_found_by_its_name_and_by_what_it_does(desk: Desk) -> None:
    search = desk.line("Search settings")
    for setting in declared_settings().values():
        for text in (setting.key, setting.about.title, setting.about.text.partition("`")[0]):
            search.setText(text)
            found = [row.setting.key for row in desk.dialog.findChildren(SettingRow) if row.isVisible()]
            assert setting.key in found
    search.setText("no such thing")
    assert any("No setting matches" in text for text in desk.visible_texts())
    search.clear()
    assert desk.field.isVisible(), "the page that was shown before"


def test_every_setting_has_its_control_on_a_page(desk: Desk) -> None:
    for section in ("appearance", "approvals", "conversations", "tools", "changes", "command line"):
        desk.dialog.show_section(section)
    on_rows = {row.setting.key for row in desk.dialog.findChildren(SettingRow)}
    by_hand = {"model.provider", "model.name", "model.base_url", "execution.approval", "execution.sandbox"}
    assert on_rows | by_hand == set(declared_settings())


def test_a_changed_setting_names_its_default_and_is_reset(desk: Desk) -> None:
    desk.show(with_setting(Settings(), "ui.code_font_px", 15))
    desk.dialog.show_section("appearance")
    assert "Changed. Default: 12 pixels" in desk.visible_texts()
    reset = next(
        button for button in desk.dialog.findChildren(QPushButton) if button.accessibleName() == "Reset Size of code"
    )
    QTest.mouseClick(reset, Qt.MouseButton.LeftButton)
    assert desk.reset == ["ui.code_font_px"]


def test_what_is_wrong_with_the_file_is_said_at_the_setting_and_above(desk: Desk) -> None:
    file = Path("/home/me/config.toml")
    problems = (
        SettingsProblem(file, "ui.theme", "'pink' is not one of system, light, dark; using 'system'", 2),
        SettingsProblem(file, "looks", "unknown section", 4),
    )
    desk.show(Settings(), problems=problems)
    desk.dialog.show_section("appearance")
    texts = desk.visible_texts()
    assert "config.toml:2: 'pink' is not one of system, light, dark; using 'system'." in texts
    assert "/home/me/config.toml:4: looks: unknown section" in texts


def test_what_the_environment_sets_says_so_and_cannot_be_changed(desk: Desk) -> None:
    desk.show(Settings(), sources={"model.max_tokens": SettingSource("environment", "ANTHROPIC_MAX_TOKENS")})
    assert any("ANTHROPIC_MAX_TOKENS, which overrides the file" in text for text in desk.visible_texts())
    assert not desk.setting("model.max_tokens").control.isEnabled()


def test_the_last_change_is_told_and_taken_back(desk: Desk) -> None:
    desk.dialog.foot.show_change(SettingChange("ui.theme", "system", "dark", was_set=False, is_set=True))
    assert "Theme: As the system → Dark." in desk.visible_texts()
    desk.click("undoSettingButton")
    assert (desk.reset, desk.changed) == (["ui.theme"], [])
    desk.dialog.foot.show_change(SettingChange("ui.theme", "dark", "system", was_set=True, is_set=False))
    assert not desk.button("undoSettingButton").isVisible()
    desk.dialog.foot.show_change(SettingChange("ui.theme", "light", "dark", was_set=True, is_set=True))
    desk.click("undoSettingButton")
    assert desk.changed == [("ui.theme", "light")]


def test_what_was_not_saved_says_why(desk: Desk) -> None:
    desk.dialog.foot.show_failure(
        UsageError("ui.theme cannot be 'pink'.", hint="Allowed is one of system, light, dark.")
    )
    assert "ui.theme cannot be 'pink'. Allowed is one of system, light, dark." in desk.visible_texts()


def test_the_projects_wish_is_shown_whole_and_answered(desk: Desk) -> None:
    text = '[execution]\napproval = "always"\nsandbox = "none"\n'
    proposal = proposal_of(parse_file(Path("/app/.desktop-agent/config.toml"), text), Settings())
    desk.dialog.show_project(proposal, None)
    desk.dialog.show_section("project")
    texts = desk.visible_texts()
    assert "Approvals: Asks before writing → Asks before every call" in texts
    assert any("execution.sandbox: refused" in text for text in texts)
    desk.click("trustProjectButton")
    desk.dialog.show_project(proposal, "trusted")
    assert not desk.button("trustProjectButton").isVisible()
    desk.click("ignoreProjectButton")
    assert desk.answers == ["trusted", "ignored"]


def test_nothing_a_project_says_begins_a_line_hides_or_is_endless() -> None:
    text = '[execution]\nblocked_commands = ["rm\\nApprovals: a → b", "\\u202Ex", "%s"]\n[nope]\n' % ("y" * 20_000)
    proposal = proposal_of(parse_file(Path("/app/.desktop-agent/config.toml"), text), Settings())
    [line] = change_lines(proposal.changes)
    assert "\n" not in line
    assert "\u202e" not in line
    assert len(line) < 700
    assert max(map(len, re.split(r"[\s\u200b]", line))) <= 40
    problem = SettingsProblem(Path("c"), "x\ny", "z" * 20_000, 1)
    assert all("\n" not in told and len(told) < 700 for told in problem_lines([problem]))


def test_the_banner_about_a_project_stays_a_banner(theme: Theme, qtbot: QtBot) -> None:
    blocked = ", ".join(f'"{"y" * 90}{number}"' for number in range(300))
    text = f"[execution]\nblocked_commands = [{blocked}]\n"
    banner = ProjectBanner()
    qtbot.addWidget(banner)
    banner.show_proposal(proposal_of(parse_file(Path("/app/config.toml"), text), Settings()))
    banner.resize(600, 10)
    assert banner.heightForWidth(600) < 140
    assert banner.minimumSizeHint().width() < 600


def test_any_model_can_be_typed_and_is_told_once(desk: Desk) -> None:
    box = desk.picker("Model")
    line = box.lineEdit()
    assert line is not None
    line.selectAll()
    QTest.keyClicks(line, "claude-next")
    QTest.keyClick(line, Qt.Key.Key_Return)
    desk.show(with_setting(Settings(), "model.name", "claude-next"))
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.changed == [("model.name", "claude-next")]


def test_an_address_is_told_when_it_is_complete(desk: Desk) -> None:
    address = desk.dialog.findChild(QLineEdit, "baseUrlEdit")
    assert isinstance(address, QLineEdit)
    QTest.keyClicks(address, " https://proxy.example ")
    assert desk.changed == []
    QTest.keyClick(address, Qt.Key.Key_Return)
    assert desk.changed == [("model.base_url", "https://proxy.example")]


def test_an_address_that_is_not_encrypted_is_warned_of_while_it_is_typed(desk: Desk) -> None:
    address = desk.dialog.findChild(QLineEdit, "baseUrlEdit")
    assert isinstance(address, QLineEdit)
    for text, is_warned in (("http://10.1.2.3", True), ("http://localhost:8", False), ("https://10.1.2.3", False)):
        address.setText(text)
        assert any("Not encrypted" in shown for shown in desk.visible_texts()) == is_warned


def test_the_demo_asks_for_no_key(desk: Desk) -> None:
    desk.show(Settings(model=ModelSettings(provider="demo")))
    assert not desk.field.isVisible()
    assert any("needs no key" in text for text in desk.visible_texts())


def test_a_policy_is_chosen_by_its_card(desk: Desk) -> None:
    desk.dialog.show_section("approvals")
    card = desk.dialog.findChild(ChoiceCard, "approval_on_request")
    default = desk.dialog.findChild(ChoiceCard, "approval_on_write")
    assert isinstance(card, ChoiceCard)
    assert isinstance(default, ChoiceCard)
    assert default.isChecked()
    QTest.mouseClick(card, Qt.MouseButton.LeftButton)
    assert desk.changed == [("execution.approval", "on_request")]


@pytest.mark.parametrize("policy", ["always", "on_write", "on_request", "never"])
def test_every_policy_has_its_card(desk: Desk, policy: Literal["always", "on_write", "on_request", "never"]) -> None:
    desk.show(Settings(execution=ExecutionSettings(approval=policy)))
    cards = [card for card in desk.dialog.findChildren(ChoiceCard) if card.isChecked()]
    assert [card.objectName() for card in cards] == [f"approval_{policy}"]
    assert desk.changed == []


def test_the_sandbox_of_new_sessions_is_chosen_and_its_consequence_said(desk: Desk) -> None:
    desk.dialog.show_section("approvals")
    sandbox = desk.picker("Sandbox")
    assert sandbox.currentData() == "restricted"
    sandbox.setCurrentIndex(sandbox.findData("none"))
    assert desk.changed == [("execution.sandbox", "none")]
    assert "Commands can do whatever your account can." in desk.visible_texts()


def test_the_rules_in_force_are_listed_and_revoked(desk: Desk) -> None:
    rule = Rule(id="r-1", effect="allow", kind="command", pattern="git push", scope="always", created_at=NOW)
    desk.dialog.show_section("rules")
    desk.dialog.rules.show_rules([rule])
    desk.click("revokeRuleButton")
    assert desk.revoked == ["r-1"]


def test_sections_are_reached_by_keyboard(desk: Desk) -> None:
    sections = desk.dialog.findChild(QListWidget, "settingsSections")
    assert isinstance(sections, QListWidget)
    sections.setFocus()
    QTest.keyClick(sections, Qt.Key.Key_Down)
    assert desk.setting("ui.theme").isVisible()


# --- keys ---------------------------------------------------------------------------------------------------------


def everything_said(root: QWidget) -> str:
    """Every text a widget of the dialog holds or shows."""
    said: list[str] = []
    for widget in [root, *root.findChildren(QWidget)]:
        said += [widget.toolTip(), widget.windowTitle(), widget.accessibleName(), widget.accessibleDescription()]
        if isinstance(widget, QLineEdit | QLabel | QPushButton):
            said.append(widget.text())
    return "\n".join(said)


def test_a_saved_key_goes_out_once_and_is_nowhere_any_more(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    QTest.keyClicks(desk.field, f"{SECRET} ")
    desk.click("saveKeyButton")
    assert desk.saved == [("anthropic", SECRET)]
    QTest.keyClick(desk.field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert SECRET not in everything_said(desk.dialog)
    assert SECRET not in caplog.text


def test_a_key_that_was_not_saved_is_forgotten_when_the_dialog_closes(desk: Desk) -> None:
    QTest.keyClicks(desk.field, SECRET)
    QTest.keyClick(desk.dialog, Qt.Key.Key_Escape)
    assert SECRET not in everything_said(desk.dialog)
    assert desk.saved == []


def test_a_key_is_hidden_until_it_is_to_be_shown(desk: Desk) -> None:
    QTest.keyClicks(desk.field, SECRET)
    assert desk.field.displayText() != SECRET
    desk.click("showKeyButton")
    assert desk.field.displayText() == SECRET
    desk.click("saveKeyButton")
    assert desk.field.echoMode() == QLineEdit.EchoMode.Password


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (KeyStatus(), "There is no key yet."),
        (KeyStatus(source="environment", place="ANTHROPIC_API_KEY"), "environment variable ANTHROPIC_API_KEY"),
        (KeyStatus(source="keyring", place="SecretService"), "system keyring (SecretService)"),
        (KeyStatus(problem="This system has no keyring to keep keys in."), "no keyring"),
    ],
)
def test_it_says_where_the_key_in_use_comes_from(desk: Desk, status: KeyStatus, words: str) -> None:
    desk.dialog.key.show_status(status)
    assert any(words in text for text in desk.visible_texts())


def test_without_a_keyring_a_key_can_be_used_in_this_run_and_checked(desk: Desk) -> None:
    desk.dialog.key.show_status(KeyStatus(problem="The keyring is locked."))
    QTest.keyClicks(desk.field, SECRET)
    assert desk.button("saveKeyButton").isEnabled()
    desk.click("checkKeyButton")
    assert desk.checks == [("anthropic", SECRET)]
    desk.dialog.key.show_result("The key works.", is_good=True)
    QTest.keyClick(desk.field, Qt.Key.Key_Return)
    assert desk.saved == [("anthropic", SECRET)]


def test_a_check_shows_that_it_runs_and_what_came_of_it(desk: Desk) -> None:
    assert not desk.button("checkKeyButton").isEnabled()
    desk.dialog.key.show_status(KeyStatus(source="keyring", place="SecretService"))
    desk.click("checkKeyButton")
    assert desk.checks == [("anthropic", "")]
    desk.dialog.key.show_busy("Checking the key…")
    assert "Checking the key…" in desk.visible_texts()
    assert not desk.button("checkKeyButton").isEnabled()
    desk.dialog.key.show_result("The key works.", is_good=True)
    assert "The key works." in desk.visible_texts()
    assert desk.button("checkKeyButton").isEnabled()


def test_a_check_keeps_the_keyboard_at_the_key(desk: Desk) -> None:
    desk.dialog.key.show_status(KeyStatus(source="keyring", place="SecretService"))
    check = desk.button("checkKeyButton")
    check.setFocus()
    desk.click("checkKeyButton")
    desk.dialog.key.show_busy("Checking the key…")
    assert desk.field.hasFocus()
    desk.dialog.key.show_result("The key works.", is_good=True)
    assert check.hasFocus()
    remove = desk.button("removeKeyButton")
    remove.click()
    assert desk.button("keepKeyButton").hasFocus()
    desk.click("keepKeyButton")
    assert remove.hasFocus()
    remove.click()
    desk.click("reallyRemoveKeyButton")
    assert desk.field.hasFocus()


def test_only_a_kept_key_can_be_removed_and_only_after_a_second_thought(desk: Desk) -> None:
    desk.dialog.key.show_status(KeyStatus(source="environment", place="ANTHROPIC_API_KEY"))
    assert not desk.button("removeKeyButton").isVisible()
    desk.dialog.key.show_status(KeyStatus(source="keyring", place="SecretService"))
    desk.click("removeKeyButton")
    desk.click("keepKeyButton")
    assert desk.removed == []
    desk.click("removeKeyButton")
    desk.click("reallyRemoveKeyButton")
    assert desk.removed == ["anthropic"]
