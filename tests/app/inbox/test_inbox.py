"""The inbox in the real window answers questions of one session while another is shown."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import Denied
from desktop_agent.core.protocol.ops import AnswerApproval
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.store.session_folder import SessionLock
from desktop_agent.ui.chat.cards.request_card import ChangeField
from desktop_agent.ui.chat.entries.questions import QuestionCard
from desktop_agent.ui.inbox import InboxRow
from desktop_agent.ui.window.top_bar import InboxButton
from tests.app.conftest import Go, Journey
from tests.app.inbox.conftest import Desktop
from tests.app.inbox.service import Mode
from tests.e2e.driver import Driver
from tests.parts import part
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import Answer, serve

LEFT = Qt.MouseButton.LeftButton
TOUCH = reply(tool_use("run_terminal_cmd", command="touch made.txt"))
pytestmark = pytest.mark.usefixtures("qapp", "key")


def rows(user: Driver) -> list[InboxRow]:
    found = user.window.main_window.findChildren(InboxRow)
    return sorted((row for row in found if row.isVisible()), key=lambda row: row.y())


def said(row: InboxRow) -> list[str]:
    return [label.text() for label in row.findChildren(QLabel)]


def question_card(user: Driver) -> QuestionCard | None:
    cards = (card for row in rows(user) for card in row.findChildren(QuestionCard))
    return next((card for card in cards if card.is_listening), None)


async def press(user: Driver, row: InboxRow, name: str) -> None:
    if name in ("inboxAllowButton", "inboxDenyButton"):
        await user.until(lambda: question_card(user), "the question can be answered")
    button = part(row, QPushButton, name)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(button.width() // 2, button.height() // 2))


def run(go: Go, project: Path, journey: Journey, *replies: Answer) -> None:
    with serve(*replies) as server:
        go([str(project), "--base-url", server.url], journey)
        assert server.violations == []


async def ask(user: Driver) -> None:
    user.window.panels.session.opens_questions = False
    await user.send("Make a file")
    await count(user, "Inbox, 1 waiting for you")


async def begin_another(user: Driver) -> None:
    await user.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    await user.until_true(lambda: user.transcript.turn == 0, "an empty conversation is shown")


async def open_inbox(user: Driver) -> QuestionCard:
    await user.press(Qt.Key.Key_I, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
    return await user.until(lambda: question_card(user), "the question is shown")


async def count(user: Driver, spoken: str) -> None:
    button = part(user.window.main_window, InboxButton)
    await user.until_true(lambda: button.accessibleName() == spoken, f"the button says {spoken}")


def test_a_call_of_a_session_out_of_sight_is_allowed_in_the_inbox_and_its_end_shown_there(
    go: Go, project: Path
) -> None:
    async def journey(user: Driver) -> None:
        await ask(user)
        await begin_another(user)
        await user.send("Say hello")
        await user.until_true(lambda: user.transcript.turns.last_end == "completed", "the turn has ended")
        card = await open_inbox(user)
        (row,) = rows(user)
        assert {"Make a file", "Wants to run a command"} <= set(said(row))
        assert card.request.command == "touch made.txt"
        assert not (project / "made.txt").exists()
        await press(user, row, "inboxAllowButton")
        await user.until_true((project / "made.txt").exists, "the command ran")
        await count(user, "Inbox, 1 new")
        (row,) = rows(user)
        assert {"Make a file", "The agent has finished"} <= set(said(row))
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: user.transcript.session.title == "Make a file", "the session is shown")
        await count(user, "Inbox, nothing waiting")

    run(go, project, journey, TOUCH, reply(text("Hello.")), reply(text("Made.")))


async def ask_and_look_away(user: Driver, words: str) -> None:
    """Ask while the window is already out of sight, since the answer may come at once."""
    user.window.main_window.showMinimized()
    await user.until_true(user.window.main_window.isMinimized, "the window is out of sight")
    user.composer.prompt_submitted.emit(words)


def test_a_question_is_told_by_the_desktop_while_the_user_looks_elsewhere_and_denied_from_there(
    go: Go, project: Path, desktop: Callable[[Mode], Desktop]
) -> None:
    server = desktop("denying")

    async def journey(user: Driver) -> None:
        user.window.panels.session.opens_questions = False
        await ask_and_look_away(user, "Make a file")
        await user.until_true(lambda: user.transcript.turns.last_end == "completed", "the turn has ended")
        assert not (project / "made.txt").exists()

    run(go, project, journey, TOUCH, reply(text("I did not.")))
    assert server.next_call() == ["GetCapabilities"]
    asked = server.next_call()
    assert asked[4:6] == ["Wants to run a command", "Make a file"]
    assert "made.txt" not in str(asked), "others may see the screen"
    assert server.next_call() == ["CloseNotification", 1]
    assert server.next_call()[4:6] == ["The agent has finished", "Make a file"]


def test_a_click_on_the_notification_brings_the_window_and_the_session(
    go: Go, project: Path, desktop: Callable[[Mode], Desktop]
) -> None:
    desktop("showing")

    async def journey(user: Driver) -> None:
        await ask_and_look_away(user, "Say hello")
        await user.until_true(lambda: not user.window.main_window.isMinimized(), "the window is back")
        assert user.transcript.session.title == "Say hello"

    run(go, project, journey, reply(text("Hello.")))


@pytest.mark.parametrize("is_off", [True, False])
def test_nothing_is_told_where_it_is_switched_off_or_the_user_looks_at_the_window(
    go: Go, project: Path, desktop: Callable[[Mode], Desktop], is_off: bool
) -> None:
    server = desktop("plain")
    if is_off:
        save_setting(AppPaths.from_environment(os.environ).settings_file(), "ui.notifications", value=False)

    async def journey(user: Driver) -> None:
        if is_off:
            await ask_and_look_away(user, "Say hello")
        else:
            await user.send("Say hello")
        await user.until_true(lambda: user.transcript.turns.last_end == "completed", "the turn has ended")

    run(go, project, journey, reply(text("Hello.")))
    assert server.end() == ""


def test_an_edit_of_a_session_out_of_sight_is_seen_reviewed_and_allowed_without_going_there(
    go: Go, project: Path
) -> None:
    async def journey(user: Driver) -> None:
        await ask(user)
        await begin_another(user)
        card = await open_inbox(user)
        field = await user.until(lambda: card.findChild(ChangeField), "the change is shown")
        await user.until_true(lambda: "+ one" in field.text, "its lines are shown")
        QTest.mouseClick(next(one for one in card.findChildren(QPushButton) if one.text() == "Review…"), LEFT)
        await user.see(QWidget, "approvalDialog")
        assert user.transcript.turn == 0
        await user.press(Qt.Key.Key_Escape)
        await user.until_true(lambda: user.find(QWidget, "approvalDialog") is None, "the dialog is closed")
        await user.until_true(lambda: question_card(user) is card and card.yes.isEnabled(), "it can be allowed")
        await press(user, rows(user)[0], "inboxAllowButton")
        await user.until_true((project / "made.txt").exists, "the file was written")
        await count(user, "Inbox, 1 new")
        assert user.transcript.turn == 0, "the other session is still shown"
        assert not (part(user.window.main_window, QLabel, "inboxNews").isVisible())

    write = tool_use("create_file", path="made.txt", content="one\ntwo\n")
    run(go, project, journey, reply(write), reply(text("Made.")))


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_question_that_was_left_is_answered_without_showing_its_session_unless_another_process_has_it(
    go: Go, project: Path, is_elsewhere: bool
) -> None:
    asking: list[str] = []

    async def leave(user: Driver) -> None:
        await ask(user)
        asking.append(user.transcript.session.session_id)
        await begin_another(user)
        await user.send("Say hello")
        await user.until_true(lambda: user.transcript.turns.last_end == "completed", "the turn has ended")

    async def find(user: Driver) -> None:
        shown = user.transcript.session.session_id
        await count(user, "Inbox, 1 waiting for you")
        await user.click("inboxButton")
        await user.click("inboxAnswerButton")
        if is_elsewhere:
            news = await user.see(QLabel, "inboxNews")
            assert news.text() == "Open in another window; answer it there: Make a file"
            return
        await user.until(lambda: question_card(user), "the question is shown")
        await press(user, rows(user)[0], "inboxAllowButton")
        await user.until_true((project / "made.txt").exists, "the command ran")
        await count(user, "Inbox, 1 new")
        assert user.transcript.session.session_id == shown

    with serve(TOUCH, reply(text("Hello.")), reply(text("Made."))) as server, ExitStack() as held:
        go([str(project), "--base-url", server.url], leave)
        if is_elsewhere:
            held.callback(SessionLock(AppPaths.from_environment(os.environ).sessions / asking[0]).release)
        go([str(project), "--base-url", server.url, "--continue"], find)
        assert server.violations == []


def test_a_question_that_was_denied_elsewhere_says_so(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        await ask(user)
        await user.click("inboxButton")
        await user.until(lambda: question_card(user), "the question is shown")
        handle = user.window.panels.session.handle
        assert handle is not None
        call_id = user.transcript.pending_approvals[0].call_id
        handle.submit(AnswerApproval(call_id=call_id, decision=Denied()))
        news = await user.see(QLabel, "inboxNews")
        assert news.text() == "Denied elsewhere: Make a file"
        await user.see_turn_end()

    run(go, project, journey, TOUCH, reply(text("I did not.")))


def test_the_keys_answer_in_the_open_inbox_and_not_on_the_card_of_the_same_question_behind_it(
    go: Go, project: Path
) -> None:
    async def journey(user: Driver) -> None:
        user.window.panels.session.opens_questions = False
        await user.send("Make a file")
        view = user.window.panels.transcript
        await user.until(lambda: view.findChild(QuestionCard), "the card is in the conversation")

        def has_keys() -> bool:
            behind = view.findChild(QuestionCard)  # the card may be made again meanwhile
            return behind is not None and behind.yes.accessibleDescription() != ""

        await open_inbox(user)
        await user.until_true(lambda: not has_keys(), "the card behind has no keys")
        await user.press(Qt.Key.Key_Escape)
        await user.until_true(has_keys, "the card has its keys again")
        await open_inbox(user)
        await user.until_true(lambda: not has_keys(), "the card behind has no keys")
        await user.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        await user.until_true((project / "made.txt").exists, "the command ran")
        await user.see_turn_end()

    run(go, project, journey, TOUCH, reply(text("Made.")))
