"""Changed shortcuts take effect at once: in actions, on buttons, and in the file."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from desktop_agent.ui.settings.keys_page import KeyList
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def test_keys_are_taken_from_another_action_and_work_at_once(go: Go, project: Path, isolated_home: Path) -> None:
    async def journey(user: Driver) -> None:
        window = user.window.main_window
        actions, button = window.actions_, window.top_bar.findChild(QPushButton, "searchButton")
        assert button is not None
        await user.press(Qt.Key.Key_F1)
        keys = await user.see(KeyList, "keyList")
        keys.choose("toggle_side")
        await user.click("changeKeysButton")
        await user.press(Qt.Key.Key_F, CTRL | SHIFT)
        use = await user.see(QPushButton, "useKeysButton")
        assert use.text() == "Reassign"
        await user.press(Qt.Key.Key_Return)
        taken = QKeySequence("Ctrl+Shift+F")
        await user.until_true(lambda: actions.toggle_side.shortcuts() == [taken], "the keys are taken")
        assert actions.search.shortcuts() == []
        assert button.accessibleDescription() == ""
        assert keys.action == "toggle_side"
        await user.press(Qt.Key.Key_Escape)
        toggled: list[bool] = []
        actions.toggle_side.triggered.connect(lambda: toggled.append(True))
        await user.press(Qt.Key.Key_F, CTRL | SHIFT)
        await user.until_true(lambda: bool(toggled), "the keys do what they are for now")
        file = isolated_home / "desktop-agent" / "config" / "config.toml"
        assert file.read_text() == '[keys]\nsearch = []\ntoggle_side = ["Ctrl+Shift+F"]\n'

    go([str(project), "--provider", "demo"], journey)


def test_keys_of_the_message_are_those_of_the_settings_file(go: Go, project: Path, isolated_home: Path) -> None:
    async def journey(user: Driver) -> None:
        edit, sent = user.composer.edit, list[str]()
        user.composer.prompt_submitted.connect(sent.append)
        edit.setFocus()
        await user.until_true(lambda: edit.keys.shown("send") == "Ctrl+Enter", "the field has its keys")
        assert edit.keys.shown("send_at_once") == "", "its default was taken from it"
        edit.replace_text("Add")
        QTest.keyClick(edit, Qt.Key.Key_Return)
        QTest.keyClicks(edit, "a test")
        assert (edit.toPlainText(), sent) == ("Add\na test", [])
        QTest.keyClick(edit, Qt.Key.Key_Return, CTRL)
        await user.until_true(lambda: sent == ["Add\na test"], "it is sent")

    file = isolated_home / "desktop-agent" / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[keys.composer]\nsend = ["Ctrl+Return"]\nbreak_line = ["Enter"]\n')
    go([str(project), "--provider", "demo"], journey)
