"""Walks a folder. If it is big, a process walks half of it: `python -m desktop_agent.core.capture.scan_process`."""

import gc
import logging
import time
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import IO, Final, NamedTuple, cast

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.capture.scan import (
    CaptureStoppedError,
    FolderPart,
    Known,
    KnownFolder,
    Scan,
    are_all_there,
    below,
    half_of,
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


BIG_FILES: Final = 10_000
"""From how many files on a second process is used. Walking this many files takes 30 ms."""
START_S: Final = 0.5
"""How long the process is given to start. Until then, walking alone is quicker than waiting for it."""
_NEAR_LIMIT: Final = 0.9
"""If a folder has more than this share of the most files that can be watched, one walk has to count them all."""
_MOST_DEATHS: Final = 3

_log = logging.getLogger(__name__)


class SharedScanner:
    """Walks a folder for one thread at a time, without the second process if that dies. `close` is for any thread."""

    def __init__(
        self,
        root: Path,
        *,
        big_files: int = BIG_FILES,
        start_s: float = START_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Folders with `big_files` files or more use a second process, after it had `start_s` seconds to start."""
        self._root = root
        self._big_files = big_files
        self._start_s = start_s
        self._clock = clock
        self._process: ScanProcess | None = None
        self._ready_at = 0.0
        self._deaths = 0
        self._is_closed = False
        self._taught_table: Known | None = None
        self._taught_files = 0
        self._starts: tuple[str, ...] = ()
        self.was_shared = False

    @property
    def pid(self) -> int | None:
        return self._process.worker.pid if self._process else None

    def scan(self, known: Known, limits: CaptureSettings, stop: Event | None = None) -> Scan:
        """Walk the folder. Blocks. When `stop` is set, ends the process and raises `CaptureStoppedError`."""
        self.was_shared = False
        begun = self._clock()
        if (process := self._process) is not None and begun >= self._ready_at and self._is_big(known, limits):
            scan = self._scan_with(process, known, limits, stop)
            if scan is not None:
                self.was_shared = True
                return scan
            limits = replace(limits, max_seconds=max(0.0, limits.max_seconds - (self._clock() - begun)))
        return scan_folder(self._root, known, limits, stop)

    def learn(self, known: Known, scan: Scan) -> None:
        """Add the findings of the last `scan` to the known ones. Call this after the findings were stored."""
        learn(known, scan)
        process = self._process
        if process is None:
            self._start(known)
        elif not self.was_shared:
            self._taught_table = None
        else:
            try:
                process.confirm(frozenset(scan.unread))
            except WorkerDiedError as error:
                self._drop_dead(error)

    def close(self) -> None:
        """Waits until the process has ended. Later walks are done without it."""
        self._is_closed = True
        self._drop()

    def _start(self, known: Known) -> None:
        if self._is_closed or self._deaths >= _MOST_DEATHS:
            return
        if _count_files(known) < self._big_files or not half_of(known):
            return
        try:
            self._process = ScanProcess()
        except OSError:  # there can be no more processes
            return
        self._ready_at = self._clock() + self._start_s
        if self._is_closed:  # meanwhile, in another thread
            self._drop()

    def _drop(self) -> None:
        process, self._process, self._taught_table = self._process, None, None
        if process is not None:
            process.worker.end()

    def _drop_dead(self, error: WorkerDiedError) -> None:
        if not self._is_closed:
            self._deaths += 1
            _log.warning("The process that walks half of the folder died, so one walk does it all: %s", error)
        self._drop()

    def _is_big(self, known: Known, limits: CaptureSettings) -> bool:
        return self._big_files <= _count_files(known) <= limits.max_files * _NEAR_LIMIT

    def _scan_with(
        self, process: ScanProcess, known: Known, limits: CaptureSettings, stop: Event | None
    ) -> Scan | None:
        """Walk with the second process; None if a single walk must cover all of the folder."""
        try:
            with process.limited(limits, stop):
                if self._taught_table is not known or not _is_about(_count_files(known), self._taught_files):
                    self._taught_files = _count_files(known)
                    self._starts = half_of(known)
                    process.teach(self._root, self._starts, below(known, self._starts))
                    self._taught_table = known
                process.begin(limits)
                scan = scan_folder(self._root, known, limits, stop, FolderPart(excluded=frozenset(self._starts)))
                theirs = process.result()
        except WorkerDiedError as error:
            if stop is not None and stop.is_set():
                self._drop()
                raise CaptureStoppedError from None
            self._drop_dead(error)
            return None
        except BaseException:  # the process still walks, and nobody will fetch its findings
            self._drop()
            raise
        if scan.folders_left:  # so the other half's folders may not have been checked
            self._taught_table = None
            scan.folders_left += len(self._starts)
            return scan
        if not are_all_there(scan, self._starts):
            self._taught_table = None  # a moved folder may be in both halves
            return None
        scan.add(theirs)
        return scan if scan.file_count < limits.max_files else None


def _is_about(number: int, expected: int) -> bool:
    return 0.75 * expected <= number <= 1.25 * expected


def _count_files(known: Known) -> int:
    return sum(len(folder.files) for folder in known.values())


if __name__ == "__main__":
    # By its name: classes that `__main__` defines could not be unpickled elsewhere.
    from desktop_agent.core.capture import scan_process  # noqa: PLW0406 - that is the point

    scan_process.main()
