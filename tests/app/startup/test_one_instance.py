"""What a later start asks for arrives in the window that runs, and in none that does not answer."""

import asyncio
import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.app.startup.arguments import ANSWER, WindowArguments, hand_over, parse_arguments, place_of
from desktop_agent.core.base.paths import AppPaths
from tests.app.conftest import Go
from tests.command_line import PROGRAM
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


async def later_start(*arguments: str, cwd: Path, token: str = "") -> None:
    """Start the application once more, which must end by itself."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *arguments,
        cwd=cwd,
        env={**os.environ, "XDG_ACTIVATION_TOKEN": token},
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await process.communicate()
    assert (process.returncode, told) == (0, b"")


def place() -> str:
    return place_of(AppPaths.from_environment(), os.environ)


def test_folders_and_sessions_of_later_starts_are_shown_in_the_window(
    go: Go, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "größe & co"
    other.mkdir()
    monkeypatch.setenv("XDG_ACTIVATION_TOKEN", "")

    async def journey(user: Driver) -> None:
        folder = user.window.main_window.top_bar.workspace_button
        await later_start("größe & co", cwd=tmp_path)
        await user.until_true(lambda: "größe & co" in folder.text(), "the other folder is shown")
        await user.send("Hello")
        await user.until_true(lambda: bool(user.transcript.session.session_id), "the session began")
        session = user.transcript.session.session_id
        await later_start(str(project), cwd=tmp_path)
        await user.until_true(lambda: "my project" in folder.text(), "the first folder is shown again")
        await later_start("--continue", cwd=other)
        await user.until_true(lambda: user.transcript.session.session_id == session, "its session is shown")
        user.window.main_window.showMinimized()
        await later_start(cwd=tmp_path, token="t-1")
        await user.until_true(lambda: not user.window.main_window.isMinimized(), "the window is back")
        assert os.environ["XDG_ACTIVATION_TOKEN"] == "t-1"  # where Qt looks for it
        assert user.transcript.session.session_id == session

    go([str(project), "--provider", "demo"], journey)
    assert not Path(place()).exists()


def test_nothing_is_sent_to_a_window_that_cannot_do_it_or_does_not_answer(isolated_home: Path, tmp_path: Path) -> None:
    del isolated_home
    paths = AppPaths.from_environment()
    paths.data.mkdir(parents=True)
    assert not hand_over(WindowArguments(), paths, os.environ), "nobody listens"
    with closing(socket.socket(socket.AF_UNIX)) as silent:
        silent.bind(place())
        silent.listen()
        for alone in (["--new-window"], ["--provider", "demo"], ["--model", "m"], ["--account", "work"]):
            assert not hand_over(parse_arguments(alone), paths, os.environ)
        silent.settimeout(0)
        with pytest.raises(BlockingIOError):
            silent.accept()
        assert not hand_over(parse_arguments([str(tmp_path)]), paths, os.environ), "it does not answer"
    assert not hand_over(WindowArguments(), paths, os.environ), "it was killed, and its socket is left"


def test_a_window_takes_the_place_of_one_that_was_killed_and_bears_any_line(go: Go, project: Path) -> None:
    dead = socket.socket(socket.AF_UNIX)
    Path(place()).parent.mkdir(parents=True, exist_ok=True)
    dead.bind(place())
    dead.close()

    async def journey(user: Driver) -> None:
        for line in (b"\xff\x00\n", b'{"workspace": 3}\n', b"[]\n", b"x" * 200_000, b""):
            reader, writer = await asyncio.open_unix_connection(place())
            writer.write(line)
            writer.write_eof()
            assert await reader.read() != ANSWER
            writer.close()
        await later_start(str(project), cwd=project)
        assert user.banner == []

    go([str(project), "--provider", "demo"], journey)
