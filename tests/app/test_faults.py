"""Bad luck in the real window: what happened and what to do is said, nothing is lost, and the window goes on."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.providers.provider import RetryPolicy
from desktop_agent.core.transcript import ToolEntry
from tests.app.conftest import Go
from tests.e2e.driver import Driver, ask_for_no_titles
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier

pytestmark = pytest.mark.usefixtures("qapp")

QUESTION = "What is in here?"
KEY = "sk-ant-test-000000000000"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine\n")
    return folder


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    ask_for_no_titles()


async def ask(user: Driver, words: str = QUESTION) -> None:
    await user.type("composer", words)
    await user.press(Qt.Key.Key_Return)


async def ended(user: Driver, turn: int = 1) -> None:
    await user.until_true(
        lambda: (
            bool(user.transcript.turns.last_end)
            and user.transcript.turn == turn
            and not user.transcript.turns.is_running
        ),
        "the turn has ended",
    )


async def click_in_conversation(user: Driver, words: str) -> None:
    """Click a button of a card, found by its words."""

    def look() -> QPushButton | None:
        buttons = user.window.panels.transcript.findChildren(QPushButton)
        return next((button for button in buttons if button.isVisible() and button.text() == words), None)

    (await user.until(look, f"{words} is offered")).click()


@pytest.mark.usefixtures("key")
def test_without_a_network_it_says_so_and_a_second_try_is_a_click_away(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "desktop_agent.composition.application.RetryPolicy", lambda: RetryPolicy(max_tries=2, base_s=0.001)
    )

    async def journey(user: Driver) -> None:
        await ask(user)
        await ended(user)
        assert "could not be reached" in user.notices[-1].title
        await click_in_conversation(user, "Try again")
        await ended(user, turn=2)

    go([str(project), "--base-url", "http://127.0.0.1:9"], journey)


@pytest.mark.usefixtures("key")
def test_a_folder_that_is_deleted_while_the_agent_works_is_told_to_both(go: Go, project: Path) -> None:
    answers = (
        reply(tool_use("create_file", path="new.txt", content="x\n")),
        reply(text("The folder is gone.")),
    )
    with serve(*answers) as server:

        async def journey(user: Driver) -> None:
            await ask(user)
            await user.see(QWidget, "approveButton")
            shutil.rmtree(project)
            await user.until_true(lambda: can_allow(user), "it can be allowed")
            await user.press(Qt.Key.Key_A, CTRL_SHIFT)
            await ended(user)
            (call,) = [entry for entry in user.transcript.entries if isinstance(entry, ToolEntry)]
            assert call.result is not None
            assert call.result.content == f"The folder {project} does not exist. Nothing was written."
            # Once it is back, the conversation goes on.
            project.mkdir()  # noqa: ASYNC240 - a user waits
            await ask(user, "Again?")
            await ended(user, turn=2)
            assert user.transcript.turns.last_end == "completed"

        go([str(project), "--base-url", server.url], journey)
    assert list(project.iterdir()) == []


@pytest.mark.usefixtures("key")
def test_a_session_folder_that_cannot_be_written_keeps_the_prompt(go: Go, project: Path, isolated_home: Path) -> None:
    async def journey(user: Driver) -> None:
        sessions = isolated_home / "desktop-agent" / "data" / "sessions"
        sessions.parent.mkdir(parents=True, exist_ok=True)
        sessions.write_text("a file where the folder should be")
        await ask(user)
        await user.until_true(lambda: bool(user.banner), "the banner says something")
        assert user.banner[0] == "The session could not be written, so the agent stopped."
        assert user.window.panels.composer.text() == QUESTION
        sessions.unlink()
        await user.press(Qt.Key.Key_Return)
        await ended(user)
        assert user.transcript.turns.last_end == "completed"

    with serve(reply(text("Hello."))) as server:
        go([str(project), "--base-url", server.url], journey)


def said(user: Driver) -> str:
    return " ".join([*user.banner, *(notice.title for notice in user.notices)])


def can_allow(user: Driver) -> bool:
    from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog

    dialog = user.find(ApprovalDialog, "approvalDialog")
    return dialog is not None and dialog.can_allow
