"""The user's shell on a terminal: typed to, resized, and ended with all its processes."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.command_streams import MOST_WAITING_BYTES, Keyboard, Terminal, hang_up_on
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from tests.core.stubborn import is_alive

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals")


class Shell:
    def __init__(self, terminal: Terminal) -> None:
        self.keyboard = Keyboard(terminal)
        self.child: ChildProcess | None = None
        self._printed = ""
        self._more = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def take(self, output: bytes) -> None:
        self._loop.call_soon_threadsafe(self._take, output)

    async def prints(self, text: str) -> str:
        async with asyncio.timeout(30):
            while text not in self._printed or "\n" not in self._printed.split(text, 1)[1]:
                self._more.clear()
                await self._more.wait()
        found, self._printed = self._printed.split(text, 1)[1].split("\n", 1)
        return found.strip()

    def _take(self, output: bytes) -> None:
        self._printed += output.decode()
        self._more.set()


async def start(runner: ProcessRunner, folder: Path) -> Shell:
    terminal = Terminal.open(20, 70, is_for_user=True)
    shell = Shell(terminal)
    environ = {"PATH": os.environ["PATH"], "PS1": "", "HOME": str(folder), "TERM": "dumb"}
    command = Command(argv=("/bin/bash", "--norc"), cwd=folder, environ=environ)
    shell.child = await runner.interact(command, terminal, shell.take)
    return shell


async def test_the_users_shell_is_typed_to_resized_and_ends_with_all_it_started(
    runner: ProcessRunner, tmp_path: Path
) -> None:
    shell = await start(runner, tmp_path)
    child, keyboard = shell.child, shell.keyboard
    assert child is not None
    keyboard.type(b'echo "size:" $(stty size) "at:" $PWD\r')
    assert await shell.prints("\r\nsize: ") == f"20 70 at: {tmp_path}"
    keyboard.resize(33, 101)
    keyboard.type(b'echo "size:" $(stty size)\r')
    assert await shell.prints("\r\nsize: ") == "33 101"
    assert keyboard.foreground() == child.pid
    nohup = b"nohup setsid sleep 600 2> /dev/null & "  # it is printed in pieces, anywhere in the lines below
    keyboard.type(nohup + b"sleep 600 & echo pids: $!; read -r line; echo line: ${#line}\r")
    pid = int(await shell.prints("\r\npids: "))
    keyboard.type(b"x" * 3_000 + b"\r")
    assert await shell.prints("\nline: ") == "3000"
    keyboard.type(b"cat | cat\r")  # a job of its own has the terminal
    async with asyncio.timeout(30):
        while keyboard.foreground() == child.pid:  # noqa: ASYNC110 -- the kernel tells nobody
            await asyncio.sleep(0.01)
    hang_up_on(child.pid)
    end = await child.end()
    keyboard.hang_up()
    assert not end.survivors
    assert not is_alive(pid)
    assert not keyboard.type(b"x")
    assert keyboard.foreground() is None


async def test_what_no_program_reads_waits_within_bounds(runner: ProcessRunner, tmp_path: Path) -> None:
    shell = await start(runner, tmp_path)
    shell.keyboard.type(b"stty raw -echo; echo ready:; sleep 600\r")
    await shell.prints("\nready:")
    assert shell.keyboard.type(b"x" * 1_000_000)
    assert not shell.keyboard.type(b"x" * MOST_WAITING_BYTES)
    shell.keyboard.hang_up()
    assert shell.child is not None
    hang_up_on(shell.child.pid)
    await shell.child.end()
