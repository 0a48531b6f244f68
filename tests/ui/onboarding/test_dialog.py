"""The first dialog: what it offers, and that every way through it works by keyboard."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.ui.onboarding import OnboardingDialog
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.choice_card import ChoiceCard


class Desk:
    """The dialog, and what it asked for."""

    def __init__(self, app: QApplication, qtbot: QtBot) -> None:
        self.dialog = OnboardingDialog(Theme(app, "light"))
        qtbot.addWidget(self.dialog)
        self.asked: list[str] = []
        self.dialog.demo_requested.connect(lambda: self.asked.append("demo"))
        self.dialog.key_requested.connect(lambda: self.asked.append("settings"))
        self.dialog.folder_requested.connect(lambda: self.asked.append("folder"))
        self.dialog.open()
        qtbot.waitExposed(self.dialog)

    def button(self, name: str) -> QPushButton:
        button = self.dialog.findChild(QPushButton, name)
        assert isinstance(button, QPushButton)
        return button

    def card(self, title: str) -> ChoiceCard:
        return next(card for card in self.dialog.findChildren(ChoiceCard) if card.text() == title)

    @property
    def folder(self) -> QLabel:
        label = self.dialog.findChild(QLabel, "onboardingFolder")
        assert isinstance(label, QLabel)
        return label


@pytest.fixture
def desk(qapp: QApplication, qtbot: QtBot) -> Desk:
    return Desk(qapp, qtbot)


def test_the_demo_is_one_click_away(desk: Desk) -> None:
    QTest.mouseClick(desk.button("demoButton"), Qt.MouseButton.LeftButton)
    assert desk.asked == ["demo"]
    assert not desk.dialog.isVisible()


def test_enter_starts_the_demo(desk: Desk) -> None:
    QTest.keyClick(desk.card("Try the demo"), Qt.Key.Key_Return)
    assert desk.asked == ["demo"]


def test_choosing_the_key_offers_to_enter_one(desk: Desk) -> None:
    QTest.keyClick(desk.card("Try the demo"), Qt.Key.Key_Down)
    assert not desk.button("demoButton").isVisible()
    assert desk.button("enterKeyButton").isVisible()
    QTest.keyClick(desk.card("Enter an API key"), Qt.Key.Key_Return)
    assert desk.asked == ["settings"]
    assert not desk.dialog.isVisible()


def test_a_double_click_on_a_card_is_enough(desk: Desk) -> None:
    QTest.mouseDClick(desk.card("Enter an API key"), Qt.MouseButton.LeftButton)
    assert desk.asked == ["settings"]


def test_choosing_a_folder_leaves_the_dialog_open(desk: Desk) -> None:
    QTest.mouseClick(desk.button("chooseFolderButton"), Qt.MouseButton.LeftButton)
    assert desk.asked == ["folder"]
    assert desk.dialog.isVisible()
    desk.dialog.set_folder(Path.home() / "code" / "pagination")
    assert desk.folder.text() == "Folder: ~/code/pagination"
    assert str(Path.home() / "code" / "pagination") in desk.folder.toolTip()


def test_a_long_folder_is_shortened_in_the_middle(desk: Desk) -> None:
    folder = Path("/srv") / "/".join(["very-long-name"] * 8) / "project"
    desk.dialog.set_folder(folder)
    assert "…" in desk.folder.text()
    assert desk.folder.text().endswith("project")
    assert str(folder) in desk.folder.toolTip()


def test_without_a_folder_it_says_so(desk: Desk) -> None:
    assert desk.folder.text() == "No folder chosen yet"


def test_escape_closes_and_asks_for_nothing(desk: Desk) -> None:
    QTest.keyClick(desk.dialog, Qt.Key.Key_Escape)
    assert desk.asked == []
    assert not desk.dialog.isVisible()
