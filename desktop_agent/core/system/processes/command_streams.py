"""Reads the output of one command in its own thread, because the event loop would slow the window down."""

import asyncio
import errno
import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import FileIO
from typing import Final

from msgspec import Struct

if sys.platform != "win32":
    import fcntl
    import termios

READ_BYTES = 256 * 1024
PIPE_BYTES = 1024 * 1024
"""The size of a pipe where the system lets us choose. The usual size costs a process switch per 64 KiB."""

TYPING_PAUSE_S = 0.1
END_PAUSE_S = 1.0
END_OF_INPUT = b"\x04"

ThreadSink = Callable[[bytes], None]
"""A function that takes output on the reading thread. It may block."""


class OutputReader:
    """Reads the file descriptor `fd`, which it owns, from `start` until its end or until `stop`."""

    def __init__(
        self,
        fd: int,
        sink: ThreadSink,
        *,
        typed: Iterable[bytes] | None = None,
        unread_bytes: Callable[[], int] = lambda: 0,
    ) -> None:
        """`typed` are the lines to type into a terminal. `unread_bytes` returns how much of them is unread."""
        self._loop = asyncio.get_running_loop()
        self._file = FileIO(fd, "r")
        self._sink = sink
        self._typed = deque(typed) if typed is not None else None
        self._unread_bytes = unread_bytes
        self._was_unread = False
        self._wake = os.pipe() if sys.platform != "win32" else None
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name=f"output {fd}", daemon=True)
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.received_bytes = 0
        self.is_taking = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Read only what was already printed, then stop. `ended` is done when the sink is no longer called."""
        if self._is_stopped:
            return
        self._is_stopped = True
        if self._wake is None:  # no way to wake a blocking read; the thread ends with the pipe
            self._end()
        elif not self.ended.done():
            with suppress(OSError):
                os.write(self._wake[1], b"x")

    def waiting_bytes(self) -> int:
        """Return how many bytes wait to be read. Can be called in any thread."""
        try:
            return waiting_bytes(self._file.fileno())
        except (OSError, ValueError):  # it is closed
            return 0

    def close(self) -> None:
        self._file.close()
        self._end()

    def _run(self) -> None:
        try:
            with self._file:
                self._read_all()
        finally:
            with suppress(RuntimeError):  # the loop is closed: no task waits any more
                self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
        for fd in self._wake or ():
            os.close(fd)
        self._wake = None

    def _read_all(self) -> None:
        is_ready = self._waiting()
        while is_ready():
            if not self._read_chunk():
                return
        self._read_what_is_there()

    def _read_what_is_there(self) -> None:
        if sys.platform == "win32" or self._wake is None:
            return
        poll = select.poll()
        poll.register(self._file, select.POLLIN)
        begun, seen = self.received_bytes, -1
        while seen < self.received_bytes < begun + PIPE_BYTES and poll.poll(0):
            seen = self.received_bytes
            if not self._read_chunk():
                return

    def _read_chunk(self) -> bool:
        try:
            chunk = os.read(self._file.fileno(), READ_BYTES)
        except BlockingIOError:  # a terminal's promise of output may be broken
            return True
        except OSError as error:
            if error.errno == errno.EIO:  # the other end of the terminal is closed
                return False
            raise
        if not chunk or (self._wake is None and self._is_stopped):
            return False
        self.received_bytes += len(chunk)
        self.is_taking = True
        try:
            self._sink(chunk)
        finally:
            self.is_taking = False
        return True

    def _waiting(self) -> Callable[[], bool]:
        if sys.platform == "win32" or self._wake is None:
            return lambda: not self._is_stopped
        wake = self._wake[0]
        poll = select.poll()
        poll.register(self._file, select.POLLIN)
        poll.register(wake, select.POLLIN)

        def wait() -> bool:
            while not (ready := poll.poll(self._pause_ms())):
                self._type_next()
            return all(fd != wake for fd, _ in ready)

        return wait

    def _pause_ms(self) -> float | None:
        if self._typed is None:
            return None
        return (TYPING_PAUSE_S if self._typed else END_PAUSE_S) * 1000

    def _type_next(self) -> None:
        assert self._typed is not None
        was_unread, self._was_unread = self._was_unread, bool(self._typed) and self._unread_bytes() > 0
        if was_unread or self._was_unread:
            return  # the line is unread, or was read only just now
        line = self._typed.popleft() if self._typed else END_OF_INPUT
        try:
            written = os.write(self._file.fileno(), line)
        except BlockingIOError:
            written = 0
        except OSError:  # no process reads the terminal any more
            self._typed = None
            return
        if line[written:] and line != END_OF_INPUT:
            self._typed.appendleft(line[written:])


def waiting_bytes(fd: int) -> int:
    """Return the unread bytes of a pipe or terminal; 0 if unknown. Raises `OSError`."""
    if sys.platform == "win32":
        return 0
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder)


def open_pipe() -> tuple[int, int]:
    ends = os.pipe()
    if sys.platform == "linux":
        with suppress(OSError):  # the user's share of such memory is used up
            fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return ends


COLUMNS = 120
ROWS = 40

HAS_TERMINALS = hasattr(os, "openpty")

_TAKE_TERMINAL = ': <> "$0"; exec "$@"'


class Terminal(Struct, frozen=True):
    """A new terminal: our end, the command's end, and the name of the command's end.

    The command's shell opens the terminal by name and thereby controls it, so no code runs between fork and exec.
    """

    ours: int
    theirs: int
    path: str

    @classmethod
    def open(cls, rows: int = ROWS, columns: int = COLUMNS, *, is_for_user: bool = False) -> "Terminal":
        """Open a terminal. `is_for_user`: lines end in CR LF. Raises `OSError` where there are no terminals."""
        if sys.platform == "win32":
            raise OSError("there are no terminals on this system")
        ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (rows, columns))
        if not is_for_user:
            modes = termios.tcgetattr(theirs)
            modes[1] &= ~termios.ONLCR  # a line ends as the command wrote it
            termios.tcsetattr(theirs, termios.TCSANOW, modes)
        os.set_blocking(ours, False)
        return cls(ours, theirs, os.ttyname(theirs))

    def unread_bytes(self) -> int:
        """Bytes of typed, complete lines that no program has read yet. Blocks for a moment."""
        if sys.platform == "win32":
            return 0
        try:  # the command's end is opened again, because our end counts printed bytes
            theirs = os.open(self.path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:  # it is closed
            return 0
        try:
            return waiting_bytes(theirs)
        except OSError:
            return 0
        finally:
            os.close(theirs)

    def launching(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        return ("/bin/sh", "-c", _TAKE_TERMINAL, self.path, *argv)


def typed_lines(text: str | None) -> Iterator[bytes]:
    lines = (text or "").encode("utf-8", "replace").splitlines(keepends=True)
    yield from lines
    if lines and not lines[-1].endswith(b"\n"):
        yield END_OF_INPUT  # after an unfinished line, the first one only submits the line
    yield END_OF_INPUT


MOST_WAITING_BYTES: Final = 16 * 1024 * 1024


class Keyboard:
    """Types into one terminal without waiting for the program that reads. Use it only on the event loop's thread."""

    def __init__(self, terminal: Terminal) -> None:
        """Create the keyboard before the terminal is given to a runner."""
        self._loop = asyncio.get_running_loop()
        self._fd = os.dup(terminal.ours)
        self._waiting = bytearray()
        self._is_open = True

    def type(self, content: bytes) -> bool:
        if not self._is_open or len(self._waiting) + len(content) > MOST_WAITING_BYTES:
            return False
        is_idle = not self._waiting
        self._waiting += content
        if is_idle:
            self._write()
            if self._waiting:
                self._loop.add_writer(self._fd, self._write)
        return True

    def resize(self, rows: int, columns: int) -> None:
        if self._is_open and sys.platform != "win32":
            with suppress(OSError, termios.error):  # the other end is closed
                termios.tcsetwinsize(self._fd, (rows, columns))

    def foreground(self) -> int | None:
        """The process group in the foreground: the shell's own while it waits for a command."""
        if not self._is_open or sys.platform == "win32":
            return None
        try:
            return os.tcgetpgrp(self._fd)
        except OSError:
            return None

    def hang_up(self) -> None:
        """Close the terminal. Its shell then ends, and signals its children to end."""
        if not self._is_open:
            return
        self._is_open = False
        with suppress(ValueError, KeyError):
            self._loop.remove_writer(self._fd)
        self._waiting.clear()
        os.close(self._fd)

    def _write(self) -> None:
        try:
            written = os.write(self._fd, self._waiting[:65_536])
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno not in (errno.EIO, errno.EPIPE):
                raise
            self._waiting.clear()
            written = 0
        del self._waiting[:written]
        if not self._waiting:
            with suppress(ValueError, KeyError):
                self._loop.remove_writer(self._fd)


def hang_up_on(group: int) -> None:
    """An interactive shell ignores SIGTERM, but not SIGHUP."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGHUP)
