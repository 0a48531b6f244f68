"""The process that compares big files: `python -m desktop_agent.core.changes.comparison_process`.

Matching the lines of big files holds the interpreter lock for tens of milliseconds, and for seconds where hardly a line
is like another; in a thread of the window's process every frame would wait for it. Requests come on standard input,
one after the other, answers go to standard output. It ends when its input does, so it never outlives whoever asks.

A message is a pickled head and two contents, each with its length before it. Both ends are our own.
"""

import gc
import os
import pickle
import signal
import struct
import subprocess
import sys
import traceback
from contextlib import suppress
from dataclasses import replace
from typing import IO, NamedTuple

from desktop_agent.core.changes.diff import count_lines, diff_change, find_middle
from desktop_agent.core.changes.notes import TOO_DIFFERENT_NOTE
from desktop_agent.core.changes.outline import Outline, outline_of
from desktop_agent.core.model import FileChange

_MODULE = "desktop_agent.core.changes.comparison_process"
_LENGTH = struct.Struct(">q")
_ABSENT = -1


class Comparison(NamedTuple):
    """What is asked for: what `change` did, from its two contents.

    `is_coarse`: everything between the first and the last difference is one edit. That never takes long.
    """

    change: FileChange
    before: bytes | None
    after: bytes | None
    is_coarse: bool = False


class Failure(NamedTuple):
    """The comparison raised an exception; its traceback."""

    text: str


class LineCounts(NamedTuple):
    """How many lines were added and removed."""

    added: int
    removed: int


_Head = tuple[FileChange | None, bool]
"""The change and whether to be coarse about it; without a change, lines are to be counted."""
_Answer = Outline | Failure | LineCounts


class ProcessDiedError(Exception):
    """The process ended before it had answered."""


class ComparisonProcess:
    """The process, seen from the one that asks. All methods but `kill` block: they are for one thread at a time."""

    def __init__(self) -> None:
        """Start it; it answers after about 0.1 s. Raises `OSError` when there can be no more processes."""
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            # -P: nothing is imported from the current folder, which may be somebody's workspace.
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def ask(self, comparison: Comparison) -> Outline | Failure:
        """Return the answer. Raises `ProcessDiedError`; the process is of no use then."""
        answer = self._ask((comparison.change, comparison.is_coarse), comparison.before, comparison.after)
        assert isinstance(answer, Outline | Failure)
        return answer

    def count(self, before: bytes, after: bytes) -> tuple[int, int]:
        """Return what `count_lines` does. Raises `ProcessDiedError`; the process is of no use then."""
        answer = self._ask((None, False), before, after)
        if isinstance(answer, LineCounts):
            return answer
        raise ProcessDiedError(answer)

    def _ask(self, head: "_Head", before: bytes | None, after: bytes | None) -> "_Answer":
        assert self._process.stdin
        assert self._process.stdout
        try:
            _write(self._process.stdin, pickle.dumps(head), before, after)
            return pickle.loads(_read(self._process.stdout) or b"")  # noqa: S301 - from our own process
        except (OSError, EOFError) as error:
            raise ProcessDiedError from error

    def kill(self) -> None:
        """Let it end at once, whatever it does. Whoever waits for its answer gets `ProcessDiedError`."""
        self._process.kill()

    def end(self) -> None:
        """End it, and return when nothing of it is left."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            with suppress(OSError):  # what could not be written is nobody's loss
                pipe.close()


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in the terminal is for the window
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints does not print into an answer
    gc.disable()  # a comparison leaves no cycles, and its hundred thousand edits would be looked through for them
    with suppress(EOFError, BrokenPipeError):
        while True:
            change, is_coarse = pickle.loads(_read(requests) or b"")  # noqa: S301 - from our own process
            answer = _answer((change, is_coarse), _read(requests), _read(requests))
            _write(answers, pickle.dumps(answer))


def _answer(head: _Head, before: bytes | None, after: bytes | None) -> _Answer:
    change, is_coarse = head
    try:
        if change is None:
            return LineCounts(*count_lines(before, after))
        return _outline(Comparison(change, before, after, is_coarse))
    except Exception:  # noqa: BLE001 - raised again where it was asked for
        return Failure(traceback.format_exc())


def _outline(comparison: Comparison) -> Outline:
    change, before, after, is_coarse = comparison
    if not is_coarse:
        return outline_of(diff_change(change, before, after), after or b"")
    diff = diff_change(change, before, after, match=find_middle)
    return outline_of(replace(diff, notes=(TOO_DIFFERENT_NOTE, *diff.notes)), after or b"")


def _write(file: IO[bytes], *parts: bytes | None) -> None:
    for part in parts:
        file.write(_LENGTH.pack(_ABSENT if part is None else len(part)))
        if part:
            file.write(part)
    file.flush()


def _read(file: IO[bytes]) -> bytes | None:
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


if __name__ == "__main__":
    # By its name: what this module itself defines could not be unpickled as something of `__main__`.
    from desktop_agent.core.changes import comparison_process  # noqa: PLW0406 - that is the point

    comparison_process.main()
