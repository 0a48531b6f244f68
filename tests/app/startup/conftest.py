import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.store.blobs import Blobs
from tests.app.conftest import Journey
from tests.app.startup.held_machinery import OTHER_ID, TURNS, BeginWith, Machinery
from tests.e2e.driver import Driver, drive
from tests.journals import SESSION_ID, opened, turn, write_journal


@pytest.fixture
def machinery(monkeypatch: pytest.MonkeyPatch) -> Machinery:
    return Machinery(monkeypatch)


@pytest.fixture
def sessions(tmp_path: Path) -> dict[SessionId, Path]:
    paths = AppPaths.from_environment(os.environ)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    journals: dict[SessionId, Path] = {}
    for session_id in (OTHER_ID, SESSION_ID):
        journals[session_id] = paths.sessions / session_id / "journal.jsonl"
        events: list[ev.KnownEvent] = [replace(opened(str(workspace)), session_id=session_id)]
        for number in range(1, TURNS + 1):
            events += turn(number, calls=0)
        write_journal(journals[session_id], Blobs(paths.blobs), events)
    return journals


@pytest.fixture
def begin_with(tmp_path: Path, machinery: Machinery, expected_logs: list[str]) -> BeginWith:
    """Start the application with these arguments; the journey begins before the machinery may load."""
    expected_logs.append("the window stands still")

    def run(argv: list[str], journey: Journey) -> None:
        async def until_quit(user: Driver) -> None:
            try:
                await journey(user)
            finally:
                machinery.may_load.set()
            await user.quit()

        drive(argv, tmp_path / "album", until_quit)

    return run
