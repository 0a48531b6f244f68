"""When a program of ours ran, and how much it wrote: this tells its files from the user's.

A program that did not run did not write. The kernel's clock for each process tells whether it ran; reading it costs one
system call, so that can be done several times a second. Only if it ran are its written bytes read. What it wrote to our
pipes is not counted. Linux counts bytes for every process; other systems only tell when one ran.

Rejected: fanotify, which names the writer of each file but only to root, and a trace of its system calls, which changes
how it runs.
"""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from desktop_agent.core.system.processes.table import ProcessEntry, has_open_for_writing
from desktop_agent.core.system.processes.tree import ProcessTree

_MOST_STRETCHES = 1_000
_MOST_TABLES = 3
_UNSETTLED = -2
"""In place of how long a process has run that was met for the first time: what it had started by then may be unknown.
"""
_CPU_CLOCK = 2
"""The clock of a process is this and its inverted number: `clock_getcpuclockid` of Linux."""


class Stretch(Struct):
    """A time in which a program ran. Times are nanoseconds of the wall clock, as those of files are."""

    start_ns: int
    end_ns: int
    written: int | None
    """How many bytes it wrote elsewhere than to us; None where nobody counts."""
    ran_ns: int = 0
    """For how long it had a processor."""

    def holds(self, at_ns: int, slack_ns: int) -> bool:
        """Whether a file changed in this stretch may have this date: the clock of files lags a little."""
        return self.start_ns - slack_ns <= at_ns <= self.end_ns


class _Counted(Struct, frozen=True):
    entry: ProcessEntry
    written: int | None


class Activity:
    """What one tree of processes has done since it was started. Methods may be called in any thread."""

    def __init__(
        self,
        tree: ProcessTree,
        received: Callable[[], int],
        clock_ns: Callable[[], int] = time.time_ns,
        *,
        started_ns: int | None = None,
    ) -> None:
        """`received` says how many bytes have come from it. Nothing of it ran before `started_ns`."""
        self._tree = tree
        self._received_of = received
        self._clock_ns = clock_ns
        self._guard = threading.Lock()
        self._stretches: deque[Stretch] = deque(maxlen=_MOST_STRETCHES)
        self._cpu: dict[int, int] = {}
        self._counted: dict[tuple[int, float], _Counted] = {}
        self._received = 0
        self._is_partial = False
        self.started_ns = clock_ns() if started_ns is None else started_ns
        self.seen_ns = self.started_ns
        """Up to when it is known what it did."""
        self.ended_ns: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.ended_ns is not None

    def note_end(self) -> None:
        """Note that nothing of it runs any more. What it did after the last look is not known."""
        with self._guard:
            if self.ended_ns is None:
                self.ended_ns = self._clock_ns()
                self._stretches.append(Stretch(self.seen_ns, self.ended_ns, None))
                self.seen_ns = self.ended_ns

    def is_idle(self) -> bool:
        """Whether it has not run since the last look; if so, note that. Costs a system call for each process."""
        if not self._guard.acquire(blocking=False):
            return False
        try:
            now_ns = self._clock_ns()
            if not self.has_ended:
                if self._is_partial or self._have_known_run():
                    return False
                self.seen_ns = now_ns
            return True
        finally:
            self._guard.release()

    def has_run(self) -> bool:
        """Whether any of its known processes has run since the last look, however briefly."""
        with self._guard:
            return not self.has_ended and self._have_known_run()

    def look(self, *, is_brief: bool = False) -> None:
        """Note what it has done since the last look.

        Blocks. A brief look does not find newly started processes; the next full one does.
        """
        if self.is_idle():
            return
        with self._guard:
            if self.has_ended:
                return
            is_brief = is_brief and bool(self._counted)
            # What happens while the counters are read may be in this stretch or the next: the two overlap.
            begun_ns = self._clock_ns()
            # The clocks before the table: who forks after it was read shows that by having run. Whom we meet for the
            # first time may have forked meanwhile, so that the table is read once more.
            known = {key: _cpu_ns(key[0]) for key in self._counted}
            members = [one.entry for one in self._counted.values()] if is_brief else self._tree.members()
            for _ in range(_MOST_TABLES):
                if is_brief or all(member.key in known for member in members):
                    break
                known = {key: _cpu_ns(key[0]) for key in (*known, *(member.key for member in members))}
                members = self._tree.members()
            counted = {member.key: _Counted(member, _written_by(member.pid)) for member in members}
            received, ended_ns = self._received_of(), self._clock_ns()
            written = self._written_since(counted, received)
            ran_ns = sum(
                max(0, known.get(member.key, _cpu_ns(member.pid)) - max(0, self._cpu.get(member.pid, 0)))
                for member in members
            )
            self._stretches.append(Stretch(self.seen_ns, ended_ns, written, ran_ns))
            self._cpu = {member.pid: known.get(member.key, _UNSETTLED) for member in members}
            self._counted, self._received, self.seen_ns = counted, received, begun_ns
            self._is_partial = is_brief

    def pause(self) -> None:
        """Stop all of its processes until `resume`. Blocks."""
        with self._guard:
            if not self.has_ended:
                self._tree.pause()

    def is_writing_in(self, folder: str) -> bool:
        """Whether one of its processes has a file in a folder open to write to it. Blocks."""
        with self._guard:
            if self.has_ended:
                return False
            return any(has_open_for_writing(member.pid, folder) for member in self._tree.members())

    def resume(self) -> None:
        """Let all of its processes run again. Blocks."""
        with self._guard:
            if not self.has_ended:
                self._tree.resume()

    def since(self, at_ns: int) -> list[Stretch]:
        """Return when it ran after this time, as copies that the caller may count down."""
        with self._guard:
            return [
                Stretch(max(one.start_ns, at_ns), one.end_ns, one.written, one.ran_ns)
                for one in self._stretches
                if one.end_ns > at_ns
            ]

    def _have_known_run(self) -> bool:
        return not self._cpu or any(_cpu_ns(pid) != cpu_ns for pid, cpu_ns in self._cpu.items())

    def _written_since(self, counted: dict[tuple[int, float], _Counted], received: int) -> int | None:
        """Return how much it wrote elsewhere than to us.

        A process that has ended is counted by its parent, which waited.
        """
        pids = {one.entry.pid for one in counted.values()}
        lost = (one for key, one in self._counted.items() if key not in counted and one.entry.parent not in pids)
        if any(one.written is None for one in counted.values()) or any(True for _ in lost):
            return None
        now = sum(one.written or 0 for one in counted.values())
        before = sum(one.written or 0 for one in self._counted.values())
        return max(0, now - before - (received - self._received))


def _cpu_ns(pid: int) -> int:
    """Return how long a process and its threads have run; -1 if it has ended or that is not known."""
    if sys.platform == "linux":
        try:
            return time.clock_gettime_ns(~pid << 3 | _CPU_CLOCK)
        except OSError:
            return -1
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return -1
    return round((times.user + times.system) * 1e9)


def _written_by(pid: int) -> int | None:
    """Return how many bytes a process has written by any call; None where that is not known."""
    if sys.platform != "linux":
        return None
    try:
        with open(f"/proc/{pid}/io", "rb", buffering=0) as file:  # noqa: PTH123 -- several times a second
            fields = dict(line.split(b": ") for line in file.read(1024).splitlines())
        return int(fields[b"wchar"])
    except (OSError, ValueError, KeyError):
        return None
