"""The progress line of a run on a terminal."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.command_line import PROGRAM
from tests.e2e.run.agent import script
from tests.servers.threaded import serve


def seen_on_a_terminal(workspace: Path, url: str, term: str, *more: str) -> tuple[bytes, str]:
    """Run with standard error on a terminal; return its output, and standard output."""
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "run", "--prompt", "make it two", "--approval", "on_request",
               "--workspace", str(workspace), "--base-url", url, *more]  # fmt: skip
    environ = {**os.environ, "TERM": term}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, env=environ
    ) as process:
        os.close(theirs)
        printed = bytearray()
        try:
            while chunk := os.read(ours, 65536):
                printed += chunk
        except OSError:  # Linux: the other side was closed
            pass
        assert process.stdout is not None
        out = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 0
    return bytes(printed), out


def test_a_terminal_shows_what_happens_and_is_left_clean(workspace: Path) -> None:
    with serve(*script()) as server:
        printed, out = seen_on_a_terminal(workspace, server.url, "xterm-256color")
    lines = printed.decode().split("\r\x1b[K")
    assert any(line.startswith("edit_file a.py · 0:0") and "1 request" in line for line in lines)
    assert all(len(line) < 80 for line in lines)
    assert lines[-1] == ""
    assert "\x1b" not in out


@pytest.mark.parametrize("more", [("--verbose",), ("--stream",), ()])
def test_nothing_is_drawn_where_it_would_disturb(workspace: Path, more: tuple[str, ...]) -> None:
    with serve(*script()) as server:
        printed, _ = seen_on_a_terminal(workspace, server.url, "xterm" if more else "dumb", *more)
    assert b"\x1b" not in printed
