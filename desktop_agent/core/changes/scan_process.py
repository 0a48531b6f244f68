"""The process that walks a part of a big folder: `python -m desktop_agent.core.changes.scan_process`.

It has its own table of what is known of that part, and keeps it up to date by what it found itself. While it walks it
tells every now and then that it does, so that whoever waits can change their mind.
"""

import gc
import pickle
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Final, NamedTuple

from desktop_agent.core.changes.capture import CaptureStoppedError
from desktop_agent.core.changes.scan import Known, KnownFolder, Part, Scan, Stop, learn, scan_folder
from desktop_agent.core.changes.scan_parts import pieces_of_scan, pieces_of_table
from desktop_agent.core.processes.own_process import (
    OwnProcess,
    ProcessDiedError,
    answer_requests,
    read_part,
    write_parts,
)
from desktop_agent.core.settings import CaptureSettings

_MODULE: Final = "desktop_agent.core.changes.scan_process"
_SIGN_OF_LIFE_S: Final = 0.05


class Forget(NamedTuple):
    """Begin with an empty table, for these folders of this one."""

    root: Path
    starts: tuple[str, ...]


class Know(NamedTuple):
    """Add to the table."""

    folders: Known


class Look(NamedTuple):
    """Walk. The answer is `None` every now and then, then the pieces of the `Scan`, then `Done`."""

    limits: CaptureSettings


class Learn(NamedTuple):
    """The last walk's result was written down, except for the content of these files."""

    unread: frozenset[str]


class Done(NamedTuple):
    """That was all."""


_Request = Forget | Know | Look | Learn
_Answer = Scan | Done | None


class ScanProcess:
    """The process, seen from the one that asks. All methods but `kill` block, and raise `ProcessDiedError`."""

    def __init__(self) -> None:
        """Start it; it answers after about 0.2 s. Raises `OSError` when there can be no more processes."""
        self._process = OwnProcess(_MODULE)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def teach(self, root: Path, starts: tuple[str, ...], folders: Iterable[tuple[str, KnownFolder]]) -> None:
        """Tell which part of `root` it is to walk, and what is known of it."""
        self._send(Forget(root, starts))
        for piece in pieces_of_table(folders):
            self._send(Know(piece))

    def begin(self, limits: CaptureSettings) -> None:
        """Let it walk; `result` is what it found."""
        self._send(Look(limits))

    def result(self, stop: Stop | None) -> Scan:
        """Return what the walk found. Raises `CaptureStoppedError` soon after `stop` is set; then it still walks."""
        found: Scan | None = None
        while not isinstance(answer := self._receive(), Done):
            if stop is not None and stop.is_set():
                raise CaptureStoppedError
            if found is None:
                found = answer
            elif answer is not None:
                found.add(answer)
        if found is None:
            raise ProcessDiedError("It found nothing, not even that nothing changed.")
        return found

    def learn(self, unread: frozenset[str]) -> None:
        """Tell that what it found last was written down, all but the content of `unread`."""
        self._send(Learn(unread))

    def end(self) -> None:
        """End it, whatever it does, and return when nothing of it is left."""
        self._process.end()

    def _send(self, request: _Request) -> None:
        self._process.send(pickle.dumps(request))

    def _receive(self) -> _Answer:
        return pickle.loads(self._process.receive())  # noqa: S301 - from our own process


def main() -> None:
    """Answer until the input ends."""
    gc.disable()  # a walk leaves no cycles, and a table of a hundred thousand files would be looked through for them
    answer_requests(_Walker().answer)


@dataclass
class _Walker:
    """The process, seen from inside."""

    root: Path = Path()
    part: Part = field(default_factory=Part)
    known: Known = field(default_factory=Known)
    scan: Scan = field(default_factory=lambda: Scan(0))

    def answer(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        """Read one request and do what it says."""
        request: _Request = pickle.loads(read_part(requests) or b"")  # noqa: S301 - from our own process
        match request:
            case Forget(root, starts):
                self.root, self.part, self.known = root, Part(starts), Known()
            case Know(folders):
                self.known |= folders
            case Look(limits):
                send = partial(_write, answers)
                self.scan = scan_folder(self.root, self.known, limits, _SignOfLife(send), self.part)
                for piece in pieces_of_scan(self.scan):
                    send(piece)
                send(Done())
            case Learn(unread):
                self.scan.unread |= unread
                learn(self.known, self.scan)


class _SignOfLife:
    """Never stops a walk, but tells that it goes on."""

    def __init__(self, send: "partial[None]") -> None:
        self._send = send
        self._next = time.monotonic() + _SIGN_OF_LIFE_S

    def is_set(self) -> bool:
        """Whether the walk is to end: no."""
        if time.monotonic() > self._next:
            self._send(None)
            self._next = time.monotonic() + _SIGN_OF_LIFE_S
        return False


def _write(answers: IO[bytes], answer: _Answer) -> None:
    write_parts(answers, pickle.dumps(answer))


if __name__ == "__main__":
    # By its name: what this module itself defines could not be unpickled as something of `__main__`.
    from desktop_agent.core.changes import scan_process  # noqa: PLW0406 - that is the point

    scan_process.main()
