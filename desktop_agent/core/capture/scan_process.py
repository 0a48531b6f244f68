"""A process that walks a part of a big folder: `python -m desktop_agent.core.capture.scan_process`."""

import gc
import traceback
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import IO, Final, NamedTuple, cast

from msgspec import Struct, field

from desktop_agent.core.capture.scan import (
    FolderPart,
    Known,
    KnownFolder,
    Scan,
    learn,
    pieces_of_scan,
    pieces_of_table,
    scan_folder,
)
from desktop_agent.core.settings.sections import CaptureSettings
from desktop_agent.core.system.processes.worker_process import (
    WorkerDiedError,
    WorkerProcess,
    read_message,
    serve,
    write_message,
)

_MODULE: Final = "desktop_agent.core.capture.scan_process"
_SLACK_S: Final = 5.0
"""How much longer than the time limit of a walk the process may take to answer on a busy machine."""


class Reset(NamedTuple):
    root: Path
    starts: tuple[str, ...]


class AddFolders(NamedTuple):
    folders: Known


class Walk(NamedTuple):
    """A request to walk. The answer is the pieces of a `Scan` and then `Done`, or a `WalkFailure`."""

    limits: CaptureSettings


class Confirm(NamedTuple):
    """A message: the findings of the last walk were stored, except for the content of these files."""

    unread: frozenset[str]


class Done(NamedTuple):
    pass


class WalkFailure(NamedTuple):
    text: str


_Request = Reset | AddFolders | Walk | Confirm
_Answer = Scan | Done | WalkFailure


class ScanProcess:
    """The client of the process, for one thread at a time. `teach` and the methods below it raise `WorkerDiedError`."""

    def __init__(self) -> None:
        """The process answers after about 0.2 s. Raises `OSError` if none can be started."""
        self.worker = WorkerProcess(_MODULE)

    def limited(self, limits: CaptureSettings, stop: Event | None) -> AbstractContextManager[None]:
        return self.worker.limited(limits.max_seconds + _SLACK_S, stop)

    def teach(self, root: Path, starts: tuple[str, ...], folders: Iterable[tuple[str, KnownFolder]]) -> None:
        self.worker.send(Reset(root, starts))
        for piece in pieces_of_table(folders):
            self.worker.send(AddFolders(piece))

    def begin(self, limits: CaptureSettings) -> None:
        self.worker.send(Walk(limits))

    def result(self) -> Scan:
        found = self._piece()
        if found is None:
            raise WorkerDiedError("Its answer ended before it began.")
        while (piece := self._piece()) is not None:
            found.add(piece)
        return found

    def confirm(self, unread: frozenset[str]) -> None:
        with self.worker.limited(_SLACK_S):
            self.worker.send(Confirm(unread))

    def _piece(self) -> Scan | None:
        match self.worker.receive():
            case Scan() as piece:
                return piece
            case Done():
                return None
            case WalkFailure(text):
                raise WorkerDiedError(text)
            case other:
                raise WorkerDiedError(f"It answered {other!r:.200}")


def main() -> None:
    gc.disable()  # a walk leaves no cycles, and searching the large table for them takes long
    serve(_Walker().answer)


class _Walker(Struct):
    root: Path = field(default_factory=Path)
    part: FolderPart = field(default_factory=FolderPart)
    known: Known = field(default_factory=Known)
    scan: Scan = field(default_factory=lambda: Scan(0))

    def answer(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        match cast("_Request", read_message(requests)):
            case Reset(root, starts):
                self.root, self.part, self.known = root, FolderPart(starts), Known()
            case AddFolders(folders):
                self.known |= folders
            case Walk(limits):
                for piece in self._walk(limits):
                    write_message(answers, piece)
            case Confirm(unread):
                self.scan.unread |= unread
                learn(self.known, self.scan)

    def _walk(self, limits: CaptureSettings) -> Generator[_Answer]:
        try:
            self.scan = scan_folder(self.root, self.known, limits, part=self.part)
        except Exception:  # noqa: BLE001 - raised again where it was asked for
            yield WalkFailure(traceback.format_exc())
            return
        yield from pieces_of_scan(self.scan)
        yield Done()


if __name__ == "__main__":
    # By its name: classes that `__main__` defines could not be unpickled elsewhere.
    from desktop_agent.core.capture import scan_process  # noqa: PLW0406 - that is the point

    scan_process.main()
