"""The watch over running commands: it ends one that takes more of the machine than it may, and reports the reason.

It is a thread, so that it goes on while the event loop is busy, and it looks 20 times a second: at one number first
(how many tasks the machine has), and at the process table only when that, or the time, makes a look worth its cost.
"""

import threading
import time
from collections.abc import Callable

from msgspec import Struct, field

from desktop_agent.core.system.processes.limits import CommandLimits
from desktop_agent.core.system.processes.priority import go_first
from desktop_agent.core.system.processes.table import ProcessEntry, task_count, unshared_bytes
from desktop_agent.core.system.processes.tree import ProcessTree

LOOK_EVERY_S = 0.05
_FULL_LOOK_EVERY_S = 0.25
_MANY_TASKS = 64
"""So many tasks more than at the last full look make the next one come at once."""
_SHARED_AGAIN_S = 2.0
"""How long a tree that only seems to hold too much, because its processes share memory, is believed."""

Ended = Callable[[str], None]


class _Watched(Struct):
    tree: ProcessTree
    limits: CommandLimits
    ended: Ended
    memory_from_s: float = field(default=0.0)
    """Memory is not looked at before this time."""


class LimitWatch:
    """Watches the commands of one runner. The thread lives only while there are some."""

    def __init__(self) -> None:
        self._watched: dict[int, _Watched] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, root: int, tree: ProcessTree, limits: CommandLimits, ended: Ended) -> None:
        """Watch the `tree` of `root`, an object of our own. `ended` is called once, in our thread, with the reason."""
        with self._lock:
            self._watched[root] = _Watched(tree, limits, ended)
            if self._thread is None:
                self._wake.clear()
                self._thread = threading.Thread(target=self._look, name="command limits", daemon=True)
                self._thread.start()

    def remove(self, root: int) -> None:
        """Watch the tree no longer."""
        with self._lock:
            self._watched.pop(root, None)
            if not self._watched:
                self._wake.set()

    def join(self) -> None:
        """Return when the thread has ended, once nothing is watched any more. Blocks."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _look(self) -> None:
        go_first()
        last_look_s, last_tasks = 0.0, 0
        while True:
            self._wake.wait(LOOK_EVERY_S)
            with self._lock:
                watched = dict(self._watched)
                if not watched:
                    self._thread = None
                    return
                self._wake.clear()  # the last one left, and another one came, before this thread looked
            now_s, tasks = time.monotonic(), task_count()
            if tasks < last_tasks + _MANY_TASKS and now_s < last_look_s + _FULL_LOOK_EVERY_S:
                continue
            last_look_s, last_tasks = now_s, tasks
            for root, one in watched.items():
                if reason := _excess_of(one):
                    one.ended(reason)  # before it is gone: its end must not look like one of its own
                    one.tree.signal("tree", forceful=True)
                    self.remove(root)


def _excess_of(watched: _Watched) -> str:
    """Return, in words, what the tree has too much of; empty when it keeps its limits."""
    members, limits = watched.tree.members(), watched.limits
    if len(members) > limits.max_processes:
        return f"it ran more than {limits.max_processes:,} processes at once"
    if sum(member.threads for member in members) > limits.max_tasks:
        return f"its processes had more than {limits.max_tasks:,} threads at once"
    if _holds_too_much(watched, members):
        return limits.memory_excess
    return ""


def _holds_too_much(watched: _Watched, members: list[ProcessEntry]) -> bool:
    most = watched.limits.memory_bytes
    if sum(member.resident_bytes for member in members) <= most or time.monotonic() < watched.memory_from_s:
        return False
    # What processes share was counted once for each of them. Asking for the parts is slow, so it is done only now.
    held = 0
    for member in members:
        part = unshared_bytes(member.pid)
        held += member.resident_bytes if part is None else part
    if held <= most:
        watched.memory_from_s = time.monotonic() + _SHARED_AGAIN_S
    return held > most
