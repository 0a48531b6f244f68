"""In the real window the keyboard stays where the user works: after a card, a dialog, a drawer."""

from collections.abc import Callable
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QPushButton, QWidget

from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")

CTRL = Qt.KeyboardModifier.ControlModifier


def focused(person: Driver) -> str:
    """The name of what has the keyboard."""
    widget = cast("QWidget | None", person.window.main_window.focusWidget())  # None when nothing has it
    return widget.accessibleName() if widget is not None else ""


def allow_button(person: Driver) -> QPushButton | None:
    """The button of the card that waits, once it is in sight."""
    buttons = person.window.main_window.findChildren(QPushButton)
    return next((each for each in buttons if each.text().startswith("Allow once") and each.isVisible()), None)


async def answer(person: Driver, press: Callable[[QPushButton], None]) -> None:
    """Press the button until it counts: a question must have been in sight for a moment."""
    call = person.transcript.pending_approvals[0].call_id

    def is_answered() -> bool:
        if (button := allow_button(person)) is not None and button.isEnabled():
            press(button)
        return all(request.call_id != call for request in person.transcript.pending_approvals)

    await person.until_true(is_answered, "the question is answered")


def click(button: QPushButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def press_space(button: QPushButton) -> None:
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)


async def asked(person: Driver) -> None:
    await person.until_true(lambda: bool(person.transcript.pending_approvals), "a question waits")


def test_a_closed_dialog_and_a_closed_drawer_leave_the_keyboard_in_the_message(go: Go) -> None:
    async def journey(person: Driver) -> None:
        window = person.window.main_window
        person.window.panels.composer.setFocus()
        await person.press(Qt.Key.Key_Comma, CTRL)
        await person.see(QDialog, "settingsDialog")
        await person.press(Qt.Key.Key_Escape)
        await person.press(Qt.Key.Key_X)
        assert person.window.panels.composer.text().endswith("x")
        window.resize(1024, 700)
        for opening, closing in ((Qt.Key.Key_B, Qt.Key.Key_B), (Qt.Key.Key_B, Qt.Key.Key_Escape)):
            await person.press(opening, CTRL)
            await person.until_true(window.side.drawer.isVisible, "the drawer is open")
            await person.press(closing, CTRL if closing == opening else Qt.KeyboardModifier.NoModifier)
            await person.until_true(window.side.drawer.isHidden, "the drawer is closed")
            assert focused(person) == "Message"
        await person.press(Qt.Key.Key_F, CTRL | Qt.KeyboardModifier.ShiftModifier)
        await person.see(QWidget, "searchField")
        await person.press(Qt.Key.Key_Escape)
        assert focused(person) == "Message"

    go(["--demo"], journey)


def test_an_answered_card_leaves_the_keyboard_in_the_message(go: Go) -> None:
    async def journey(person: Driver) -> None:
        person.window.panels.wiring.opens_questions = False
        await person.until_true(lambda: "tests fails" in person.window.panels.composer.text(), "a prompt is offered")
        await person.click("sendButton")
        for press in (click, press_space):
            await asked(person)
            await answer(person, press)
            assert focused(person) == "Message"
        await person.click("stopButton")
        await person.until_true(lambda: not person.transcript.turns.is_running, "the turn has ended")
        assert focused(person) == "Message"

    go(["--demo"], journey)
