from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.question import ChoiceCard

LONG = "A rather long explanation of what it means to choose this card, which takes more than one line."


@pytest.fixture
def cards(qapp: QApplication, qtbot: QtBot) -> Iterator[list[ChoiceCard]]:
    theme = Theme(qapp, "light")
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    cards = [ChoiceCard(theme, name, LONG) for name in ("One", "Two")]
    for card in cards:
        column.addWidget(card)
    column.addStretch()
    window.resize(320, 300)
    window.show()
    window.activateWindow()  # arrow keys move the focus, which only an active window has
    qtbot.waitActive(window)
    cards[0].setChecked(True)
    yield cards
    window.close()


def test_one_is_chosen_by_mouse_or_arrow_keys_which_unchooses_the_other(cards: list[ChoiceCard]) -> None:
    QTest.mouseClick(cards[1], Qt.MouseButton.LeftButton)
    assert [card.isChecked() for card in cards] == [False, True]
    cards[1].setFocus()
    QTest.keyClick(cards[1], Qt.Key.Key_Up)
    assert [card.isChecked() for card in cards] == [True, False]


def test_a_card_is_as_high_as_its_text_needs(cards: list[ChoiceCard]) -> None:
    card = cards[0]
    assert card.heightForWidth(200) > card.heightForWidth(400) > card.heightForWidth(2000)
    assert card.height() == card.heightForWidth(card.width())


def test_a_screen_reader_hears_title_and_explanation(cards: list[ChoiceCard]) -> None:
    heard = QAccessible.queryAccessibleInterface(cards[0])
    assert heard.text(QAccessible.Text.Name) == "One"
    assert heard.text(QAccessible.Text.Description) == LONG
    assert heard.role() == QAccessible.Role.RadioButton


def test_the_chosen_card_has_the_ground_of_a_selection(cards: list[ChoiceCard], qapp: QApplication) -> None:
    colours = Theme(qapp, "light").colours
    picture = cards[0].grab().toImage()
    assert picture.pixelColor(6, cards[0].height() // 2).name().upper() == colours.accent_weak
