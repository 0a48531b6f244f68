"""A focused part of the window obeys its shortcuts, as the user configured them."""

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.part_keys import KeysOfParts, PartKeys

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
NONE = Qt.KeyboardModifier.NoModifier


def pressed(key: Qt.Key, held: Qt.KeyboardModifier = NONE) -> QKeyEvent:
    return QKeyEvent(QEvent.Type.KeyPress, key, held)


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    window = QWidget()
    qtbot.addWidget(window)
    return window


def test_keys_ask_for_what_they_are_for_by_default(window: QWidget) -> None:
    keys = PartKeys("composer", window)
    assert keys.read(pressed(Qt.Key.Key_Return)) == "send"
    assert keys.read(pressed(Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)) == "send"
    assert keys.read(pressed(Qt.Key.Key_Return, CTRL)) == "send_at_once"
    assert keys.read(pressed(Qt.Key.Key_A)) is None
    assert (keys.shown("send_at_once"), keys.hint("Send", "send")) == ("Ctrl+Enter", "Send (Enter)")


def test_other_keys_hold_in_their_place(window: QWidget) -> None:
    keys = PartKeys("composer", window)
    keys.use({"composer.send": ("Ctrl+Return",), "composer.send_at_once": (), "diff.keep": ("Enter",)})
    assert keys.read(pressed(Qt.Key.Key_Return)) is None
    assert keys.read(pressed(Qt.Key.Key_Return, CTRL)) == "send"
    assert keys.hint("Send now", "send_at_once") == "Send now"


def test_keys_of_several_strokes_are_followed_and_given_up_by_another_key(window: QWidget) -> None:
    keys = PartKeys("diff", window)
    keys.use({"diff.keep": ("Ctrl+K, S",), "diff.copy": ("X",)})
    assert keys.peek(pressed(Qt.Key.Key_K, CTRL)) == ""
    assert keys.peek(pressed(Qt.Key.Key_S)) is None, "nothing was begun by asking"
    assert keys.read(pressed(Qt.Key.Key_K, CTRL)) == ""
    assert keys.read(pressed(Qt.Key.Key_Shift)) is None
    assert keys.read(pressed(Qt.Key.Key_S)) == "keep"
    assert keys.read(pressed(Qt.Key.Key_K, CTRL)) == ""
    assert keys.read(pressed(Qt.Key.Key_X)) == "copy"
    assert keys.read(pressed(Qt.Key.Key_S)) is None


def test_a_bound_key_works_in_all_of_its_part_and_follows_a_change(window: QWidget, qtbot: QtBot) -> None:
    field, other = QLineEdit(window), QLineEdit(window)
    keys, calls = PartKeys("viewer", window), list[str]()
    keys.bind("next_tab", lambda: calls.append("next"), window)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Tab, CTRL)
    assert calls == ["next"]
    keys.use({"viewer.next_tab": ("Ctrl+Enter", "N")})
    QTest.keyClick(field, Qt.Key.Key_Tab, CTRL)
    assert (calls, field.hasFocus() or other.hasFocus()) == (["next"], True)
    QTest.keyClick(field, Qt.Key.Key_Return, CTRL)
    assert calls == ["next", "next"]
    QTest.keyClick(field, Qt.Key.Key_N)
    assert (calls, field.text()) == (["next", "next"], "n"), "who writes keeps the letters"


def test_a_part_has_the_keys_once_the_keyboard_comes_to_it_and_when_they_change(window: QWidget, qtbot: QtBot) -> None:
    handed = KeysOfParts(window)
    handed.use({"viewer.save": ("F9",), "find": ("F3",)})
    part = QWidget(window)
    field = QLineEdit(part)
    keys = PartKeys("viewer", part)
    assert keys.shown("save") == "Ctrl+S"
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    assert keys.shown("save") == "F9"
    with qtbot.waitSignal(keys.changed):
        handed.use({})
    assert keys.shown("save") == "Ctrl+S"
    assert handed.in_force["viewer.save"] == ("Ctrl+S",)
