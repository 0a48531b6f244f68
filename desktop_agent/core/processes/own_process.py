"""A process that runs a module of ours and answers over its standard streams: what needs an interpreter of its own.

Python code holds the interpreter lock, so it neither gets quicker in a second thread nor leaves the window's thread in
peace. The process ends when its input does, so it never outlives whoever asks. Messages are bytes, each with its length
before it. Both ends are our own.
"""

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO

_LENGTH = struct.Struct(">q")
_ABSENT = -1


class ProcessDiedError(Exception):
    """The process ended before it had answered. It is of no use any more."""


class OwnProcess:
    """The process, seen from the one that asks. `send` and `receive` block: they are for one thread at a time."""

    def __init__(self, module: str) -> None:
        """Start `module`, which calls `answer_requests`. Raises `OSError` when there can be no more processes."""
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            # -P: nothing is imported from the current folder, which may be somebody's workspace.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._requests, self._answers = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def send(self, *parts: bytes | None) -> None:
        """Send the parts of a request. Raises `ProcessDiedError`."""
        try:
            write_parts(self._requests, *parts)
        except (OSError, ValueError) as error:  # ValueError: `end` was called meanwhile
            raise ProcessDiedError from error

    def receive(self) -> bytes:
        """Return the next part of an answer. Raises `ProcessDiedError`."""
        try:
            return read_part(self._answers) or b""
        except (OSError, EOFError, ValueError) as error:
            raise ProcessDiedError from error

    def kill(self) -> None:
        """Let it end at once, whatever it does. Whoever waits for its answer gets `ProcessDiedError`."""
        self._process.kill()

    def end(self) -> None:
        """End it, and return when nothing of it is left."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with suppress(OSError):  # what could not be written is nobody's loss
                pipe.close()


def answer_requests(answer: Callable[[IO[bytes], IO[bytes]], None]) -> None:
    """In the process: let `answer` read a request and write what answers it, again and again until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in the terminal is for the window
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints does not print into an answer
    with suppress(EOFError, BrokenPipeError):
        while True:
            answer(requests, answers)


def write_parts(file: IO[bytes], *parts: bytes | None) -> None:
    """Write these one after the other."""
    for part in parts:
        file.write(_LENGTH.pack(_ABSENT if part is None else len(part)))
        if part:
            file.write(part)
    file.flush()


def read_part(file: IO[bytes]) -> bytes | None:
    """Return the next part. Raises `EOFError` when the other end is gone."""
    start = file.read(_LENGTH.size)
    if len(start) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(start)
    if size == _ABSENT:
        return None
    part = file.read(size)
    if len(part) < size:
        raise EOFError
    return part
