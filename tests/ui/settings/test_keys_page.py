"""The page of keys finds actions by name and by pressed keys, and emits changes."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import with_setting
from desktop_agent.ui.settings.keys_page import KeyList, ShortcutField
from desktop_agent.ui.settings.settings_view import Section
from tests.parts import part
from tests.ui.settings.desk import Desk

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier


@pytest.fixture
def section() -> Section:
    return "keyboard"


def rows(desk: Desk) -> KeyList:
    return part(desk.dialog, KeyList)


def shown(desk: Desk) -> list[str]:
    groups = [rows(desk).topLevelItem(place) for place in range(rows(desk).topLevelItemCount())]
    inner = [group.child(place) for group in groups if group for place in range(group.childCount())]
    return [f"{row.text(0)}: {row.text(1)}" for row in inner if row and not row.isHidden()]


def press(desk: Desk, name: str, key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    field = part(desk.dialog, ShortcutField, name)
    assert field.isVisible()
    QTest.keyClick(field, key, held)


def said(desk: Desk, name: str = "newKeysNote") -> str:
    return part(desk.dialog, QLabel, name).text()


def test_keys_are_found_by_what_they_do_and_by_pressing_them(desk: Desk) -> None:
    QTest.keyClicks(desk.line("Search keys by action"), "find in")
    assert shown(desk) == [
        "Find in the conversation: Ctrl+F",
        "Find in the changes of this file: Ctrl+F",
        "Find in the file: Ctrl+F",
        "Find in the terminal: Ctrl+Shift+F",
    ]
    desk.line("Search keys by action").clear()
    press(desk, "keysPressed", Qt.Key.Key_F2)
    assert shown(desk) == ["Rename the session: F2", "Rename the file: F2"]
    press(desk, "keysPressed", Qt.Key.Key_Escape)
    assert len(shown(desk)) > 60
    assert desk.dialog.isVisible(), "Esc was for the field"


def test_free_keys_are_used_instead_of_the_old_ones_or_beside_them(desk: Desk) -> None:
    rows(desk).choose("find")
    desk.click("changeKeysButton")
    press(desk, "newKeysField", Qt.Key.Key_X)
    assert "X is used for writing" in said(desk)
    press(desk, "newKeysField", Qt.Key.Key_Return)
    assert desk.changed == []
    press(desk, "newKeysField", Qt.Key.Key_X, ALT)
    assert said(desk) == "Alt+X is free."
    press(desk, "newKeysField", Qt.Key.Key_Return)
    assert desk.changed == [("keys.find", ("Alt+X",))]
    desk.show(with_setting(Settings(), "keys.find", ["Alt+X"]))
    desk.click("addKeysButton")
    press(desk, "newKeysField", Qt.Key.Key_F5)
    desk.click("useKeysButton")
    assert desk.changed[1:] == [("keys.find", ("Alt+X", "F5"))]


def test_a_clash_is_named_before_the_keys_are_taken(desk: Desk) -> None:
    rows(desk).choose("find")
    desk.click("changeKeysButton")
    press(desk, "newKeysField", Qt.Key.Key_F, CTRL | SHIFT)
    assert said(desk) == "Ctrl+Shift+F belongs to “Search all sessions…”, which would lose it."
    desk.click("cancelKeysButton")
    assert desk.changed == []
    desk.click("changeKeysButton")
    press(desk, "newKeysField", Qt.Key.Key_F2)
    assert "In the file tree: Rename the file" in said(desk)
    press(desk, "newKeysField", Qt.Key.Key_C, CTRL)
    assert said(desk).startswith("Ctrl+C has another action")
    press(desk, "newKeysField", Qt.Key.Key_F, CTRL | SHIFT)
    desk.click("useKeysButton")
    assert desk.changed == [("keys.search", ()), ("keys.find", ("Ctrl+Shift+F",))]


def test_keys_of_a_part_are_changed_as_those_that_work_everywhere(desk: Desk) -> None:
    rows(desk).choose("diff.keep")
    desk.click("changeKeysButton")
    press(desk, "newKeysField", Qt.Key.Key_U)
    assert said(desk) == "U belongs to “Undo the change”, which would lose it."
    press(desk, "newKeysField", Qt.Key.Key_F, CTRL | SHIFT)
    assert "“Search all sessions…”. In this part of the window, the new action takes precedence." in said(desk)
    press(desk, "newKeysField", Qt.Key.Key_Y)
    assert said(desk) == "Y is free."
    press(desk, "newKeysField", Qt.Key.Key_Return)
    assert desk.changed == [("keys.diff.keep", ("Y",))]


def test_enter_is_a_key_where_one_writes_until_something_was_pressed(desk: Desk) -> None:
    rows(desk).choose("composer.break_line")
    desk.click("changeKeysButton")
    press(desk, "newKeysField", Qt.Key.Key_Return)
    assert said(desk) == "Enter belongs to “Send”, which would lose it."
    press(desk, "newKeysField", Qt.Key.Key_Return)
    assert desk.changed == [("keys.composer.send", ()), ("keys.composer.break_line", ("Enter",))]


def test_keys_are_pressed_one_after_the_other_and_a_clash_with_the_first_is_named(desk: Desk) -> None:
    rows(desk).choose("settings")
    desk.click("changeKeysButton")
    press(desk, "newKeysField", Qt.Key.Key_K, CTRL)
    assert said(desk).startswith("Ctrl+K belongs to “Command palette…”")
    desk.click("moreKeysButton")
    assert said(desk) == "Press the key that follows Ctrl+K."
    assert not desk.button("useKeysButton").isEnabled()
    press(desk, "newKeysField", Qt.Key.Key_S, CTRL)
    expected = "Ctrl+K, Ctrl+S begins with Ctrl+K, and “Command palette…” would lose that shortcut."
    assert said(desk) == expected
    desk.click("useKeysButton")
    assert desk.changed == [("keys.command_palette", ()), ("keys.settings", ("Ctrl+K, Ctrl+S",))]
    settings = with_setting(with_setting(Settings(), "keys.command_palette", []), "keys.settings", ["Ctrl+K, Ctrl+S"])
    desk.show(settings)
    rows(desk).choose("usage")
    desk.click("changeKeysButton")
    press(desk, "newKeysField", Qt.Key.Key_K, CTRL)
    assert said(desk) == "“Settings…” would lose Ctrl+K, Ctrl+S, which begins with Ctrl+K."


def test_keys_are_cleared_and_reset(desk: Desk) -> None:
    rows(desk).choose("quit")
    desk.click("clearKeysButton")
    assert desk.changed == [("keys.quit", ())]
    settings = with_setting(with_setting(Settings(), "keys.quit", []), "keys.find", ["F5"])
    desk.show(settings)
    assert "Find in the conversation: F5" in shown(desk)
    desk.click("resetKeysButton")
    assert desk.reset == ["keys.quit"]
    desk.click("resetAllKeysButton")
    assert desk.reset == ["keys.quit"], "it asks first"
    assert "2 actions have your own keys." in said(desk, "resetKeysQuestion")
    desk.click("keepKeysButton")
    desk.click("resetAllKeysButton")
    QTest.keyClick(desk.button("keepKeysButton"), Qt.Key.Key_Escape)
    assert desk.reset == ["keys.quit"]
    assert desk.dialog.isVisible(), "Esc was for the question"
    desk.click("resetAllKeysButton")
    desk.click("confirmResetKeysButton")
    assert sorted(desk.reset) == ["keys.find", "keys.quit", "keys.quit"]
    assert not desk.button("clearKeysButton").isEnabled()
