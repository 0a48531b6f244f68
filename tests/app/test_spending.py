"""A spending limit in the real window: it asks, survives a restart, goes on, and stops."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.transcript import SpendingEntry
from desktop_agent.ui.chat.entries.questions import SpendingWidget
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.dialects.chat import OPENROUTER
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> None:
    del isolated_home
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-000000000000")
    file = AppPaths.from_environment(os.environ).settings_file()
    save_setting(file, "spending.session_usd", value=1.0)
    save_setting(file, "model.generates_titles", value=False)


def widget() -> SpendingWidget | None:
    shown = (one for one in QApplication.allWidgets() if isinstance(one, SpendingWidget) and one.is_listening)
    return next(shown, None)


async def answer(user: Driver, label: str) -> None:
    question = await user.until(widget, "the question can be answered")
    button = next(button for button in question.findChildren(QPushButton) if button.text() == label)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(button.width() // 2, button.height() // 2))


def answers(user: Driver) -> list[str]:
    found = (entry.decision for entry in user.transcript.entries if isinstance(entry, SpendingEntry))
    return [decision.outcome for decision in found if decision is not None]


@pytest.mark.usefixtures("limited")
def test_a_conversation_asks_at_its_limit_waits_through_a_restart_and_stops(go: Go, project: Path) -> None:
    look = reply(tool_use("list_files"), cost=0.6)

    async def first(user: Driver) -> None:
        await user.type("composer", "What is in here?")
        await user.press(Qt.Key.Key_Return)
        await user.until(widget, "the question is in sight")
        assert len(server.messages) == 2
        await user.click("inboxButton")
        await user.click("inboxShowButton")
        await user.until(widget, "the question is in sight again")
        assert user.find(QPushButton, "approveButton") is None, "its card is all there is to it"

    async def second(user: Driver) -> None:
        await answer(user, "Go on for another $1.00")
        await user.until_true(lambda: answers(user) == ["allowed"], "the answer is on record")
        await user.see_turn_end()
        assert len(server.messages) == 4
        await user.type("composer", "And now?")
        await user.press(Qt.Key.Key_Return)
        await answer(user, "Stop here")
        await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has ended")
        assert answers(user) == ["allowed", "denied"]
        assert len(server.messages) == 4

    with serve(look, look, look, reply(text("Notes."), cost=0.6), dialect=OPENROUTER) as server:
        where = ["--provider", "openrouter", "--base-url", server.url]
        go([str(project), *where], first)
        go([str(project), "--continue"], second)
        assert server.violations == []
