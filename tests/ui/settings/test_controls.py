"""Each control emits the user's complete choice as a setting."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListWidget

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import with_setting
from desktop_agent.ui.settings.settings_view import Section
from tests.ui.settings.desk import Desk


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
    desk.turn_to(section)
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
        ("approvals", "Command time limit, seconds", "90", "execution.timeout_seconds", 90.0),
        ("command line", "Audit log", " ~/audit.jsonl ", "runner.audit_log", "~/audit.jsonl"),
    ],
)
def test_what_is_typed_is_told_in_the_unit_of_the_settings_and_only_when_it_is_complete(
    desk: Desk, section: Section, field: str, typed: str, name: str, value: object
) -> None:
    desk.turn_to(section)
    desk.type_into(field, typed)
    assert desk.changed == [(name, value)]
    assert with_setting(Settings(), name, value) != Settings()


def test_an_emptied_field_unsets_what_may_be_unset(desk: Desk) -> None:
    desk.show(with_setting(Settings(), "execution.timeout_seconds", 90))
    desk.turn_to("approvals")
    line = desk.line("Command time limit, seconds")
    line.clear()
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.changed == [("execution.timeout_seconds", None)]


def test_what_is_no_number_is_passed_on_for_the_settings_to_refuse(desk: Desk) -> None:
    desk.turn_to("appearance")
    desk.type_into("Size of code, pixels", "large")
    assert desk.changed == [("ui.code_font_px", "large")]
    with pytest.raises(UsageError, match="not a whole number"):
        with_setting(Settings(), *desk.changed[0])


def test_arrow_keys_step_through_numbers(desk: Desk) -> None:
    desk.turn_to("appearance")
    line = desk.line("Size of code, pixels")
    QTest.keyClick(line, Qt.Key.Key_Up)
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.changed == [("ui.code_font_px", 13)]


def test_entries_of_a_list_are_added_and_removed_by_keyboard(desk: Desk) -> None:
    desk.turn_to("approvals")
    desk.type_into("New entry for Blocked commands", "git push")
    desk.type_into("New entry for Blocked commands", "git push")
    assert desk.changed == [("execution.blocked_commands", ("git push",))]
    entries = next(
        item for item in desk.dialog.findChildren(QListWidget) if item.accessibleName() == "Blocked commands"
    )
    entries.setCurrentRow(0)
    QTest.keyClick(entries, Qt.Key.Key_Delete)
    assert desk.changed[1:] == [("execution.blocked_commands", ())]
