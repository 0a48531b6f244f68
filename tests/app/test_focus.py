"""The keyboard stays where the user works: after a card, a dialog, a drawer."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from desktop_agent.app import Window
from desktop_agent.ui.runtime.painting import show_painted
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")

CTRL = Qt.KeyboardModifier.ControlModifier


def focused(user: Driver) -> str:
    widget = cast("QWidget | None", user.window.main_window.focusWidget())  # None when nothing has it
    return widget.accessibleName() if widget is not None else ""


def allow_button(user: Driver) -> QPushButton | None:
    buttons = user.window.main_window.findChildren(QPushButton)
    return next((each for each in buttons if each.text().startswith("Allow once") and each.isVisible()), None)


async def answer(user: Driver, press: Callable[[QPushButton], None]) -> None:
    """Press the button until the answer counts: a question must have been visible for a moment."""
    call = user.transcript.pending_approvals[0].call_id

    def is_answered() -> bool:
        if not user.is_pending(call):
            return True  # otherwise the next question would get this answer
        if (button := allow_button(user)) is not None and button.isEnabled():
            press(button)
        return False

    await user.until_true(is_answered, "the question is answered")


def click(button: QPushButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def press_space(button: QPushButton) -> None:
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)


async def asked(user: Driver) -> None:
    await user.until_true(lambda: bool(user.transcript.pending_approvals), "a question waits")


def test_a_closed_dialog_and_a_closed_drawer_leave_the_keyboard_in_the_message(go: Go) -> None:
    async def journey(user: Driver) -> None:
        window = user.window.main_window
        user.composer.setFocus()
        await user.open_settings()
        await user.press(Qt.Key.Key_Escape)
        await user.press(Qt.Key.Key_X)
        assert user.composer.text().endswith("x")
        window.resize(1024, 700)
        for opening, closing in ((Qt.Key.Key_B, Qt.Key.Key_B), (Qt.Key.Key_B, Qt.Key.Key_Escape)):
            await user.press(opening, CTRL)
            await user.until_true(window.side.drawer.isVisible, "the drawer is open")
            await user.press(closing, CTRL if closing == opening else Qt.KeyboardModifier.NoModifier)
            await user.until_true(window.side.drawer.isHidden, "the drawer is closed")
            assert focused(user) == "Message"
        await user.press(Qt.Key.Key_F, CTRL | Qt.KeyboardModifier.ShiftModifier)
        await user.see(QWidget, "searchField")
        await user.press(Qt.Key.Key_Escape)
        assert focused(user) == "Message"

    go(["--demo"], journey)


def test_an_answered_card_leaves_the_keyboard_in_the_message(go: Go) -> None:
    async def journey(user: Driver) -> None:
        user.window.panels.session.opens_questions = False
        await user.until_true(lambda: "tests fails" in user.composer.text(), "a prompt is offered")
        await user.click("sendButton")
        for press in (click, press_space):
            await asked(user)
            await answer(user, press)
            assert focused(user) == "Message"
        await user.click("stopButton")
        await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has ended")
        assert focused(user) == "Message"

    go(["--demo"], journey)


@pytest.mark.parametrize("way", ["", "--continue"])
def test_a_window_that_opens_and_an_inbox_that_closes_have_the_keyboard_in_the_message(
    way: str, go: Go, project: Path, monkeypatch: pytest.MonkeyPatch, qapp: QApplication
) -> None:
    add_panels = Window.add_panels

    def add_to_painted(window: Window) -> None:
        if not window.main_window.isVisible():
            show_painted(qapp, window.main_window, window.main_window.top_bar)
            assert QApplication.focusWidget() is window.main_window, "no button shows that it has the keyboard"
        add_panels(window)

    async def first(user: Driver) -> None:
        await user.type("composer", "What is in here?")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: user.transcript.turns.last_end == "completed", "the turn has ended")

    async def journey(user: Driver) -> None:
        assert QApplication.focusWidget() is user.composer.edit
        user.actions.open_inbox.trigger()
        inbox = await user.see(QWidget, "inboxPopup")
        await user.press(Qt.Key.Key_Escape)
        await user.until_true(inbox.isHidden, "the inbox is closed")
        assert QApplication.focusWidget() is user.composer.edit

    if way:
        go([str(project), "--provider", "demo"], first)
    monkeypatch.setattr(Window, "add_panels", add_to_painted)  # as the program does
    go([str(project), *filter(None, [way])], journey)
