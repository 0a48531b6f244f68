"""What is typed into a terminal of the user's, and how large they see it: the way in, beside the reader's way out."""

import asyncio
import errno
import os
import signal
import sys
from contextlib import suppress
from typing import Final

from desktop_agent.core.system.processes.terminal import Terminal

MOST_WAITING_BYTES: Final = 16 * 1024 * 1024
"""What waits to be read at most; more, such as a pasted file for a program that hangs, is not taken."""


class Keyboard:
    """Types into one terminal without waiting for who reads there. For the event loop's thread."""

    def __init__(self, terminal: Terminal) -> None:
        """Must be made before the terminal is handed over to a runner."""
        self._loop = asyncio.get_running_loop()
        self._fd = os.dup(terminal.ours)
        self._waiting = bytearray()
        self._is_open = True

    def type(self, content: bytes) -> bool:
        """Type this behind what waits; False when too much waits, or there is no terminal any more."""
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
        """Tell the programs that the screen has another size (SIGWINCH)."""
        if self._is_open and sys.platform != "win32":
            import termios

            with suppress(OSError, termios.error):  # the other end is closed
                termios.tcsetwinsize(self._fd, (rows, columns))

    def foreground(self) -> int | None:
        """Return the process group that has the terminal now: the shell's own while it waits for a command."""
        if not self._is_open or sys.platform == "win32":
            return None
        try:
            return os.tcgetpgrp(self._fd)
        except OSError:
            return None

    def hang_up(self) -> None:
        """Close it, as when a modem hung up: shells end, and tell what they started."""
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
    """Tell a shell that its terminal is gone: an interactive one takes no other request to end."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGHUP)
