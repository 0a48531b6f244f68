"""The real window writes no key into its log, state, caches or drafts."""

import os

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.paths import AppPaths
from tests.attacks.credentials.world import KEYS, World
from tests.e2e.driver import Driver, ask_for_no_titles, drive
from tests.servers import fault
from tests.servers.script import Whole, reply, text
from tests.servers.threaded import serve


def test_a_window_whose_requests_fail_writes_no_key(world: World, qapp: QApplication, expected_logs: list[str]) -> None:
    expected_logs.append("the window stands still")
    ask_for_no_titles()
    key = KEYS["ANTHROPIC_API_KEY"]
    answers = [
        fault.unauthorized(f"Incorrect API key provided: {key}"),
        Whole(500, f"<html>Authorization: Bearer {key}, {KEYS['ANTHROPIC_CUSTOM_HEADERS']}</html>"),
        reply(text("Hello.")),
    ]

    async def journey(user: Driver) -> None:
        ready: list[bool] = []
        user.window.ready.connect(lambda: ready.append(True))
        await user.until_true(lambda: bool(ready), "the window is ready")
        for turn in range(1, len(answers) + 1):
            await user.type("composer", "Hello?")
            await user.press(Qt.Key.Key_Return)
            await user.until_true(
                lambda turn=turn: user.transcript.turn == turn and not user.transcript.turns.is_running,
                "the turn has ended",
            )
        world.hear(user.notices)
        await user.type("composer", "A draft")
        await user.quit()

    with serve(*answers) as server:
        drive([str(world.workspace), "--base-url", server.url], world.written / "album", journey)
        assert all(key in exchange.headers["authorization"] for exchange in server.messages)
        assert len(server.messages) == len(answers)
    assert any(AppPaths.from_environment(os.environ).logs.iterdir())
