"""Where Tab goes in the composer."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import ContextUse
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.mode_pickers import ModePickers


@pytest.mark.parametrize("width", [420, 1200])
def test_tab_goes_through_the_row_below_the_field_as_it_is_read(qtbot: QtBot, theme: Theme, width: int) -> None:
    window, composer = QWidget(), Composer(theme)
    column = QVBoxLayout(window)
    column.addWidget(QPushButton("before"))
    column.addWidget(composer)
    column.addWidget(QPushButton("after"))
    pickers = ModePickers(composer)
    for control in (pickers.model_button, pickers.approval_button, pickers.sandbox_button):
        composer.controls.add(control)
    composer.controls.show_context(ContextUse(tokens=68_000, window=200_000, source="reported"))
    composer.set_working(is_working=True)
    qtbot.addWidget(window)
    window.resize(width, 400)
    window.show()
    window.activateWindow()
    composer.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is composer.edit)
    composer.set_text("And now?")

    visited: list[QWidget] = []
    while (now := QApplication.focusWidget()) is not None and now.parentWidget() is not window:
        visited.append(now)
        QTest.keyClick(now, Qt.Key.Key_Tab)
    row = visited[2:]
    assert visited[:2] == [composer.edit, composer.attach]
    assert row == sorted(row, key=lambda control: (control.y() // 20, control.x()))
    assert row == [
        *(pickers.model_button, pickers.approval_button, pickers.sandbox_button),
        *(composer.controls.meter, composer.controls.stop, composer.controls.send),
    ]
