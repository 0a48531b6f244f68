from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.theme import Theme
from tests.ui.chat.stage import record, type_text


class ComposerDesk:
    def __init__(self, theme: Theme, qtbot: QtBot, width: int = 700, height: int = 600) -> None:
        self.qtbot = qtbot
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.composer = Composer(theme)
        self.edit = self.composer.edit
        self.sent = record(self.composer.prompt_submitted)
        layout = QVBoxLayout(self.window)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addStretch(1)
        layout.addWidget(self.composer)
        self.window.resize(width, height)
        with qtbot.waitActive(self.window):
            self.window.show()
            self.window.activateWindow()
        self.composer.setFocus()
        qtbot.waitUntil(self.edit.hasFocus)

    def type(self, text: str) -> None:
        type_text(self.edit, text)

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.edit, key, modifiers)
