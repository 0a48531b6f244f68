"""The page of keys finds actions by name and by pressed keys, and emits changes."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import with_setting
from desktop_agent.ui.settings.keys_page import KeyList, ShortcutField
from tests.parts import part
from tests.ui.settings.desk import Desk

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier


@pytest.fixture
def keys(desk: Desk) -> Desk:
    desk.dialog.show_section("keyboard")
    desk.settle()
    return desk


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


def test_keys_are_found_by_what_they_do_and_by_pressing_them(keys: Desk) -> None:
    QTest.keyClicks(keys.line("Search keys by action"), "find in")
    assert shown(keys) == [
        "Find in the conversation: Ctrl+F",
        "Find in the changes of this file: Ctrl+F",
        "Find in the file: Ctrl+F",
        "Find in the terminal: Ctrl+Shift+F",
    ]
    keys.line("Search keys by action").clear()
    press(keys, "keysPressed", Qt.Key.Key_F2)
    assert shown(keys) == ["Rename the session: F2", "Rename the file: F2"]
    press(keys, "keysPressed", Qt.Key.Key_Escape)
    assert len(shown(keys)) > 60
    assert keys.dialog.isVisible(), "Esc was for the field"


def test_free_keys_are_used_instead_of_the_old_ones_or_beside_them(keys: Desk) -> None:
    rows(keys).choose("find")
    keys.click("changeKeysButton")
    press(keys, "newKeysField", Qt.Key.Key_X)
    assert "X is used for writing" in said(keys)
    press(keys, "newKeysField", Qt.Key.Key_Return)
    assert keys.changed == []
    press(keys, "newKeysField", Qt.Key.Key_X, ALT)
    assert said(keys) == "Alt+X is free."
    press(keys, "newKeysField", Qt.Key.Key_Return)
    assert keys.changed == [("keys.find", ("Alt+X",))]
    keys.show(with_setting(Settings(), "keys.find", ["Alt+X"]))
    keys.click("addKeysButton")
    press(keys, "newKeysField", Qt.Key.Key_F5)
    keys.click("useKeysButton")
    assert keys.changed[1:] == [("keys.find", ("Alt+X", "F5"))]


def test_a_clash_is_named_before_the_keys_are_taken(keys: Desk) -> None:
    rows(keys).choose("find")
    keys.click("changeKeysButton")
    press(keys, "newKeysField", Qt.Key.Key_F, CTRL | SHIFT)
    assert said(keys) == "Ctrl+Shift+F belongs to “Search all sessions…”, which would lose it."
    keys.click("cancelKeysButton")
    assert keys.changed == []
    keys.click("changeKeysButton")
    press(keys, "newKeysField", Qt.Key.Key_F2)
    assert "In the file tree: Rename the file" in said(keys)
    press(keys, "newKeysField", Qt.Key.Key_C, CTRL)
    assert said(keys).startswith("Ctrl+C has another action")
    press(keys, "newKeysField", Qt.Key.Key_F, CTRL | SHIFT)
    keys.click("useKeysButton")
    assert keys.changed == [("keys.search", ()), ("keys.find", ("Ctrl+Shift+F",))]


def test_keys_of_a_part_are_changed_as_those_that_work_everywhere(keys: Desk) -> None:
    rows(keys).choose("diff.keep")
    keys.click("changeKeysButton")
    press(keys, "newKeysField", Qt.Key.Key_U)
    assert said(keys) == "U belongs to “Undo the change”, which would lose it."
    press(keys, "newKeysField", Qt.Key.Key_F, CTRL | SHIFT)
    assert "“Search all sessions…”. In this part of the window, the new action takes precedence." in said(keys)
    press(keys, "newKeysField", Qt.Key.Key_Y)
    assert said(keys) == "Y is free."
    press(keys, "newKeysField", Qt.Key.Key_Return)
    assert keys.changed == [("keys.diff.keep", ("Y",))]


def test_enter_is_a_key_where_one_writes_until_something_was_pressed(keys: Desk) -> None:
    rows(keys).choose("composer.break_line")
    keys.click("changeKeysButton")
    press(keys, "newKeysField", Qt.Key.Key_Return)
    assert said(keys) == "Enter belongs to “Send”, which would lose it."
    press(keys, "newKeysField", Qt.Key.Key_Return)
    assert keys.changed == [("keys.composer.send", ()), ("keys.composer.break_line", ("Enter",))]


def test_keys_are_pressed_one_after_the_other_and_a_clash_with_the_first_is_named(keys: Desk) -> None:
    rows(keys).choose("settings")
    keys.click("changeKeysButton")
    press(keys, "newKeysField", Qt.Key.Key_K, CTRL)
    assert said(keys).startswith("Ctrl+K belongs to “Command palette…”")
    keys.click("moreKeysButton")
    assert said(keys) == "Press the key that follows Ctrl+K."
    assert not keys.button("useKeysButton").isEnabled()
    press(keys, "newKeysField", Qt.Key.Key_S, CTRL)
    expected = "Ctrl+K, Ctrl+S begins with Ctrl+K, and “Command palette…” would lose that shortcut."
    assert said(keys) == expected
    keys.click("useKeysButton")
    assert keys.changed == [("keys.command_palette", ()), ("keys.settings", ("Ctrl+K, Ctrl+S",))]
    settings = with_setting(with_setting(Settings(), "keys.command_palette", []), "keys.settings", ["Ctrl+K, Ctrl+S"])
    keys.show(settings)
    rows(keys).choose("usage")
    keys.click("changeKeysButton")
    press(keys, "newKeysField", Qt.Key.Key_K, CTRL)
    assert said(keys) == "“Settings…” would lose Ctrl+K, Ctrl+S, which begins with Ctrl+K."


def test_keys_are_cleared_and_reset(keys: Desk) -> None:
    rows(keys).choose("quit")
    keys.click("clearKeysButton")
    assert keys.changed == [("keys.quit", ())]
    settings = with_setting(with_setting(Settings(), "keys.quit", []), "keys.find", ["F5"])
    keys.show(settings)
    assert "Find in the conversation: F5" in shown(keys)
    keys.click("resetKeysButton")
    assert keys.reset == ["keys.quit"]
    keys.click("resetAllKeysButton")
    assert keys.reset == ["keys.quit"], "it asks first"
    assert "2 actions have your own keys." in said(keys, "resetKeysQuestion")
    keys.click("keepKeysButton")
    keys.click("resetAllKeysButton")
    QTest.keyClick(keys.button("keepKeysButton"), Qt.Key.Key_Escape)
    assert keys.reset == ["keys.quit"]
    assert keys.dialog.isVisible(), "Esc was for the question"
    keys.click("resetAllKeysButton")
    keys.click("confirmResetKeysButton")
    assert sorted(keys.reset) == ["keys.find", "keys.quit", "keys.quit"]
    assert not keys.button("clearKeysButton").isEnabled()
