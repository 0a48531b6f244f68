"""The application, run whole."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.e2e.driver import Driver, drive

Journey = Callable[[Driver], Awaitable[None]]
Go = Callable[[list[str], Journey], None]


@pytest.fixture
def go(tmp_path: Path, expected_logs: list[str]) -> Go:
    """Run the real application with these arguments, let a user use it, and quit it."""
    expected_logs.append("the window stands still")  # a test process is slow, and shares its cores

    def run(argv: list[str], journey: Journey) -> None:
        async def until_quit(user: Driver) -> None:
            ready: list[bool] = []
            user.window.ready.connect(lambda: ready.append(True))
            await user.until_true(lambda: bool(ready), "the window is ready")
            await journey(user)
            user.window.request_quit()
            await user.until_true(lambda: not user.window.main_window.isVisible(), "the window has closed")

        drive(argv, tmp_path / "album", until_quit)

    return run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine\n")
    return folder
