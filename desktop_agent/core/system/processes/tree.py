"""Every process that a command started, including those that left its process group or lost their parent.

A process belongs to a tree when any of these holds: it is in the tree's cgroup, where there is one; it is in the root's
process group; it descends from a member; it carries the tree's mark. Without a cgroup the mark is what finds a daemon
that called `setsid` and whose parent has exited.

The mark is in the environment, and on Linux also in a limit: that of the resident set, which Linux has not enforced
since version 2.4.30. The limit is inherited like the environment, but stays if the environment is cleared, and can be
read for other users' processes. A sub-reaper was rejected: it is a property of the whole application, which would have
to reap every orphan, and would take orphans from programs that use us as a library.

Everything here reads the process table and blocks, so call it in a thread. Nothing here waits for a process with
`waitpid`: the root is our own child, and its exit status belongs to the code that started it.
"""

import os
import signal
import sys
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from hashlib import blake2b
from typing import Literal

from desktop_agent.core.system.processes.cgroup import CommandGroup
from desktop_agent.core.system.processes.priority import give_back, go_first
from desktop_agent.core.system.processes.table import (
    ProcessEntry,
    environment_value,
    process_table,
    resident_limit,
    runs,
)

MARK_VARIABLE = "DESKTOP_AGENT_PROCESS"
"""The environment variable that says which application, and which of its commands, a process belongs to."""

LIMIT_UNIT = 2**30
"""A marked limit divided by this is the application's number, which all of its commands share."""
_NUMBER_BITS = 20
_KIB = 1024

Scope = Literal["tree", "group"]
"""`tree` is everything the command started; `group` leaves alone what properly detached itself from it."""

_STOPS_WITHIN_S = 2.0
"""How long a process may take to stand still: one that waits for a broken disk never does."""
_STOP_POLL_S = 0.0005
_SWEEPS = 200
"""How often one forceful call looks again at most, as long as each look finds processes that were not there before."""


def marked_limit(mark: str) -> int:
    """Return the resident-set limit that carries a mark, in bytes: whole KiB, and more than any machine has.

    All limits of one application have the same quotient by `LIMIT_UNIT`.
    """
    application, _, number = mark.partition(".")
    digest = int.from_bytes(blake2b(application.encode(), digest_size=4).digest()) >> 2
    return ((1 << 30 | digest) << _NUMBER_BITS | int(number or 0) % (1 << _NUMBER_BITS)) * _KIB


def put_mark(pid: int, mark: str) -> None:
    """Give a newly started process the limit that carries its mark, where the system has one."""
    if sys.platform == "linux":
        import resource

        limit = marked_limit(mark)
        with suppress(OSError, ValueError):  # it has ended, or belongs to another user
            resource.prlimit(pid, resource.RLIMIT_RSS, (limit, limit))


class ProcessTree:
    """The processes of one command (`root` is its first), or, without a root, everything that carries the mark.

    An object is for one thread at a time.
    """

    def __init__(
        self, mark: str, root: int | None = None, group: CommandGroup | None = None, *, since: float | None = None
    ) -> None:
        """`since`: none of its processes has an earlier `started`."""
        self._mark = mark
        self._limit = marked_limit(mark)
        self._group = group
        self._root = root
        self._since = since
        self._known: set[tuple[int, float]] = set()
        self._asked: set[tuple[int, float]] = set()
        self._strangers: set[tuple[int, float]] = set()

    def has_group(self) -> bool:
        """Whether anything may be left in the root's process group. Costs one system call."""
        if self._root is None or os.name == "nt":
            return False
        try:
            os.killpg(self._root, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def members(self, scope: Scope = "tree") -> list[ProcessEntry]:
        """Return the living members, the oldest first."""
        return self._members(scope, process_table())

    def signal(self, scope: Scope, *, forceful: bool) -> dict[int, str]:
        """Ask every member once to end (TERM), or end it (KILL), and return those that were alive: pid to name.

        A forceful call goes on as long as it meets processes that it has not met before: a tree that multiplies is
        ended by looking again faster than it forks, not by looking again later.
        """
        go_first()  # a bomb that makes sessions leaves us one share of the processor in hundreds
        try:
            if forceful:
                return self._sweep(scope)
            members = self.members(scope)
            self._ask(members)
            return {member.pid: member.name for member in members}
        finally:
            give_back()

    def pause(self) -> None:
        """Stop all members until `resume`, including any that is just being started.

        Does nothing where that is impossible. They have stopped when it returns: one that was in the middle of a system
        call has finished it.
        """
        seen: set[tuple[int, float]] = set()
        until_s = time.monotonic() + _STOPS_WITHIN_S
        for _ in range(_SWEEPS):
            members = self.members()
            if seen.issuperset(member.key for member in members):
                return
            seen.update(member.key for member in members)
            _send_each(members, "SIGSTOP")
            while any(map(runs, (member.pid for member in members))) and time.monotonic() < until_s:
                time.sleep(_STOP_POLL_S)  # noqa: TID251 - the signal is on its way

    def resume(self) -> None:
        """Let all members run again."""
        _send_each(self.members(), "SIGCONT")

    def _sweep(self, scope: Scope) -> dict[int, str]:
        met: dict[int, str] = {}
        for _ in range(_SWEEPS):
            members = self.members(scope)
            is_over = all(member.pid in met for member in members)
            met |= {member.pid: member.name for member in members}
            if self._group is not None and scope == "tree":
                self._group.kill()
            self._kill(members)
            if is_over:
                break
        return met

    def _ask(self, members: Iterable[ProcessEntry]) -> None:
        for member in members:
            if member.key not in self._asked:
                self._asked.add(member.key)
                _send(member.pid, forceful=False)

    def _kill(self, members: Iterable[ProcessEntry]) -> None:
        """Kill the oldest first: with a sandbox's first process the kernel ends all of its namespace at once."""
        members = list(members)
        if self._root is not None and os.name != "nt" and any(member.group == self._root for member in members):
            with suppress(ProcessLookupError, PermissionError):  # each is tried by its own number, too
                os.killpg(self._root, signal.SIGKILL)  # none of a group can fork itself out of this
        for member in members:
            _send(member.pid, forceful=True)

    def _members(self, scope: Scope, table: dict[int, ProcessEntry]) -> list[ProcessEntry]:
        """Return the living members. One met once stays one, when its parent's end hides where it came from."""
        if self._since is None and self._root in table:
            self._since = table[self._root].started
        table.pop(os.getpid(), None)
        found = {pid for pid, entry in table.items() if self._is_near(entry)}
        if scope == "tree":
            in_group = self._group.members() if self._group is not None else set[int]()
            found |= in_group & table.keys()
            found |= _descendants(found, table)
            if not in_group:  # who left it is looked for when it is empty: that may take seconds beside a fork bomb
                # Last, and only of the others: reading what is in a process's memory waits for one that just forks.
                found |= {pid for pid, entry in table.items() if pid not in found and self._carries_mark(entry)}
                found |= _descendants(found, table)
        members = [table[pid] for pid in found]
        self._known |= {member.key for member in members}
        return sorted(members, key=lambda member: (member.started, member.pid))

    def _is_near(self, entry: ProcessEntry) -> bool:
        if entry.pid == self._root or entry.key in self._known:
            return True
        return self._root is not None and entry.group == self._root and not self._is_older(entry)

    def _is_older(self, entry: ProcessEntry) -> bool:
        return self._since is not None and entry.started < self._since

    def _carries_mark(self, entry: ProcessEntry) -> bool:
        if entry.key in self._strangers or self._is_older(entry):
            return False
        limit = resident_limit(entry.pid)
        if limit == self._limit or ("." not in self._mark and limit // LIMIT_UNIT == self._limit // LIMIT_UNIT):
            return True
        value = environment_value(entry.pid, MARK_VARIABLE)
        if value == self._mark or value.startswith(f"{self._mark}."):
            return True
        if value:  # a command of another tree; without any mark it may be one that is just being started
            self._strangers.add(entry.key)
        return False


def memory_of(roots: Collection[int]) -> dict[int, int]:
    """Return how many bytes each root's processes hold in memory: itself, what descends from it, and its group."""
    table = process_table()
    memory: dict[int, int] = {}
    for root in roots:
        members = {pid for pid, entry in table.items() if pid == root or entry.group == root}
        memory[root] = sum(table[pid].resident_bytes for pid in members | _descendants(members, table))
    return memory


def _descendants(found: set[int], table: dict[int, ProcessEntry]) -> set[int]:
    """Return what descends from `found`."""
    children: dict[int, list[int]] = {}
    for entry in table.values():
        children.setdefault(entry.parent, []).append(entry.pid)
    descendants: set[int] = set()
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found and child not in descendants:
                descendants.add(child)
                waiting.append(child)
    return descendants


def _send_each(members: Iterable[ProcessEntry], name: Literal["SIGSTOP", "SIGCONT"]) -> None:
    if os.name != "nt":
        for member in members:
            with suppress(OSError):
                os.kill(member.pid, getattr(signal, name))


def _send(pid: int, *, forceful: bool) -> None:
    # One that is gone meanwhile, or not ours to end, is left: the caller's patience decides.
    if os.name == "nt":
        import psutil  # slow, and of no use elsewhere

        with suppress(OSError, psutil.Error):
            psutil.Process(pid).kill()
        return
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL if forceful else signal.SIGTERM)
