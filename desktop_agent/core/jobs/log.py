"""The log of a background command: it can print for ever and keeps its newest output, and the disk.

A log that grows beyond its limit is moved aside to `<log>.1`, replacing what was there.
"""

import os
from contextlib import suppress
from io import FileIO
from pathlib import Path

from desktop_agent.core.system.processes.output import continuation_bytes, create_private
from desktop_agent.core.system.staged_file import write_all

LOG_LIMIT_BYTES = 16 * 1024 * 1024
"""When a log is moved aside. A job takes at most twice this on disk."""


class JobLog:
    """A log file that starts over when it is full. Its methods block."""

    def __init__(self, path: Path, limit_bytes: int = LOG_LIMIT_BYTES) -> None:
        self.path = path
        self._limit_bytes = limit_bytes
        self._file: FileIO | None = None
        self._size = 0

    def open(self) -> None:
        """Create it, private to the user."""
        self._file = create_private(self.path)
        self._size = 0

    def write(self, chunk: bytes) -> None:
        """Append `chunk`. A disk that takes no more loses output; the command runs on."""
        with suppress(OSError):
            while chunk:
                room = self._limit_bytes - self._size
                if room <= 0:
                    self._start_over()
                    continue
                if self._file is None:
                    return
                write_all(self._file.fileno(), chunk[:room])
                self._size += len(chunk[:room])
                chunk = chunk[room:]

    def close(self) -> None:
        """Close it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        """Close and remove it."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _start_over(self) -> None:
        self.close()
        self.path.replace(_aside(self.path))
        self.open()


def read_tail(log: Path, max_bytes: int) -> str:
    """Return the end of the output in `log`, whole characters only. Blocks."""
    data = _last_bytes(log, max_bytes)
    if len(data) < max_bytes:
        data = _last_bytes(_aside(log), max_bytes - len(data)) + data
    return data[continuation_bytes(data) :].decode("utf-8", "replace")


def _last_bytes(path: Path, count: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - count))
            return file.read(count)
    except FileNotFoundError:  # never moved aside, or being moved right now
        return b""


def _aside(log: Path) -> Path:
    return log.with_name(f"{log.name}.1")
