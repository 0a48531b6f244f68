"""The whole application in a test."""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from desktop_agent.ui.theme import Theme
from tests.e2e.driver import Driver, ask_for_no_titles, drive
from tests.session_bus import session_bus

Journey = Callable[[Driver], Awaitable[None]]
Go = Callable[[list[str], Journey], None]
StartService = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def go(tmp_path: Path, expected_logs: list[str]) -> Go:
    """Run the real application with these arguments, let the journey use the window, and quit."""
    expected_logs.append("the window stands still")  # a test process is slow, and shares its cores

    def run(argv: list[str], journey: Journey) -> None:
        async def until_quit(user: Driver) -> None:
            await user.see_ready()
            await journey(user)
            await user.quit()

        drive(argv, tmp_path / "album", until_quit)

    return run


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> str:
    """The user's key. Titles are off: a request for one would take a prepared answer."""
    del isolated_home
    key = "sk-ant-test-000000000000"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    ask_for_no_titles()
    return key


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine\n")
    return folder


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    with session_bus() as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        yield address


@pytest.fixture
def start_service(bus: str) -> Generator[StartService]:
    """Start a module as a service on the session bus, until the test ends."""
    del bus
    with ExitStack() as started:

        def start(module: str, *arguments: str) -> "subprocess.Popen[str]":
            argv = [sys.executable, "-m", module, *arguments]
            process = started.enter_context(subprocess.Popen(argv, env=os.environ, stdout=subprocess.PIPE, text=True))
            started.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            return process

        yield start


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    theme = Theme(qapp, "light")
    theme.install()
    return theme
