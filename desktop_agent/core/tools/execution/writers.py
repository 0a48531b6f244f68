"""Which programs of ours may write while no call waits for them, and which of them made a change.

They are background commands and servers. A change that no call brackets is the user's only if none of them could have
made it. Each of them is known by when it ran and how much it wrote (`activity`), a file by when it was last changed. A
program that did not run then did not change the file. One that ran, and wrote as much as the change has, is taken for
its maker. Where it ran and wrote less, or is a server that often writes elsewhere, nobody can know: then
the author is `unknown`.
"""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.protocol.model import Author
from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.system.processes.activity import Activity, Stretch

_SLACK_NS = 12_000_000
"""How far the date of a file may be behind, and the count of its bytes after it."""
_MOST_ELSEWHERE = 100
"""One part in so many of its time a server may write what is not in the folder, and still be taken at its word."""
_FEW_NS = 10**9
_FORGETS_NS = 600 * 10**9


class Maker(Struct, frozen=True):
    """Whose work a change is."""

    turn: int
    call_id: CallId
    author: Author


class WatchedJob(Struct, kw_only=True):
    """A background command whose changes are captured while it runs."""

    turn: int
    call_id: CallId
    snapshot: Snapshot
    paths: set[str] = field(default_factory=set[str])
    """What it is known to write."""
    activity: Activity | None = None
    """When it ran; None where that is not known, so that it may have made any change."""
    has_ended: bool = False

    @property
    def maker(self) -> Maker:
        """Whose work its changes are."""
        return Maker(self.turn, self.call_id, "shell")

    def may_write(self, _path: str) -> bool:
        """Whether it can write this file at all."""
        return True


class RunningServer(Struct, frozen=True, eq=False):
    """A server that runs, and may write files of the workspace."""

    name: str
    activity: Activity
    may_write: Callable[[str], bool]
    """Whether its sandbox lets it write this path in the workspace."""
    is_shared: bool = False
    """Whether other sessions use it, too."""


class WatchedServer(Struct, kw_only=True):
    """A server of tools, as one session knows it."""

    running: RunningServer
    turn: int = 0
    call_id: CallId = ""
    """Its last call of this session, which its changes count for; empty before the first one."""
    paths: set[str] = field(default_factory=set[str])
    elsewhere_ns: int = 0
    """How long it wrote, by calls that nobody waited for, without a change in the folder."""
    watched_ns: int = 0

    @property
    def activity(self) -> Activity:
        """When it ran."""
        return self.running.activity

    @property
    def maker(self) -> Maker:
        """Whose work its changes are: another session's, perhaps, if this one never called it."""
        is_ours = bool(self.call_id) or not self.running.is_shared
        return Maker(self.turn, self.call_id if is_ours else "", "mcp" if is_ours and not self.is_busy else "unknown")

    @property
    def is_busy(self) -> bool:
        """Whether it writes so often elsewhere that having written says nothing about a file here."""
        return self.elsewhere_ns > max(_FEW_NS, self.watched_ns // _MOST_ELSEWHERE)

    def may_write(self, path: str) -> bool:
        """Whether it can write this file at all."""
        return self.running.may_write(path)


Writer = WatchedJob | WatchedServer


class Writers:
    """The programs of one session that may write without a call. All were last looked at in the same moment."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._jobs: dict[str, WatchedJob] = {}
        self._ended: set[str] = set()
        """Jobs that ended before the call that started them was looked at."""
        self._servers: dict[int, WatchedServer] = {}
        self._calls: dict[str, tuple[int, CallId]] = {}
        """The last call of each server, by its name."""
        self.snapshot: Snapshot | None = None
        """How the folder was when the servers were last looked at; None while no call has been looked at."""
        self.turn = 0
        """The newest turn, whose work is what belongs to no call."""
        self._looked_ns = 0
        self._looks_ns = 0
        """When the look began whose changes are judged now."""
        self._stretches: dict[int, list[Stretch]] = {}
        self._used: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._jobs) or self.snapshot is not None

    # -- jobs --

    @property
    def jobs(self) -> tuple[WatchedJob, ...]:
        """Every watched job, the oldest first, also those that have ended and are to be looked at a last time."""
        return tuple(self._jobs.values())

    def is_watched(self, call_id: CallId) -> bool:
        """Whether the job that this call started is among them."""
        return any(job.call_id == call_id for job in self._jobs.values())

    def add(self, job_id: str, job: WatchedJob) -> None:
        """Watch one more."""
        self._jobs[job_id] = job

    def end(self, job_id: str) -> None:
        """Note that nothing of a job runs any more."""
        if job := self._jobs.get(job_id):
            job.has_ended = True
        else:
            self._ended.add(job_id)

    def has_ended(self, job_id: str) -> bool:
        """Whether a job that is not watched yet has ended already."""
        return job_id in self._ended

    def job_of(self, transition: FileTransition) -> WatchedJob | None:
        """Return the job that is known to write this file, under any of its names."""
        names = _names(transition)
        return next((job for job in reversed(self._jobs.values()) if not names.isdisjoint(job.paths)), None)

    # -- servers --

    def note_servers(self, running: Iterable[RunningServer]) -> None:
        """Take in those that run now. One that has ended stays until it was looked at."""
        for server in running:
            known = self._servers.get(id(server.activity))
            if known is None:
                turn, call_id = self._calls.get(server.name, (self.turn, ""))
                self._servers[id(server.activity)] = WatchedServer(running=server, turn=turn, call_id=call_id)
            else:
                known.running = server

    def note_call(self, name: str, turn: int, call_id: CallId) -> None:
        """Let what a server does from now on count for this call of it."""
        self._calls[name] = turn, call_id
        for server in self._servers.values():
            if server.running.name == name:
                server.turn, server.call_id = turn, call_id

    @property
    def has_servers(self) -> bool:
        """Whether any server may write in the folder."""
        return bool(self._servers)

    @property
    def has_writers(self) -> bool:
        """Whether there is anything that may write late."""
        return bool(self._jobs or self._servers)

    def is_server_among(self, activities: Iterable[Activity]) -> bool:
        """Whether one of these is a server's."""
        return any(id(activity) in self._servers for activity in activities)

    @property
    def activities(self) -> tuple[Activity, ...]:
        """What is known of each program."""
        found = (writer.activity for writer in self._all())
        return tuple(activity for activity in found if activity is not None)

    def have_servers_run(self) -> bool:
        """Whether a server ran since the last look."""
        activities = [server.activity for server in self._servers.values()]
        return any(activity.has_run() or activity.since(self._looked_ns) for activity in activities)

    # -- who made what --

    def begin_look(self, *, is_bracketed: bool = False) -> None:
        """Say that the folder is looked at from now on, perhaps for a call that brackets what is found. Blocks."""
        for activity in self.activities:
            activity.look(is_brief=is_bracketed)
        self._looks_ns = time.time_ns()
        self._stretches.clear()
        self._used.clear()

    def end_look(self) -> None:
        """Go on from the look that has begun, once what it found is on record; let go of what has ended."""
        self._see()
        for key, server in self._servers.items():
            server.watched_ns += self._looks_ns - max(self._looked_ns, server.activity.started_ns)
            if key not in self._used:
                wrote = (one for one in self._stretches.get(key, ()) if one.written is None or one.written)
                server.elsewhere_ns += sum(one.end_ns - one.start_ns for one in wrote)
            if server.watched_ns > _FORGETS_NS:
                server.watched_ns, server.elsewhere_ns = server.watched_ns // 2, server.elsewhere_ns // 2
        self.skip()

    def skip(self) -> None:
        """Go on from the look that has begun: all until then belongs to a call."""
        self._looked_ns = self._looks_ns
        self._jobs = {job_id: job for job_id, job in self._jobs.items() if not job.has_ended}
        self._servers = {key: one for key, one in self._servers.items() if not one.activity.has_ended}
        self._stretches.clear()
        self._used.clear()

    def maker_of(self, transition: FileTransition) -> Maker | None:
        """Return whose work a change is that no call brackets; None: the user's. Blocks."""
        self._see()
        at_ns, is_exact = self._date_of(transition)
        able: list[tuple[tuple[bool, bool, int], Writer, list[Stretch]]] = []
        is_possible = False
        for writer in self._all():
            if not any(map(writer.may_write, _names(transition))):
                continue
            if writer.activity is None:
                able.append(((not _names(transition).isdisjoint(writer.paths), False, 0), writer, []))
                continue
            all_since = self._stretches[id(writer.activity)]
            then = [one for one in all_since if at_ns is not None and one.holds(at_ns, _SLACK_NS)]
            # It may have made the change in several steps since the last look; the date is that of the last one.
            until = [one for one in all_since if at_ns is not None and one.start_ns - _SLACK_NS <= at_ns]
            if then and _is_enough(until, need := self._need(transition, writer)):
                is_exact_size = need > 0 and sum(one.written or 0 for one in then) == need
                is_known = not _names(transition).isdisjoint(writer.paths)
                able.append(((is_known, is_exact_size, sum(one.ran_ns for one in then)), writer, until))
            is_possible = is_possible or bool(then) or bool(all_since and not is_exact)
        if able:
            _, writer, then = max(able, key=lambda one: one[0])
            _take(then, self._need(transition, writer))
            self._used.add(id(writer.activity))
            if writer.maker.author != "unknown":
                writer.paths.update(_names(transition))
            return writer.maker
        return Maker(self.turn, "", "unknown") if is_possible else None

    def _all(self) -> tuple[Writer, ...]:
        return (*self._jobs.values(), *self._servers.values())

    def _see(self) -> None:
        """Have it known of every program what it did until now, once for each look."""
        for activity in self.activities:
            if id(activity) not in self._stretches:
                activity.look()
                self._stretches[id(activity)] = activity.since(self._looked_ns)

    def _need(self, transition: FileTransition, writer: Writer) -> int:
        """Return how many bytes must have been written at least by who made the change."""
        before, after = transition.before, transition.after
        if after is None or after.kind != "file" or transition.moved_from or transition.is_new_name:
            return 0
        if not _names(transition).isdisjoint(writer.paths):
            return 0  # it is known to write this file
        if (written_ns := _mtime_of(self._root / transition.path)) and written_ns < self._looked_ns - _SLACK_NS:
            return 0  # it was written long ago, and has only been moved here since
        old = before.content if before is not None and before.kind == "file" else b""
        if old.startswith(after.content):
            return 0
        if after.content.startswith(old):
            return len(after.content) - len(old)
        return min(len(after.content), max(1, abs(len(after.content) - len(old))))

    def _date_of(self, transition: FileTransition) -> tuple[int | None, bool]:
        """Return when the change was made, if the file system says so, and whether it was then at the latest.

        A folder that was moved takes along files whose dates stay; a file that is gone has none: then the folders tell.
        """
        place = self._root / transition.path
        if transition.after is not None:
            with_own = _ctime_of(place)
            if with_own is not None and self._is_since(with_own):
                return with_own, True
        for folder in place.parents:
            if (date := _ctime_of(folder)) is not None and self._is_since(date):
                return date, transition.after is not None
            if folder == self._root:
                break
        return None, False

    def _is_since(self, at_ns: int) -> bool:
        return self._looked_ns - _SLACK_NS <= at_ns <= time.time_ns() + _SLACK_NS


def _names(transition: FileTransition) -> set[str]:
    return {transition.path, transition.moved_from, transition.moved_to} - {""}


def _is_enough(then: Iterable[Stretch], need: int) -> bool:
    written = [one.written for one in then]
    return None in written or sum(one or 0 for one in written) >= need


def _take(then: Iterable[Stretch], need: int) -> None:
    """Count bytes as accounted for: another change needs others."""
    for one in then:
        if one.written is not None:
            taken = min(one.written, need)
            one.written, need = one.written - taken, need - taken


def _mtime_of(path: Path) -> int | None:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return None


def _ctime_of(path: Path) -> int | None:
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return None
