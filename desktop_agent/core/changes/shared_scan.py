"""The walk through a folder, which a big one shares with a process of its own: each takes half, at the same time."""

import time
from pathlib import Path
from typing import Final

from desktop_agent.core.changes.scan import Known, Part, Scan, Stop, learn, scan_folder
from desktop_agent.core.changes.scan_parts import are_all_there, below, half_of
from desktop_agent.core.changes.scan_process import ScanProcess
from desktop_agent.core.processes.own_process import ProcessDiedError
from desktop_agent.core.settings import CaptureSettings

BIG_FILES: Final = 10_000
"""A walk through so many takes 30 ms. Fewer are not worth a process."""
_NEAR_LIMIT: Final = 0.9
"""With more than this share of the most files that are watched, one walk has to count them all."""
START_S: Final = 0.5
"""How long the process is left alone to start: the walk alone is quicker than to wait for it."""
_MOST_DEATHS: Final = 3
"""So often another process takes the place of one that died."""


class SharedScan:
    """Walks one folder again and again, with a process beside it once the folder is known to be big.

    The process is only quicker: what it cannot do, because it died or there can be none, is done without it.
    """

    def __init__(self, root: Path, *, big_files: int = BIG_FILES, start_s: float = START_S) -> None:
        """From `big_files` files on there is a process, which is asked when it has had `start_s` seconds to start."""
        self._root = root
        self._big_files = big_files
        self._start_s = start_s
        self._process: ScanProcess | None = None
        self._ready_at = 0.0
        self._deaths = 0
        self._taught: Known | None = None
        """The table of which the process has its half, and has learned all that was learned."""
        self._starts: tuple[str, ...] = ()
        """The folders that the process walks."""
        self._has_found = False
        """Whether the last walk was shared, so that the process is to learn from it, too."""

    @property
    def pid(self) -> int | None:
        """The number of the process, while there is one."""
        return self._process.pid if self._process else None

    def scan(self, known: Known, limits: CaptureSettings, stop: Stop | None = None) -> Scan:
        """Do what `scan_folder` does."""
        self._has_found = False
        process = self._process
        if process is None or time.monotonic() < self._ready_at or not self._is_worth_it(known, limits):
            return scan_folder(self._root, known, limits, stop)
        try:
            scan = self._scan_with(process, known, limits, stop)
        except ProcessDiedError:
            self._bury()
        except BaseException:  # it still walks, and nobody will ask what it found
            self.close()
            raise
        else:
            if scan is not None and scan.count < limits.max_files:
                self._has_found = True
                return scan
        return scan_folder(self._root, known, limits, stop)

    def learn(self, known: Known, scan: Scan) -> None:
        """Bring `known` up to date with what the last `scan` found, once that has been written down."""
        learn(known, scan)
        if self._process is None:
            if self._deaths < _MOST_DEATHS and _files(known) >= self._big_files:
                self._start()
        elif self._has_found:
            try:
                self._process.learn(frozenset(scan.unread))
            except ProcessDiedError:
                self._bury()
        else:
            self._taught = None

    def close(self) -> None:
        """End the process, if there is one. A later walk of a big folder starts another."""
        process, self._process, self._taught = self._process, None, None
        if process is not None:
            process.end()

    def _start(self) -> None:
        try:
            self._process = ScanProcess()
        except OSError:  # there can be no more processes
            return
        self._ready_at = time.monotonic() + self._start_s

    def _bury(self) -> None:
        self._deaths += 1
        self.close()

    def _is_worth_it(self, known: Known, limits: CaptureSettings) -> bool:
        return self._big_files <= _files(known) <= limits.max_files * _NEAR_LIMIT

    def _scan_with(self, process: ScanProcess, known: Known, limits: CaptureSettings, stop: Stop | None) -> Scan | None:
        """Walk half of the folder while the process walks the other one; None when that cannot be told apart."""
        if self._taught is not known:
            self._starts = half_of(known)
            process.teach(self._root, self._starts, below(known, self._starts))
            self._taught = known
        if not self._starts:
            return None
        process.begin(limits)
        scan = scan_folder(self._root, known, limits, stop, Part(without=frozenset(self._starts)))
        theirs = process.result(stop)
        if not are_all_there(scan, self._starts):
            self._taught = None  # what went meanwhile may be in both halves
            return None
        scan.add(theirs)
        return scan


def _files(known: Known) -> int:
    return sum(len(folder.files) for folder in known.values())
