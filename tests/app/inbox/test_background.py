"""An agent that works on after its window was closed: the window comes back by a notification or a later start."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox, QWidget

from desktop_agent.app.startup.arguments import WindowArguments, hand_over
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.ops import SubmitPrompt
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go
from tests.app.inbox.conftest import Desktop
from tests.app.inbox.service import Mode
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

Start = Callable[[Mode], Desktop]


async def close_and_work_on(user: Driver) -> None:
    await user.send("What is in here?")
    await user.until_true(lambda: "Half of" in str(user.transcript.entries), "the answer streams")
    user.window.main_window.close()
    box = await user.see(QMessageBox, "quitDialog")
    next(button for button in box.buttons() if button.text() == "Work in the background").click()
    await user.until_true(lambda: user.find(QWidget, "quitDialog") is None, "the question has closed")


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("way", ["notification", "later start"])
def test_a_window_that_was_closed_comes_back_to_its_running_turn(
    go: Go, project: Path, desktop: Start, way: str
) -> None:
    server = desktop("showing" if way == "notification" else "plain")

    async def journey(user: Driver) -> None:
        window, shown = user.window.main_window, list[bool]()
        window.windowHandle().visibleChanged.connect(shown.append)
        user.actions.settings.trigger()
        settings = await user.see(QWidget, "settingsDialog")
        user.actions.usage.trigger()
        usage = await user.see(QWidget, "usageWindow")
        await close_and_work_on(user)
        if way == "later start":
            await user.until_true(lambda: shown == [False], "the window is hidden")
            assert (settings.isVisible(), usage.isVisible()) == (False, False), "with all that it opened"
            assert await asyncio.to_thread(hand_over, WindowArguments(), AppPaths.from_environment(), os.environ)
        await user.until_true(lambda: shown == [False, True], "the window was hidden, and is back")
        assert settings.isVisible()
        assert usage.isVisible()
        assert user.transcript.turns.is_running
        settings.close()
        usage.close()
        await user.stop_turn()

    with serve(reply(text("Half of"), fault.stall_after(events=3))) as model:
        go([str(project), "--base-url", model.url], journey)
    assert server.next_call() == ["GetCapabilities"]
    assert server.next_call()[4] == "Desktop Agent goes on in the background."


@pytest.mark.usefixtures("key")
def test_without_notifications_the_window_is_only_minimized(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        await close_and_work_on(user)
        await user.until_true(user.window.main_window.isMinimized, "the window is minimized")
        assert user.transcript.turns.is_running
        await user.stop_turn()

    with serve(reply(text("Half of"), fault.stall_after(events=3))) as model:
        go([str(project), "--base-url", model.url], journey)


@pytest.mark.usefixtures("key")
def test_a_question_is_told_while_the_window_is_hidden_even_if_notifications_are_off(
    go: Go, project: Path, desktop: Start
) -> None:
    server = desktop("plain")
    settings = AppPaths.from_environment(os.environ).settings_file()
    save_setting(settings, "ui.notifications", value=False)
    save_setting(settings, "ui.opens_approvals", value=True)

    async def journey(user: Driver) -> None:
        window = user.window.main_window
        await close_and_work_on(user)
        await user.until_true(lambda: not window.isVisible(), "the window is hidden")
        await user.stop_turn()
        user.window.panels.session.submit(SubmitPrompt(text="Write it"))
        await user.until_true(lambda: bool(user.transcript.pending_approvals), "the agent asks")
        assert [await asyncio.to_thread(server.next_call) for _ in range(3)][2][4] == "Wants to change files"
        assert user.find(QWidget, "approvalDialog") is None, "no dialog stands alone on the screen"
        assert await asyncio.to_thread(hand_over, WindowArguments(), AppPaths.from_environment(), os.environ)
        await user.until_true(window.isVisible, "the window is back")
        await user.stop_turn()

    asking = reply(tool_use("create_file", path="a.txt", content="a"))
    with serve(reply(text("Half of"), fault.stall_after(events=3)), asking, reply(text("Done."))) as model:
        go([str(project), "--base-url", model.url], journey)
