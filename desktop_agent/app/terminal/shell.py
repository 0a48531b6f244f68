"""One shell of the user's in one folder, with the terminal that it prints to.

What it prints is read in a thread and taken in here, on the window's loop, for some milliseconds at a time: however
much that is, keys and paintings come between. While more waits than is taken in, the program that prints waits.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.command_streams import Keyboard, Terminal, hang_up_on
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.terminal.emulator import FLOOD_BYTES, Backlog, Emulator, without_unseen
from desktop_agent.ui.runtime.eventloop import TaskSpawner

_SLICE_S: Final = 0.003
_PAUSE_S: Final = 0.008
"""What comes so soon after what was taken in is taken in together: a turn of the loop for each line would cost more."""

_SHELLS: Final = ("/bin/bash", "/bin/zsh", "/bin/sh")
_OF_OTHER_TERMINALS: Final = frozenset({"LINES", "COLUMNS", "TERM_PROGRAM_VERSION", "WINDOWID"})


class UserShell:
    """Runs from `start` until it ends by itself or by `end`."""

    def __init__(
        self, folder: Path, rows: int, columns: int, spawner: TaskSpawner, changed: Callable[["UserShell"], None]
    ) -> None:
        """`changed` is called when the screen shows something else, or the shell has ended."""
        self.folder = folder
        self.emulator = Emulator(rows, columns, answered=self.type)
        self.exit_code: int | None = None
        """How it ended; None while it runs."""
        self._spawner = spawner
        self._changed = changed
        self._backlog = Backlog()
        self._loop = asyncio.get_running_loop()
        self._keyboard: Keyboard | None = None
        self._typed_early = b""
        """What was typed while the shell was being started."""
        self._child: ChildProcess | None = None
        self._is_taking_in = False

    async def start(self, runner: ProcessRunner, environ: Mapping[str, str]) -> None:
        """Start the user's shell. Raises `OSError` where there are no terminals, or no shell can be started."""
        screen = self.emulator.screen
        terminal = await asyncio.to_thread(Terminal.open, screen.height, screen.columns, is_for_user=True)
        self._keyboard = Keyboard(terminal)
        command = Command(argv=shell_command(environ), cwd=self.folder, environ=terminal_environment(environ))
        try:
            self._child = await runner.interact(command, terminal, self._on_output)
        except OSError:
            self._keyboard.hang_up()
            raise
        self._keyboard.type(self._typed_early)
        self._spawner.spawn(self._see_through(self._child))

    @property
    def is_busy(self) -> bool:
        """Whether a program has the terminal, and not the shell that waits for a command."""
        if self._keyboard is None or self._child is None or self.exit_code is not None:
            return False
        return self._keyboard.foreground() not in (None, self._child.pid)

    def type(self, content: bytes) -> None:
        """Send what the user typed."""
        if self._child is None or self._keyboard is None:
            self._typed_early += content
        else:
            self._keyboard.type(content)

    def resize(self, rows: int, columns: int) -> None:
        """Have another size, and tell the programs."""
        screen = self.emulator.screen
        if (rows, columns) != (screen.height, screen.columns):
            screen.resize(rows, columns)
            if self._keyboard is not None:
                self._keyboard.resize(rows, columns)
            self._changed(self)

    async def end(self) -> None:
        """End the shell and all that it started, and return when nothing of it is left."""
        self._backlog.close()
        if self._child is not None:
            hang_up_on(self._child.pid)
            await self._child.end()

    async def _see_through(self, child: ChildProcess) -> None:
        await child.wait()
        end = await child.end()
        self.exit_code = end.exit_code
        if self._keyboard is not None:
            self._keyboard.hang_up()
        self._changed(self)

    # -- what it prints --

    def _on_output(self, output: bytes) -> None:
        """Take output from the thread that reads."""
        if self._backlog.put(output):
            self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        if not self._is_taking_in:
            self._is_taking_in = True
            self._spawner.spawn(self._take_in())

    async def _take_in(self) -> None:
        try:
            while output := self._backlog.take():
                await self._take_in_all_of(await self._to_be_seen(output))
                await asyncio.sleep(_PAUSE_S)
        finally:
            self._is_taking_in = False

    async def _to_be_seen(self, output: bytes) -> bytes:
        """Return `output` without what has scrolled away before it could be seen or scrolled back to."""
        if len(output) < FLOOD_BYTES or not self.emulator.is_scrolling:
            return output
        screen = self.emulator.screen
        return await asyncio.to_thread(without_unseen, output, (screen.history.maxlen or 0) + screen.height)

    async def _take_in_all_of(self, output: bytes) -> None:
        end = time.perf_counter() + _SLICE_S
        for _ in self.emulator.steps(output):
            if time.perf_counter() >= end:
                self._changed(self)
                await asyncio.sleep(0)
                end = time.perf_counter() + _SLICE_S
        self._changed(self)


def shell_command(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the user's shell, as a terminal of this system starts it."""
    named = environ.get("SHELL", "")
    candidates = (named, *_SHELLS) if Path(named).is_absolute() else _SHELLS
    shell = next((each for each in candidates if os.access(each, os.X_OK)), _SHELLS[-1])
    return (shell, "-l") if sys.platform == "darwin" else (shell,)


def terminal_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ`, which must hold no secrets, for programs in this terminal."""
    own = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "TERM_PROGRAM": "desktop-agent"}
    return {**{name: value for name, value in environ.items() if name not in _OF_OTHER_TERMINALS}, **own}
