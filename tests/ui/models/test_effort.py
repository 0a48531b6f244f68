"""The effort is chosen beside a model that has levels."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.ui.theme import Theme
from tests.parts import part
from tests.ui.models.stage import ANTHROPIC, DEMO, OPUS, SONNET, Desk, offer

LEVELS = ("low", "high", "max")
THINKING = replace(
    ANTHROPIC, models=(offer(SONNET, efforts=LEVELS), offer(OPUS, efforts=("low", "high")), *DEMO.models)
)


@pytest.fixture
def desk(theme: Theme, qtbot: QtBot) -> Desk:
    desk = Desk(theme, qtbot, [THINKING])
    desk.picker.show_model(ModelRef(provider="anthropic", model=SONNET.model, effort="max"))
    return desk


def segments(desk: Desk) -> list[QPushButton]:
    choice = part(desk.window, QWidget, "effortChoice")
    return [button for button in choice.findChildren(QPushButton) if button.isVisible()]


def texts(desk: Desk) -> list[str]:
    return [f"[{button.text()}]" if button.isChecked() else button.text() for button in segments(desk)]


def test_the_levels_of_the_highlighted_model_are_shown_with_that_in_force(desk: Desk, qtbot: QtBot) -> None:
    desk.open()
    assert texts(desk) == ["default", "low", "high", "[max]"]
    desk.press(Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: texts(desk) == ["[default]", "low", "high"])
    desk.press(Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: texts(desk) == [])


def test_a_level_chooses_the_highlighted_model_with_it(desk: Desk) -> None:
    chosen = QSignalSpy(desk.picker.chosen)
    desk.open()
    desk.press(Qt.Key.Key_Down)
    QTest.mouseClick(segments(desk)[2], Qt.MouseButton.LeftButton)
    assert chosen.at(0) == [OPUS, "high"]
    assert not desk.is_open
    assert desk.window.focusWidget() is desk.message


def test_the_keyboard_goes_from_the_search_to_the_level_in_force_and_along_the_levels(desk: Desk) -> None:
    chosen = QSignalSpy(desk.picker.chosen)
    desk.open()
    desk.press(Qt.Key.Key_Tab)
    assert desk.window.focusWidget() is segments(desk)[3]
    desk.press(Qt.Key.Key_Right)
    assert desk.window.focusWidget() is segments(desk)[0]
    desk.press(Qt.Key.Key_Left)
    desk.press(Qt.Key.Key_Left)
    desk.press(Qt.Key.Key_Return)
    assert chosen.at(0) == [SONNET, "high"]


def test_a_row_leaves_the_level_open(desk: Desk) -> None:
    chosen = QSignalSpy(desk.picker.chosen)
    desk.open()
    desk.type("opus")
    desk.press(Qt.Key.Key_Return)
    assert chosen.at(0) == [OPUS, None]


def test_where_no_model_has_levels_there_is_nothing_to_choose(desk: Desk) -> None:
    desk.picker.show_accounts([ANTHROPIC])
    desk.open()
    assert not part(desk.window, QWidget, "effortChoice").isVisible()
