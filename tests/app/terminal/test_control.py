"""The user's terminal in the real window, from its shortcut to its end."""

import os
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QPushButton, QWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.ui.terminal.screen_view import TerminalView
from tests.app.conftest import Go
from tests.core.stubborn import is_alive
from tests.e2e.driver import Driver
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

pytestmark = [
    pytest.mark.usefixtures("qapp", "key"),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal"),
]

CTRL = Qt.KeyboardModifier.ControlModifier


class TerminalUser:
    def __init__(self, user: Driver) -> None:
        self._user = user

    @property
    def view(self) -> TerminalView:
        view = self._user.find(TerminalView, "terminalScreen")
        assert view is not None
        return view

    @property
    def prompts(self) -> bool:
        return self.view.recent_text(200).splitlines()[-1].strip() == ">"

    async def open(self) -> None:
        await self._user.press(Qt.Key.Key_QuoteLeft, CTRL)
        await self._user.see(TerminalView, "terminalScreen")
        await self.runs("PS1='> '; stty -echo; echo ready:", "ready:")

    async def runs(self, command: str, printed: str) -> str:
        """Run a command, wait for a line that begins with `printed`, and return the rest of that line."""
        QTest.keyClicks(self.view, command)
        QTest.keyClick(self.view, Qt.Key.Key_Return)
        return await self.reads(printed)

    async def reads(self, printed: str) -> str:
        def found() -> list[str]:
            lines = self.view.recent_text(200).replace("\n> ", "\n").splitlines()
            return [line.removeprefix(printed) for line in lines if line.startswith(printed)]

        await self._user.until_true(lambda: bool(found()), f"the terminal shows {printed!r}")
        return found()[-1]


def test_the_terminal_runs_the_users_shell_and_what_it_writes_is_the_users(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    left: list[int] = []

    async def journey(user: Driver) -> None:
        panels, terminal = user.window.panels, TerminalUser(user)
        await terminal.open()
        assert user.window.main_window.focusWidget() is terminal.view
        assert await terminal.runs("echo where: $PWD key:$ANTHROPIC_API_KEY.", "where: ") == f"{project} key:."
        panels.composer.set_text("Write a file.")
        await user.click("sendButton")
        await user.until_true(lambda: user.can_allow, "the agent asks")
        await terminal.runs("echo mine > mine.txt; echo more >> notes.txt; echo written:", "written:")
        await user.allow_with_mouse()
        await user.see_turn_end()
        changes = [each.change for each in user.transcript.changes.values()]
        assert [(change.path, change.author) for change in changes] == [("theirs.txt", "shell")]
        assert (project / "mine.txt").read_text() == "mine\n"

        await user.click("terminalAttachButton")
        await user.until_true(lambda: "@pasted:terminal-" in panels.composer.text(), "the output is attached")
        name = panels.composer.text().strip().removeprefix("@pasted:")
        kept = (AppPaths.from_environment(os.environ).data / "pasted" / name).read_text()
        assert "written:" in kept
        assert user.window.main_window.focusWidget() is panels.composer.edit

        await terminal.runs("bash -c 'echo busy:; exec cat'", "busy:")
        user.window.request_quit()
        box = await user.see(QMessageBox, "quitDialog")
        next(button for button in box.buttons() if button.text() == "Cancel").click()
        await user.until_true(lambda: user.find(QWidget, "quitDialog") is None, "the question has closed")
        QTest.keyClick(terminal.view, Qt.Key.Key_C, CTRL)
        await user.until_true(lambda: terminal.prompts, "the shell asks again")  # it drops earlier input
        await terminal.runs("exec bash --norc -c 'echo last:; kill -9 $$'", "last:")
        again = await user.see(QPushButton, "terminalStartButton")
        assert (await user.see(QLabel, "terminalState")).text() == "Ended with code 137."
        again.click()
        left.append(int(await terminal.runs("sleep 600 & echo pid: $!", "pid: ")))
        await user.press(Qt.Key.Key_QuoteLeft, CTRL)
        assert user.find(TerminalView, "terminalScreen") is None
        assert user.window.main_window.focusWidget() is panels.composer.edit

    command = tool_use("run_terminal_cmd", command="echo theirs > theirs.txt")
    with serve(reply(command), reply(text("Done."))) as server:
        go([str(project), "--base-url", server.url], journey)
    assert [is_alive(pid) for pid in left] == [False]


def test_a_shell_that_cannot_be_started_is_explained(go: Go, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_terminals() -> tuple[int, int]:
        raise OSError(28, "No space left on device")

    async def journey(user: Driver) -> None:
        monkeypatch.setattr(os, "openpty", no_terminals)
        user.actions.toggle_terminal.trigger()
        why = await user.see(QLabel, "terminalUnavailable")
        await user.until_true(lambda: "No space left" in why.text(), "the cause is named")
        monkeypatch.undo()
        await user.click("terminalStartButton")
        await user.until_true(lambda: user.find(TerminalView, "terminalScreen") is not None, "there is a terminal")
        assert QApplication.activeModalWidget() is None

    go([str(project)], journey)
