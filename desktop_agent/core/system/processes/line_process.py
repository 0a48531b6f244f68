"""A program that exchanges messages with us: its output is limited, and none of its processes remains at its end."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final, Protocol

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.output import RecordSplitter, Sink
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

MOST_BYTES: Final = 16 * 1024 * 1024
"""How long a message may be."""

GRACE_S: Final = 2.0
"""How many seconds a program may take to end when its input is closed, before it gets TERM."""

MOST_STRAY_LINES: Final = 200
"""How many lines in a row may not be messages of the protocol."""

_HINTS = {
    "npx": "It comes with Node.js: install that, or give the whole path of npx.",
    "uvx": "It comes with uv: install that, or give the whole path of uvx.",
    "docker": "Install Docker, or give its whole path.",
}
_WAITING_BYTES = 1024 * 1024
_SHOWN_BYTES = 200
_MOST_DIGITS = 12
_TOO_LONG = f"It sent a message of more than {MOST_BYTES // 1024**2} MiB."
NO_PROTOCOL: Final = "What it prints on its standard output is not the protocol."
_SIGNALLED = 128


class Framing(Protocol):
    """How messages are delimited in a stream."""

    def framed(self, message: bytes) -> bytes: ...

    def feed(self, content: bytes) -> list[bytes]:
        """Return the messages that end in `content`, the next piece. Raises `ValueError` for a broken stream."""
        ...


class _Lines:
    def __init__(self) -> None:
        self._splitter = RecordSplitter(b"\n", MOST_BYTES)

    def framed(self, message: bytes) -> bytes:
        return message + b"\n"

    def feed(self, content: bytes) -> list[bytes]:
        lines = self._splitter.feed(content)
        if self._splitter.too_long:
            raise ValueError(_TOO_LONG)
        return lines


_HEADER_END = b"\r\n\r\n"
_LONGEST_HEADER = 4096


class Headers:
    """Messages after a header with their length, as in the Language Server Protocol."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._length: int | None = None

    def framed(self, message: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%s" % (len(message), message)

    def feed(self, content: bytes) -> list[bytes]:
        self._waiting += content
        messages: list[bytes] = []
        while (length := self._next_length()) is not None and len(self._waiting) >= length:
            messages.append(bytes(self._waiting[:length]))
            del self._waiting[:length]
            self._length = None
        return messages

    def _next_length(self) -> int | None:
        if self._length is None:
            end = self._waiting.find(_HEADER_END, 0, _LONGEST_HEADER)
            if end < 0:
                if len(self._waiting) >= _LONGEST_HEADER:
                    raise ValueError(NO_PROTOCOL)
                return None
            fields = (line.partition(b":") for line in bytes(self._waiting[:end]).split(b"\r\n"))
            length = next((value.strip() for name, _, value in fields if name.lower() == b"content-length"), b"")
            if not length.isdigit():
                raise ValueError(NO_PROTOCOL)
            if len(length) > _MOST_DIGITS or int(length) > MOST_BYTES:
                raise ValueError(_TOO_LONG)
            del self._waiting[: end + len(_HEADER_END)]
            self._length = int(length)
        return self._length


class LineProcess:
    def __init__(self, say: Callable[[str], None], framing: Framing | None = None) -> None:
        """`say` takes sentences for the program's log. Without `framing`, each message is a line."""
        self._say = say
        self._framing = framing or _Lines()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._waiting_bytes = 0
        self._flows: asyncio.Future[None] | None = None
        self._is_read = True
        self._problem = ""
        self._stray_lines = 0
        self._is_stray = False
        self._life: asyncio.Task[None] | None = None
        self._child: ChildProcess | None = None

    @property
    def child(self) -> ChildProcess:
        assert self._child is not None, "the program runs"
        return self._child

    async def start(self, runner: ProcessRunner, command: Command, errors: Sink, *, is_limited: bool = False) -> None:
        """`errors` takes the program's standard error. Raises `ServerError` if the program cannot be started."""
        try:
            self._child = await runner.start(command, self._take, errors, is_limited=is_limited)
        except FileNotFoundError as error:
            name = command.argv[0]
            hint = _HINTS.get(name, "Install it, or give its whole path.")
            raise ServerError(f"There is no program {name!r}.", hint=hint) from error
        except OSError as error:
            raise ServerError(f"{command.argv[0]!r} could not be started: {error.strerror or error}.") from error
        self._life = asyncio.create_task(self._live(), name=f"life of {self.child.pid}")

    async def lines(self) -> AsyncGenerator[bytes]:
        """Yield what the program prints, without blank lines, until it ends. The program waits for a slow reader."""
        try:
            while (line := await self._lines.get()) is not None:
                self._waiting_bytes -= len(line)
                if self._waiting_bytes <= _WAITING_BYTES:
                    self._let_flow()
                self._is_stray = False
                yield line
                self._stray_lines = self._stray_lines + 1 if self._is_stray else 0
                if self._stray_lines == MOST_STRAY_LINES:
                    self.break_off(NO_PROTOCOL)
        finally:
            self._stop_reading()

    def pass_over(self, line: bytes) -> None:
        """Log the last line: it is no message. Many programs print a greeting; one that goes on with it is ended."""
        shown = line[:_SHOWN_BYTES].decode("utf-8", "replace").strip()
        self._say(f"Not a message of the protocol, on its standard output: {shown}")
        self._is_stray = True

    async def send(self, line: bytes) -> bool:
        """Send a message; False if the program no longer reads."""
        if await self.child.send(self._framing.framed(line)):
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
        self._stop_reading()
        self.child.end_input()
        if grace_s and not self._problem:
            await self.child.wait(grace_s)
        await self.child.end()
        if self._life is not None:
            await self._life

    def break_off(self, problem: str) -> None:
        self._problem = problem
        self._lines.put_nowait(None)
        self._stop_reading()
        if self._child is not None:
            self._child.ask_to_end()

    def _stop_reading(self) -> None:
        """Read and drop the rest of the output: a program blocks on a full pipe, and would never end."""
        self._is_read = False
        self._let_flow()

    def _let_flow(self) -> None:
        flows, self._flows = self._flows, None
        if flows is not None:
            flows.set_result(None)

    def _take(self, content: bytes) -> asyncio.Future[None] | None:
        if not self._is_read:
            return None
        try:
            lines = self._framing.feed(content)
        except ValueError as error:
            self.break_off(str(error))
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
