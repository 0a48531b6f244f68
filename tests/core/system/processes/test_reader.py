"""A thread reads a command's output and types its input."""

import os
import signal
import sys
import threading
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.system.processes.command_streams import END_OF_INPUT, OutputReader, open_pipe, typed_lines
from desktop_agent.core.system.processes.runner import ProcessRunner
from tests.core.system.processes.commands import shell

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are shell commands")


async def test_a_stopped_reader_ends_although_the_pipe_is_held_open() -> None:
    reading, writing = open_pipe()
    reader = OutputReader(reading, lambda _: None)
    reader.start()
    reader.stop()
    reader.stop()
    await reader.ended
    with pytest.raises(BrokenPipeError):
        os.write(writing, b"nobody listens")
    os.close(writing)


async def test_what_came_before_reading_was_stopped_is_taken_although_the_thread_comes_late() -> None:
    reading, writing = open_pipe()
    chunks: list[bytes] = []
    reader = OutputReader(reading, chunks.append)
    os.write(writing, b"last words")
    reader.stop()
    reader.start()
    await reader.ended
    os.close(writing)
    assert chunks == [b"last words"]


async def test_a_slow_sink_makes_the_command_wait_and_loses_nothing(runner: ProcessRunner, tmp_path: Path) -> None:
    """A slow disk must not let output pile up in memory."""
    gate = threading.Event()
    sizes: list[int] = []

    def take(chunk: bytes) -> None:
        gate.wait(20)
        sizes.append(len(chunk))

    child = await runner.read(shell("head -c 10000000 /dev/zero", tmp_path), take)
    assert not await child.wait(0.3)
    assert not child.has_exited
    gate.set()
    assert await child.wait(20)
    assert (await child.end()).exit_code == 0
    assert sum(sizes) == 10_000_000


async def test_what_was_read_last_is_kept_although_its_sink_is_slow(runner: ProcessRunner, tmp_path: Path) -> None:
    """The command has exited, another process holds its pipe, and the disk is slower than the wait for silence."""
    gate = threading.Event()
    chunks: list[bytes] = []

    def take(chunk: bytes) -> None:
        gate.wait(20)
        chunks.append(chunk)

    child = await runner.read(shell("sleep 100 & echo one; sleep 0.1; echo two", tmp_path), take)
    while not child.has_exited:
        await child.wait(0.01)
    assert not await child.wait(0.5)
    gate.set()
    await child.end()
    assert b"".join(chunks) == b"one\ntwo\n"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_sink_that_fails_does_not_hang_the_command(runner: ProcessRunner, tmp_path: Path) -> None:
    def fail(_: bytes) -> None:
        raise RuntimeError("boom")

    child = await runner.read(shell("yes", tmp_path), fail)
    assert await child.wait(20)
    assert (await child.end()).exit_code == 128 + signal.SIGPIPE


@pytest.mark.parametrize("tty", [False, True])
async def test_no_descriptor_is_left_open(runner: ProcessRunner, tmp_path: Path, *, tty: bool) -> None:
    await runner.run(shell("true", tmp_path, tty=tty))
    before = psutil.Process().num_fds()
    for _ in range(10):
        await runner.run(shell("echo x; sleep 100 & exit 0", tmp_path, tty=tty))
        with pytest.raises(FileNotFoundError):
            await runner.run(shell("true", tmp_path / "missing", tty=tty))
    assert psutil.Process().num_fds() <= before


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (None, [END_OF_INPUT]),
        ("", [END_OF_INPUT]),
        ("a\nb\n", [b"a\n", b"b\n", END_OF_INPUT]),
        ("a\nb", [b"a\n", b"b", END_OF_INPUT, END_OF_INPUT]),
    ],
)
def test_text_is_typed_line_by_line_and_then_its_end(text: str | None, typed: list[bytes]) -> None:
    assert list(typed_lines(text)) == typed
