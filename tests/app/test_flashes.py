"""No part of a window ever flashes up as a window of its own, which would take the keyboard."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QWindow
from PySide6.QtWidgets import QApplication, QListWidget

from tests.app.conftest import Go
from tests.e2e.driver import Driver

CTRL = Qt.KeyboardModifier.ControlModifier
MEANT = {"mainWindowWindow", "onboardingDialogWindow", "settingsDialogWindow", "approvalDialogWindow"}


class ShownWindows(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() == QEvent.Type.Show and isinstance(watched, QWindow):
            self.names.add(watched.objectName())
        return super().eventFilter(watched, event)


@pytest.fixture
def shown(qapp: QApplication) -> Iterator[ShownWindows]:
    windows = ShownWindows()
    qapp.installEventFilter(windows)
    yield windows
    qapp.removeEventFilter(windows)


def test_the_welcome_and_every_section_of_the_settings(go: Go, shown: ShownWindows) -> None:
    async def journey(user: Driver) -> None:
        await user.close_welcome()
        await user.open_settings()
        sections = await user.see(QListWidget, "settingsSections")
        for row in range(sections.count()):
            sections.setCurrentRow(row)
            await user.pause()
        await user.press(Qt.Key.Key_Escape)

    go([], journey)
    assert "settingsDialogWindow" in shown.names
    assert shown.names <= MEANT


def test_a_turn_with_questions_its_review_and_the_palette(go: Go, shown: ShownWindows) -> None:
    async def journey(user: Driver) -> None:
        await user.click("sendButton")
        for _ in range(3):
            await user.allow_with_mouse()
        await user.see_turn_end()
        await user.press(Qt.Key.Key_K, CTRL)
        await user.type("paletteField", "pages")
        await user.press(Qt.Key.Key_Escape)

    go(["--demo"], journey)
    assert "approvalDialogWindow" in shown.names
    assert shown.names <= MEANT
