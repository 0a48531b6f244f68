"""Without a tray, the application says so, and only the window shows the number."""

import pytest
from PySide6.QtWidgets import QSystemTrayIcon, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.app.desktop_bus import Notification
from desktop_agent.app.notifications import TrayMessages

NOTIFICATION = Notification(
    key=("s1", "c1"), title="The turn failed", body="Make a file", show_words="Show", deny_words="Deny"
)


def test_without_a_tray_nothing_is_shown_there(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    if QSystemTrayIcon.isSystemTrayAvailable():
        pytest.skip("this desktop has a tray")
    tray = TrayMessages(window, lambda _key, _action: None)
    assert not tray.show(NOTIFICATION)
    tray.hide()
