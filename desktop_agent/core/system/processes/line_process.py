"""A program that is spoken to line by line: its output is limited, and none of its processes remains when it ends."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.output import RecordSplitter, Sink
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

MOST_BYTES: Final = 16 * 1024 * 1024
"""How long a line may be."""

GRACE_S: Final = 2.0
"""How many seconds a program may take to end when its input is closed, before it gets TERM."""

MOST_STRAY_LINES: Final = 200
"""How many lines in a row may be something else than messages of the protocol."""

_HINTS = {
    "npx": "It comes with Node.js: install that, or give the whole path of npx.",
    "uvx": "It comes with uv: install that, or give the whole path of uvx.",
    "docker": "Install Docker, or give its whole path.",
}
_WAITING_BYTES = 1024 * 1024
_SHOWN_BYTES = 200
_SIGNALLED = 128


class LineProcess:
    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` takes sentences for the program's log."""
        self._say = say
        self._splitter = RecordSplitter(b"\n", MOST_BYTES)
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._waiting_bytes = 0
        self._flows: asyncio.Future[None] | None = None
        self._problem = ""
        self._stray_lines = 0
        self._is_stray = False
        self._life: asyncio.Task[None] | None = None
        self._child: ChildProcess | None = None

    @property
    def child(self) -> ChildProcess:
        assert self._child is not None, "the program runs"
        return self._child

    async def start(self, runner: ProcessRunner, command: Command, errors: Sink) -> None:
        """`errors` takes the program's standard error. Raises `ServerError` if the program cannot be started."""
        try:
            self._child = await runner.start(command, self._take, errors)
        except FileNotFoundError as error:
            name = command.argv[0]
            hint = _HINTS.get(name, "Install it, or give its whole path.")
            raise ServerError(f"There is no program {name!r}.", hint=hint) from error
        except OSError as error:
            raise ServerError(f"{command.argv[0]!r} could not be started: {error.strerror or error}.") from error
        self._life = asyncio.create_task(self._live(), name=f"life of {self.child.pid}")

    async def lines(self) -> AsyncGenerator[bytes]:
        """Yield what the program prints, without blank lines, until it ends. The program waits for a slow reader."""
        while (line := await self._lines.get()) is not None:
            self._waiting_bytes -= len(line)
            if self._flows is not None and self._waiting_bytes <= _WAITING_BYTES:
                self._flows.set_result(None)
                self._flows = None
            self._is_stray = False
            yield line
            self._stray_lines = self._stray_lines + 1 if self._is_stray else 0
            if self._stray_lines == MOST_STRAY_LINES:
                self.break_off("What it prints on its standard output is not the protocol.")

    def pass_over(self, line: bytes) -> None:
        """Log the last line: it is no message. Many programs print a greeting; one that goes on with it is ended."""
        shown = line[:_SHOWN_BYTES].decode("utf-8", "replace").strip()
        self._say(f"Not a message of the protocol, on its standard output: {shown}")
        self._is_stray = True

    async def send(self, line: bytes) -> bool:
        """Send a line; False if the program no longer reads."""
        if await self.child.send(line + b"\n"):
            return True
        self._lines.put_nowait(None)
        return False

    async def ended(self) -> str:
        """Wait for the program's end, and return it in words."""
        await self.child.wait()
        if self._problem:
            return self._problem
        code = (await self.child.end()).exit_code
        if code > _SIGNALLED:
            return f"It was ended by signal {code - _SIGNALLED}."
        return f"It ended with exit code {code}." if code else "It ended by itself."

    async def end(self, grace_s: float = GRACE_S) -> None:
        """Close the program's input, and kill it after `grace_s` seconds. None of its processes remains."""
        self.child.end_input()
        if grace_s and not self._problem:
            await self.child.wait(grace_s)
        await self.child.end()
        if self._life is not None:
            await self._life

    def break_off(self, problem: str) -> None:
        self._problem = problem
        self._lines.put_nowait(None)
        if self._child is not None:
            self._child.ask_to_end()

    def _take(self, content: bytes) -> asyncio.Future[None] | None:
        if self._problem:
            return None
        lines = self._splitter.feed(content)
        if self._splitter.too_long:
            self.break_off(f"It sent a message of more than {MOST_BYTES // 1024**2} MiB.")
            return None
        for line in filter(bytes.strip, lines):
            self._waiting_bytes += len(line)
            self._lines.put_nowait(line)
        if self._waiting_bytes > _WAITING_BYTES and self._flows is None:
            self._flows = asyncio.get_running_loop().create_future()
        return self._flows

    async def _live(self) -> None:
        await self.child.wait()
        self._lines.put_nowait(None)
