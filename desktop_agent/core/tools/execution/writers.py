"""Decides which program made a change that happened while no call waited: a background command or a server.

A change is the user's only if no program could have made it. In doubt, the author is `unknown`.
"""

import operator
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.protocol.model import Author
from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.system.processes.process_tree import Activity, Stretch

_SLACK_NS = 12_000_000
"""How far the date of a file, or the count of written bytes, may lag."""
_FORGETS_NS = 600 * 10**9


class Maker(Struct, frozen=True):
    turn: int
    call_id: CallId
    author: Author


class _Idling(Struct):
    times: int = 0
    ns: int = 0

    def add(self, stretches: Iterable[Stretch]) -> None:
        for one in stretches:
            self.times += 1
            self.ns += one.end_ns - one.start_ns

    def is_no_evidence(self, watched_ns: int, *, few: int, share: int) -> bool:
        return self.times > few and self.ns * share > watched_ns


class _Program(Struct, kw_only=True):
    paths: set[str] = field(default_factory=set[str])
    watched_ns: int = 0
    ran_idly: _Idling = field(default_factory=_Idling)
    wrote_elsewhere: _Idling = field(default_factory=_Idling)

    def note(self, stretches: Iterable[Stretch], watched_ns: int) -> None:
        stretches = list(stretches)
        self.watched_ns += watched_ns
        self.ran_idly.add(stretches)
        self.wrote_elsewhere.add(one for one in stretches if one.written is None or one.written)
        if self.watched_ns > _FORGETS_NS:
            self.watched_ns //= 2
            for idling in (self.ran_idly, self.wrote_elsewhere):
                idling.times, idling.ns = idling.times // 2, idling.ns // 2

    def may_be_named(self, *, has_written: bool) -> bool:
        if has_written:
            return not self.wrote_elsewhere.is_no_evidence(self.watched_ns, few=10, share=100)
        return not self.ran_idly.is_no_evidence(self.watched_ns, few=20, share=10)


class WatchedJob(_Program, kw_only=True):
    """A background command whose changes are captured while it runs, or a server left by a killed application."""

    turn: int
    call_id: CallId
    snapshot: Snapshot
    author: Author = "shell"
    activity: Activity | None = None
    ended_ns: int | None = None
    has_ended: bool = False

    @property
    def maker(self) -> Maker:
        return Maker(self.turn, self.call_id, self.author)

    def may_write(self, _path: str) -> bool:
        return True


class RunningServer(Struct, frozen=True, eq=False):
    name: str
    activity: Activity
    may_write: Callable[[str], bool]
    is_shared: bool = False
    author: Author = "mcp"


class WatchedServer(_Program, kw_only=True):
    running: RunningServer
    turn: int = 0
    call_id: CallId = ""
    """The latest call of this session to the server; empty before the first."""
    runs_since_ns: int | None = None
    """When that call began, if it runs without being waited for: then all changes since are its work."""

    @property
    def activity(self) -> Activity:
        return self.running.activity

    @property
    def maker(self) -> Maker:
        is_ours = bool(self.call_id) or not self.running.is_shared
        return Maker(self.turn, self.call_id if is_ours else "", self.running.author if is_ours else "unknown")

    def may_write(self, path: str) -> bool:
        return self.running.may_write(path)

    def is_certain(self, at_ns: int | None) -> bool:
        return self.runs_since_ns is not None and (at_ns is None or at_ns >= self.runs_since_ns)


Writer = WatchedJob | WatchedServer


class _Found(Struct, eq=False):
    transition: FileTransition
    at_ns: int | None
    least: int
    most: int
    """How many bytes the maker wrote for a rewrite or an append; 0 if the change needs no writing."""
    claims: list["_Claim"] = field(default_factory=list["_Claim"])
    is_possible: bool = False

    @property
    def best(self) -> "_Claim | None":
        return max(self.claims, key=lambda claim: claim.rank, default=None)


class _Claim(Struct, frozen=True, eq=False):
    writer: Writer
    rank: tuple[bool, bool, int]
    then: tuple[Stretch, ...]
    until: tuple[Stretch, ...]
    """The stretches between the last look and that date: a change may be made in several steps."""

    def times_of(self, most: int) -> frozenset[int]:
        return frozenset(map(id, self.then)) if (_written(self.then) or 0) >= most else frozenset()


class Writers:
    """The programs of one session that may write without a call. All were last checked at the same moment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.jobs: dict[str, WatchedJob] = {}
        self._ended: set[str] = set()
        self._servers: dict[int, WatchedServer] = {}
        self._calls: dict[str, tuple[int, CallId]] = {}
        self.snapshot: Snapshot | None = None
        """The folder when the servers were last looked at; None before the first look after a call."""
        self.turn = 0
        self._looked_ns = 0
        self._looks_ns = 0
        self._stretches: dict[int, list[Stretch]] = {}
        self._used: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self.jobs) or self.snapshot is not None

    # -- jobs --

    def end(self, job_id: str) -> None:
        if job := self.jobs.get(job_id):
            job.has_ended = True
        else:
            self._ended.add(job_id)

    def has_ended(self, job_id: str) -> bool:
        return job_id in self._ended

    def job_of(self, transition: FileTransition) -> WatchedJob | None:
        names = _names(transition)
        return next((job for job in reversed(self.jobs.values()) if not names.isdisjoint(job.paths)), None)

    # -- servers --

    def note_servers(self, running: Iterable[RunningServer]) -> None:
        """Note the running servers. One that has ended is kept until the next look."""
        for server in running:
            known = self._servers.get(id(server.activity))
            if known is None:
                turn, call_id = self._calls.get(server.name, (self.turn, ""))
                self._servers[id(server.activity)] = WatchedServer(running=server, turn=turn, call_id=call_id)
            else:
                known.running = server

    def note_call(self, name: str, turn: int, call_id: CallId, runs_since_ns: int | None = None) -> None:
        self._calls[name] = turn, call_id
        for server in self._servers.values():
            if server.running.name == name:
                server.turn, server.call_id, server.runs_since_ns = turn, call_id, runs_since_ns

    def note_no_call(self) -> None:
        for server in self._servers.values():
            server.runs_since_ns = None

    @property
    def has_servers(self) -> bool:
        return bool(self._servers)

    def is_server_among(self, activities: Iterable[Activity]) -> bool:
        return any(id(activity) in self._servers for activity in activities)

    @property
    def activities(self) -> tuple[Activity, ...]:
        found = (writer.activity for writer in self._all())
        return tuple(activity for activity in found if activity is not None)

    def have_servers_run(self) -> bool:
        activities = [server.activity for server in self._servers.values()]
        return any(activity.has_run() or activity.since(self._looked_ns) for activity in activities)

    # -- who made what --

    def begin_look(self, *, is_bracketed: bool = False) -> None:
        """Check what each program did since the last look. `is_bracketed`: a call made the changes. Blocks."""
        for activity in self.activities:
            activity.look(is_brief=is_bracketed)
        self._looks_ns = time.time_ns()
        self._stretches.clear()
        self._used.clear()

    def end_look(self) -> None:
        self._refresh_stretches()
        for writer in self._all():
            if writer.activity is not None:
                since_ns = max(self._looked_ns, writer.activity.started_ns)
                is_idle = id(writer) not in self._used
                idly = self._stretches.get(id(writer.activity), ()) if is_idle else ()
                writer.note(idly, max(0, self._looks_ns - since_ns))
        self.skip()

    def skip(self) -> None:
        """Finish the look without judging, because all changes until then belong to a call. Blocks."""
        self._looked_ns = self._looks_ns
        for activity in self.activities:
            activity.look(is_brief=True)
        self.jobs = {job_id: job for job_id, job in self.jobs.items() if not job.has_ended}
        self._servers = {key: one for key, one in self._servers.items() if not one.activity.has_ended}
        self._stretches.clear()
        self._used.clear()

    def makers_of(self, transitions: Sequence[FileTransition]) -> list[Maker | None]:
        """Return who made each change; None means the user. Blocks.

        `transitions` are all changes found at once: bytes that a program wrote for one cannot explain another.
        """
        dates = Dates(self.root, self._looked_ns - _SLACK_NS, transitions)
        found = [_Found(item, dates.of(item), *_bytes_for(item, dates)) for item in transitions]
        # This comes after reading the dates, because a file may have been written again meanwhile.
        self._stretches.clear()
        self._refresh_stretches()
        for one in found:
            for writer in self._all():
                self._add_claim(one, writer)
        self._drop_excess_claims(found)
        self._mark_possible(found)
        return [self._verdict(one) for one in found]

    def _add_claim(self, found: _Found, writer: Writer) -> None:
        """Record the claim only if the program may have made the change and can be named as the maker."""
        names = _names(found.transition)
        if not any(map(writer.may_write, names)):
            return
        if isinstance(writer, WatchedServer) and writer.is_certain(found.at_ns):
            found.is_possible = True
            found.claims.append(_Claim(writer, (True, True, sys.maxsize), (), ()))
            return
        is_known = not names.isdisjoint(writer.paths)
        if isinstance(writer, WatchedJob) and writer.activity is None:
            is_before = writer.ended_ns is None or (found.at_ns is not None and found.at_ns <= writer.ended_ns)
            if is_before:
                found.claims.append(_Claim(writer, (is_known, False, 0), (), ()))
            found.is_possible = found.is_possible or is_before or is_known or found.at_ns is None
            return
        since, at_ns = self._stretches[id(writer.activity)], found.at_ns
        if at_ns is None:
            found.is_possible = found.is_possible or bool(since)
            return
        then = [one for one in since if one.holds(at_ns, _SLACK_NS)]
        if not then:
            return
        found.is_possible = True
        until = tuple(one for one in since if one.start_ns - _SLACK_NS <= at_ns)
        written = _written(until)
        if writer.may_be_named(has_written=found.least > 0 and written is not None) and (
            written is None or written >= found.least
        ):
            is_exact = 0 < found.most == _written(then)
            rank = (is_known, is_exact, sum(one.ran_ns for one in then))
            found.claims.append(_Claim(writer, rank, tuple(then), until))

    def _drop_excess_claims(self, found: Sequence[_Found]) -> None:
        """Drop a program's claims if they need more bytes than it wrote: it is unknown which changes are its own."""
        for writer in self._all():
            self._drop_needless_claims(writer, found)
            theirs = [
                (one, claim)
                for one in found
                if one.most and (claim := one.best) is not None and claim.writer is writer and claim.until
            ]
            written = _written(max((claim.until for _, claim in theirs), key=len, default=()))
            if written is None or len(theirs) < 2 or sum(one.most for one, _ in theirs) <= written:
                continue
            known = [one for one, claim in theirs if claim.rank[0]]
            left = written - sum(one.most for one in known)
            others = [one for one, claim in theirs if not claim.rank[0]]
            if left < sum(one.most for one in others):
                exact = [one for one in others if one.most == left]
                for one in others:
                    if [one] != exact:
                        one.claims = [claim for claim in one.claims if claim.writer is not writer]

    def _drop_needless_claims(self, writer: Writer, found: Sequence[_Found]) -> None:
        """Drop a program's claim to an existing file if its other changes explain all the bytes that it wrote."""
        if writer.activity is None:
            return
        claims = [(one, claim) for one in found if (claim := one.best) is not None and claim.writer is writer]
        taken: dict[frozenset[int], int] = {}
        for one, claim in claims:
            times = claim.times_of(one.most)
            taken[times] = taken.get(times, 0) + one.most
        for one, claim in claims:
            written = _written(claim.then)
            if one.transition.before is None or not one.most or claim.rank[0] or written is None:
                continue
            own = claim.times_of(one.most) or frozenset(map(id, claim.then))
            rest = sum(most for times, most in taken.items() if not times or times & own) - one.most
            if rest and rest >= written:
                one.claims = [it for it in one.claims if it.writer is not writer]

    def _mark_possible(self, found: Sequence[_Found]) -> None:
        """Mark changes that a program may have made, because it wrote bytes that no known change explains."""
        made: dict[int, int] = {}
        for one in found:
            if (claim := one.best) is not None:
                made[id(claim.writer)] = made.get(id(claim.writer), 0) + one.most
        for writer in self._all():
            if writer.activity is None:
                continue
            since, most = self._stretches[id(writer.activity)], made.get(id(writer), 0)
            for one in found:
                if one.is_possible or one.at_ns is None or not one.most:
                    continue
                written = sum(it.written or 0 for it in since if it.start_ns - _SLACK_NS <= one.at_ns)
                one.is_possible = written > most and any(map(writer.may_write, _names(one.transition)))

    def _verdict(self, one: _Found) -> Maker | None:
        claim = one.best
        if claim is not None and not (claim.until or claim.rank[0]) and len(one.claims) > 1:
            claim = None  # two programs that a killed application left; either may be the maker
        if claim is None:
            return Maker(self.turn, "", "unknown") if one.is_possible else None
        self._used.add(id(claim.writer))
        if claim.writer.maker.author != "unknown":
            claim.writer.paths.update(_names(one.transition))
        return claim.writer.maker

    def _all(self) -> tuple[Writer, ...]:
        return (*self.jobs.values(), *self._servers.values())

    def _refresh_stretches(self) -> None:
        for activity in self.activities:
            if id(activity) not in self._stretches:
                activity.look()
                self._stretches[id(activity)] = activity.since(self._looked_ns)


class Dates:
    def __init__(self, root: Path, since_ns: int, transitions: Sequence[FileTransition]) -> None:
        self._root = root
        self._since_ns = since_ns
        self._made: dict[Path, list[FileTransition]] = {}
        self._folders: dict[Path, tuple[int, set[tuple[str, bytes]]] | None] = {}
        for item in transitions:
            if item.after is not None and (item.before is None or item.moved_from):
                self._made.setdefault((root / item.path).parent, []).append(item)

    def of(self, transition: FileTransition) -> int | None:
        """Return the time of the change in nanoseconds, if known. For a removed file, it is the folder's."""
        place = self._root / transition.path
        if transition.after is not None:
            own = self._changed(place)
            return own if own is not None else self._date_of_moved_folder(place)
        if transition.moved_to:
            return self._changed(self._root / transition.moved_to)
        return self._gone(place, transition)

    def is_older(self, transition: FileTransition) -> bool:
        try:
            return os.lstat(self._root / transition.path).st_mtime_ns < self._since_ns
        except OSError:
            return False

    def _changed(self, place: Path) -> int | None:
        try:
            date = os.lstat(place).st_ctime_ns
        except OSError:
            return None
        return date if self._is_since(date) else None

    def _is_since(self, date: int) -> bool:
        return self._since_ns <= date <= time.time_ns() + _SLACK_NS

    def _date_of_moved_folder(self, place: Path) -> int | None:
        for folder in place.parents:
            if folder == self._root:
                return None
            if (date := self._changed(folder)) is not None:
                return date
        return None

    def _gone(self, place: Path, transition: FileTransition) -> int | None:
        """Return the folder's time; None if another new entry may have set that time."""
        for folder in place.parents:
            if folder not in self._folders:
                self._folders[folder] = self._date_and_newest(folder)
            if (seen := self._folders[folder]) is not None:
                date, newest = seen
                before = transition.before
                is_its_own = not newest or (before is not None and (before.kind, before.content) in newest)
                return date if self._is_since(date) and is_its_own else None
        return None

    def _date_and_newest(self, folder: Path) -> tuple[int, set[tuple[str, bytes]]] | None:
        try:
            date = os.lstat(folder).st_ctime_ns
        except OSError:  # it is gone, too
            return None
        came = [(self._changed(self._root / other.path), other) for other in self._made.get(folder, ())]
        later = (other.after for at_ns, other in came if at_ns is not None and at_ns >= date)
        return date, {(it.kind, it.content) for it in later if it is not None}


def _bytes_for(transition: FileTransition, dates: Dates) -> tuple[int, int]:
    """Return the fewest bytes that a program must have written for the change, and the most.

    The most is the whole file, or the part appended to it. Both are 0 for a rename.
    """
    before, after = transition.before, transition.after
    if after is None or after.kind != "file" or transition.is_new_name or dates.is_older(transition):
        return 0, 0
    old = before.content if before is not None and before.kind == "file" else b""
    if transition.moved_from or old.startswith(after.content):
        return 0, 0
    if after.content.startswith(old):
        return (added := len(after.content) - len(old)), added
    different = sum(map(operator.ne, old, after.content)) + max(0, len(after.content) - len(old))
    return different, len(after.content)


def _names(transition: FileTransition) -> set[str]:
    return {transition.path, transition.moved_from, transition.moved_to} - {""}


def _written(stretches: Iterable[Stretch]) -> int | None:
    written = 0
    for one in stretches:
        if one.written is None:
            return None
        written += one.written
    return written
