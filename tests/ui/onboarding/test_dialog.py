"""The welcome's first step: its ways, each a click or a key away, and the way back."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea

from tests.ui.onboarding.desk import Desk

WAYS = {
    "Enter an API key": ("enterKeyButton", "tryKeyButton"),
    "Use a model on this machine": ("localModelsButton", "useServerButton"),
    "Use a subscription": ("subscriptionButton", "signInButton"),
    "Claude through AWS, Google or Microsoft": ("cloudButton", "tryCloudButton"),
    "OpenRouter or another address": ("otherAddressButton", "routerSignInButton"),
}


def test_every_way_is_offered_and_the_demo_is_one_click_away(desk: Desk) -> None:
    assert desk.cards == ["Try the demo", *WAYS]
    desk.click("demoButton")
    assert "demo" in desk.asked
    assert not desk.dialog.isVisible()


@pytest.mark.usefixtures("german")
def test_in_german_the_ways_are_seen_without_scrolling(desk: Desk) -> None:
    assert desk.cards[0] == "Demo ausprobieren"
    (area,) = desk.dialog.findChildren(QScrollArea)
    assert area.verticalScrollBar().maximum() == 0


@pytest.mark.parametrize(("steps", "title"), [*enumerate(WAYS, 1)])
def test_each_way_is_gone_by_keyboard_and_back(desk: Desk, steps: int, title: str) -> None:
    leads, on = WAYS[title]
    for _ in range(steps):
        desk.press(Qt.Key.Key_Down)
    desk.press(Qt.Key.Key_Return)
    assert desk.primary == on
    desk.press(Qt.Key.Key_Escape)
    assert desk.primary == leads
    assert desk.card(title).hasFocus()


def test_a_double_click_on_a_card_is_enough(desk: Desk) -> None:
    QTest.mouseDClick(desk.card("Enter an API key"), Qt.MouseButton.LeftButton)
    assert desk.focus == "apiKeyEdit"


def test_choosing_a_folder_leaves_the_dialog_open_and_shows_it_shortened_in_the_middle(desk: Desk) -> None:
    assert desk.folder.text() == "No folder chosen yet"
    desk.click("chooseFolderButton")
    assert desk.asked == ["folder"]
    assert desk.dialog.isVisible()
    folder = Path.home() / "code" / "pagination"
    desk.dialog.set_folder(folder)
    assert desk.folder.text() == "Folder: ~/code/pagination"
    assert str(folder) in desk.folder.toolTip()
    folder = Path("/srv") / "/".join(["very-long-name"] * 8) / "project"
    desk.dialog.set_folder(folder)
    assert "…" in desk.folder.text()
    assert desk.folder.text().endswith("project")
    assert str(folder) in desk.folder.toolTip()


def test_escape_closes_the_first_step_and_asks_for_nothing(desk: Desk) -> None:
    desk.press(Qt.Key.Key_Escape)
    assert desk.asked == ["cancel"]
    assert not desk.dialog.isVisible()
