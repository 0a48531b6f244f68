"""Walks a folder. If the folder is big, a second process walks half of it at the same time."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Final

from msgspec.structs import replace

from desktop_agent.core.capture.scan import (
    CaptureStoppedError,
    FolderPart,
    Known,
    Scan,
    are_all_there,
    below,
    half_of,
    learn,
    scan_folder,
)
from desktop_agent.core.capture.scan_process import ScanProcess
from desktop_agent.core.settings.sections import CaptureSettings
from desktop_agent.core.system.processes.worker_process import WorkerDiedError

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
