"""Every process that a command started, also those that left its process group or lost their parent.

A process belongs to a tree when any of these holds: it is in the root's process group; it descends from a member; its
environment carries the tree's mark. The mark is what finds a daemon that called `setsid` and whose parent has exited.

Everything here reads the process table and blocks, so call it in a thread. Nothing here waits for a process with
`waitpid`: the root is our own child, and its exit status belongs to whoever started it.
"""

import os
from collections.abc import Collection
from typing import Literal

import psutil

MARK_VARIABLE = "DESKTOP_AGENT_PROCESS"
"""The environment variable that says which application, and which of its commands, a process belongs to."""

Scope = Literal["tree", "group"]
"""`tree` is everything the command started; `group` leaves alone what properly detached itself from it."""

_GONE = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


class ProcessTree:
    """The processes of one command (`root` is its first), or, without a root, everything that carries the mark."""

    def __init__(self, mark: str, root: int | None = None) -> None:
        self._mark = mark
        self._root = root
        self._known: set[psutil.Process] = set()
        self._asked: set[psutil.Process] = set()

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

    def signal(self, scope: Scope, *, forceful: bool) -> dict[int, str]:
        """Ask every member once to end (TERM), or end it (KILL), and return those that were alive: pid to name."""
        members = self._members(scope)
        for process in members:
            try:
                if forceful:
                    process.kill()
                elif process not in self._asked:
                    self._asked.add(process)
                    process.terminate()
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue  # gone meanwhile, or not ours to end: the caller's patience decides
        return {process.pid: _name(process) for process in members}

    def _members(self, scope: Scope) -> list[psutil.Process]:
        """Return the living members. One met once stays one, when its parent's end hides where it came from."""
        parents: dict[psutil.Process, int] = {}
        found: set[psutil.Process] = set()
        for pid in psutil.pids():
            if pid == os.getpid():
                continue
            try:
                process = psutil.Process(pid)
                if process.status() in _GONE:
                    continue
                parents[process] = process.ppid()
                if pid == self._root or process in self._known or self._belongs(process, scope):
                    found.add(process)
            except psutil.Error:
                continue
        if scope == "tree":
            found |= _descendants(found, parents)
        self._known |= found
        return sorted(found, key=lambda process: process.pid)

    def _belongs(self, process: psutil.Process, scope: Scope) -> bool:
        if self._root is not None and _group_of(process.pid) == self._root:
            return True
        return scope == "tree" and self._carries_mark(process)

    def _carries_mark(self, process: psutil.Process) -> bool:
        try:
            value = process.environ().get(MARK_VARIABLE, "")
        except (psutil.Error, OSError):  # another user's process
            return False
        return value == self._mark or value.startswith(f"{self._mark}.")


def memory_of(roots: Collection[int]) -> dict[int, int]:
    """Return how many bytes each root's processes hold in memory: itself, what descends from it, and its group."""
    parents: dict[psutil.Process, int] = {}
    for pid in psutil.pids():
        try:
            process = psutil.Process(pid)
            parents[process] = process.ppid()
        except psutil.Error:
            continue
    memory: dict[int, int] = {}
    for root in roots:
        members = {process for process in parents if process.pid == root or _group_of(process.pid) == root}
        memory[root] = sum(map(_resident_bytes, members | _descendants(members, parents)))
    return memory


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


def _descendants(found: set[psutil.Process], parents: dict[psutil.Process, int]) -> set[psutil.Process]:
    """Return what descends from `found`, given each process's parent."""
    pids = {process.pid for process in found}
    descendants: set[psutil.Process] = set()
    while True:
        children = {process for process, parent in parents.items() if parent in pids and process.pid not in pids}
        if not children:
            return descendants
        descendants |= children
        pids |= {process.pid for process in children}


def _group_of(pid: int) -> int | None:
    if os.name == "nt":
        return None
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return "?"
