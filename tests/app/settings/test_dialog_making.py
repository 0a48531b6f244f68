"""The settings dialog is built before its first use."""

import pytest
from PySide6.QtCore import Qt

from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


def test_the_dialog_is_made_before_it_is_opened_first_and_anew_later(go: Go) -> None:
    async def journey(user: Driver) -> None:
        window = user.window.main_window
        await user.until_true(lambda: window.findChild(SettingsDialog) is not None, "the dialog is made")
        made = window.findChild(SettingsDialog)
        assert made is not None
        assert made.isHidden()
        await user.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        assert await user.see(SettingsDialog, "settingsDialog") is made
        await user.press(Qt.Key.Key_Escape)
        await user.until_true(lambda: window.findChild(SettingsDialog) is None, "the dialog has ended")
        await user.open_settings()
        await user.press(Qt.Key.Key_Escape)

    go(["--demo"], journey)
