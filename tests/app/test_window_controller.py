import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractItemView, QMessageBox, QToolButton, QWidget

from desktop_agent.cli import main as command_line
from desktop_agent.core.protocol.events import PromptSubmitted
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.script import reply, text
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")


def menu_item(user: Driver, picker: str, words: str) -> QAction:
    button = user.find(QToolButton, picker)
    assert button is not None
    (found,) = [action for action in button.menu().actions() if action.text().partition("\t")[0] == words]
    return found


def test_settings_that_cannot_be_used_are_named_and_the_window_opens(go: Go, isolated_home: Path) -> None:
    file = isolated_home / "desktop-agent" / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[ui]\ntheme = "pink"\n')

    async def journey(user: Driver) -> None:
        (title, hint) = user.banner
        assert title == "Some of your settings cannot be used. Their defaults apply."
        assert f"{file}:2: ui.theme: 'pink' is not one of system, light, dark" in hint

    go(["--demo"], journey)


def test_modes_picked_before_the_first_prompt_hold_for_the_session(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        menu_item(user, "approvalPicker", "Asks before every call").trigger()
        menu_item(user, "sandboxPicker", "Sandbox: read-only").trigger()
        await user.until_true(lambda: modes(user) == ("always", "strict"), "the modes are set")
        button = user.find(QToolButton, "approvalPicker")
        assert button is not None
        assert button.text() == "Asks before every call ▾"
        await user.send("Hello")
        await user.see(QWidget, "approvalDialog")
        assert modes(user) == ("always", "strict")
        await user.click("denyButton")
        await user.stop_turn()

    go([str(project), "--provider", "demo"], journey)


def modes(user: Driver) -> tuple[str, str]:
    session = user.transcript.session
    return session.approval, session.sandbox


def test_prompts_sent_while_the_session_is_made_go_to_that_one_session(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        composer = user.composer
        composer.prompt_submitted.emit("First")
        composer.prompt_submitted.emit("Second")
        await user.until_true(lambda: user.transcript.turn == 2, "both are asked")
        assert user.banner == [], "that a session is made brings no warning"
        prompts = [entry.text for entry in user.transcript.entries if isinstance(entry, PromptSubmitted)]
        assert prompts == ["First", "Second"]
        await user.stop_turn()

    go([str(project), "--provider", "demo"], journey)


def test_a_prompt_whose_session_cannot_be_made_comes_back_before_what_was_written_since(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        composer = user.composer
        shutil.rmtree(project)
        composer.prompt_submitted.emit("First")
        composer.set_text("Since then")
        await user.until_true(lambda: bool(user.banner), "the reason is shown")
        assert str(project) in " ".join(user.banner)
        assert composer.text() == "First\n\nSince then"

    go([str(project), "--provider", "demo"], journey)


def test_a_session_is_listed_resumed_and_left_for_a_new_one(go: Go, project: Path) -> None:
    titles: list[str] = []

    async def first(user: Driver) -> None:
        await user.type("composer", "What is in here?")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: user.transcript.turns.last_end == "completed", "the turn has ended")
        titles.append(user.transcript.session.title)

    async def second(user: Driver) -> None:
        assert user.transcript.session.title == titles[0]
        rows = await user.see(QAbstractItemView, "sessionList")
        shown = [str(rows.model().index(row, 0).data()) for row in range(rows.model().rowCount())]
        assert any(titles[0] in text for text in shown)
        assert not any("tools call" in text for text in shown), "a call by hand is no conversation"
        assert user.window.main_window.top_bar.title_label.text() == titles[0]
        assert user.window.main_window.windowTitle() == f"{titles[0]} — my project"
        assert not user.window.main_window.windowIcon().pixmap(32, 32).isNull()
        await user.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
        await user.until_true(lambda: not user.transcript.session.session_id, "a new session is shown")
        assert user.window.main_window.top_bar.title_label.text() == "New session"
        assert user.composer.isAncestorOf(
            user.window.main_window.focusWidget() or user.window.panels.conversation.banner
        )

    go([str(project), "--provider", "demo"], first)
    assert command_line(["tools", "call", "list_files", "{}", "--workspace", str(project)]) == 0
    go([str(project), "--continue"], second)


@pytest.mark.usefixtures("key")
def test_closing_while_the_agent_works_asks_first(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        await user.type("composer", "What is in here?")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: bool(server.messages), "the model is asked")
        assert user.transcript.turns.is_running
        user.window.main_window.close()
        box = await user.see(QMessageBox, "quitDialog")
        keep = next(button for button in box.buttons() if button.text() == "Cancel")
        assert box.defaultButton() is keep
        keep.click()
        await user.until_true(lambda: user.find(QWidget, "quitDialog") is None, "the question has closed")
        assert user.window.main_window.isVisible()
        await user.stop_turn()

    with serve(reply(text("Half of"), fault.stall_after(events=3))) as server:
        go([str(project), "--base-url", server.url], journey)
