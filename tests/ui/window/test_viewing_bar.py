"""The bar says that a session is read-only, and offers to take it over when possible."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.ui.window.conversation_pane import ViewingBar


@pytest.fixture
def bar(qtbot: QtBot) -> ViewingBar:
    bar = ViewingBar()
    qtbot.addWidget(bar)
    return bar


def test_it_is_not_there_before_a_session_is_viewed(bar: ViewingBar) -> None:
    assert bar.isHidden()


def test_it_offers_to_take_over_only_what_is_free(bar: ViewingBar) -> None:
    bar.show()
    button = bar.findChildren(QPushButton, "takeOverButton")[0]
    asked = QSignalSpy(bar.take_over_requested)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not button.isEnabled()
    assert asked.count() == 0
    assert "open in another window" in bar.accessibleName()
    bar.show_state(is_free=True)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert asked.count() == 1
    assert "no longer open" in bar.accessibleName()
    bar.show_state(is_free=False)
    assert not button.isEnabled()
