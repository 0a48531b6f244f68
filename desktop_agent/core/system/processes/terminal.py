"""A terminal for a command, or for the user: what it prints is what people see in theirs, and its input is typed.

The command's first process becomes the leader of a new session (as every command's does) and takes the terminal as its
own, by a line of shell in front of it: opening a terminal is what makes it the controlling one, and that leaves nothing
to run between fork and exec, which is not safe in a program with threads.
"""

import os
import sys
from collections.abc import Iterator

from msgspec import Struct

from desktop_agent.core.system.processes.reader import END_OF_INPUT

COLUMNS = 120
ROWS = 40

HAS_TERMINALS = hasattr(os, "openpty")

_TAKE_TERMINAL = ': <> "$0"; exec "$@"'


class Terminal(Struct, frozen=True):
    """A new terminal: our end, the command's end, and the name of the latter."""

    ours: int
    theirs: int
    path: str

    @classmethod
    def open(cls, rows: int = ROWS, columns: int = COLUMNS, *, is_for_user: bool = False) -> "Terminal":
        """Return a new one; in one `is_for_user` lines end as on a screen. Raises `OSError` where there are none."""
        if sys.platform == "win32":
            raise OSError("there are no terminals on this system")
        import termios

        ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (rows, columns))
        if not is_for_user:
            modes = termios.tcgetattr(theirs)
            modes[1] &= ~termios.ONLCR  # a line ends as the command wrote it
            termios.tcsetattr(theirs, termios.TCSANOW, modes)
        os.set_blocking(ours, False)
        return cls(ours, theirs, os.ttyname(theirs))

    def unread_bytes(self) -> int:
        """Return how much of what was typed no program has read yet, of lines that are whole. Blocks for a moment."""
        import fcntl
        import struct
        import termios

        try:  # once more: by now only the command has its end, and ours counts what was printed
            theirs = os.open(self.path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:  # it is closed
            return 0
        try:
            return struct.unpack("i", fcntl.ioctl(theirs, termios.FIONREAD, struct.pack("i", 0)))[0]
        except OSError:
            return 0
        finally:
            os.close(theirs)

    def launching(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return `argv` so that it has this terminal as its controlling one."""
        return ("/bin/sh", "-c", _TAKE_TERMINAL, self.path, *argv)


def typed_lines(text: str | None) -> Iterator[bytes]:
    """Yield what is typed for a command to read `text` and then the end of its input."""
    lines = (text or "").encode("utf-8", "replace").splitlines(keepends=True)
    yield from lines
    if lines and not lines[-1].endswith(b"\n"):
        yield END_OF_INPUT  # on a line that has begun, the first only hands the line over
    yield END_OF_INPUT
