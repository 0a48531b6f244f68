"""The window's shortcuts go before a field's, such as Ctrl+K, which fields of GNOME and KDE use."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.window.main_window import ShortcutPriority

CTRL = Qt.KeyboardModifier.ControlModifier


class TakesAllKeys(QLineEdit):
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            event.accept()
            return True
        return super().event(event)


def test_the_keys_of_the_action_work_in_a_field_and_others_are_the_fields(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    field = TakesAllKeys(window)
    actions = {key: QAction(window) for key in ("Ctrl+K", "Ctrl+J")}
    for key, action in actions.items():
        action.setShortcut(QKeySequence(key))
        window.addAction(action)
    ShortcutPriority([actions["Ctrl+K"]], window)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    field.setFocus()
    triggered = {key: QSignalSpy(action.triggered) for key, action in actions.items()}
    QTest.keyClick(field, Qt.Key.Key_K, CTRL)
    QTest.keyClick(field, Qt.Key.Key_J, CTRL)
    assert {key: spy.count() for key, spy in triggered.items()} == {"Ctrl+K": 1, "Ctrl+J": 0}
