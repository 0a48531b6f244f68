"""A click on a button of the composer leaves the keyboard where the user writes."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.mode_pickers import ModePickers


@pytest.mark.parametrize("name", ["send", "stop"])
def test_a_click_leaves_the_keyboard_in_the_field(qtbot: QtBot, theme: Theme, name: str) -> None:
    composer = Composer(theme)
    ModePickers(composer)
    qtbot.addWidget(composer)
    composer.set_working(is_working=name == "stop")
    composer.show()
    composer.activateWindow()
    composer.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is composer.edit)
    composer.set_text("Look at this.")
    QTest.mouseClick({"send": composer.controls.send, "stop": composer.controls.stop}[name], Qt.MouseButton.LeftButton)
    composer.set_working(is_working=False)
    assert QApplication.focusWidget() is composer.edit
