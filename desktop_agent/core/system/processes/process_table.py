"""Reads the process table in one pass, and sets process priorities. Everything here blocks.

On Linux only one small file per process is read, to stay cheap beside a fork bomb. Other systems use psutil.
"""

import asyncio
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if sys.platform != "win32" else 4096
_GONE = frozenset("ZXx")


class ProcessEntry(Struct, frozen=True):
    pid: int
    parent: int
    group: int
    name: str
    threads: int
    started: float
    resident_bytes: int

    @property
    def key(self) -> tuple[int, float]:
        return (self.pid, self.started)


def process_table() -> dict[int, ProcessEntry]:
    """Return all processes by their id, without zombies."""
    entries = _look_at_proc() if sys.platform == "linux" else _ask_psutil()
    return {entry.pid: entry for entry in entries}


def started_now() -> float:
    """A lower bound of `ProcessEntry.started` for all processes that start from now on."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK") - 1
    return time.time() - 1


def read_proc(path: str, most_bytes: int = -1) -> bytes:
    try:
        with open(f"/proc/{path}", "rb", buffering=0) as file:  # noqa: PTH123 - several times a second
            return file.read(most_bytes)
    except OSError:  # also for a process that has ended meanwhile
        return b""


def task_count() -> int:
    try:
        return int(read_proc("loadavg", 100).split()[3].rpartition(b"/")[2])
    except (ValueError, IndexError):
        return 0


def environment_value(pid: int, variable: str) -> str:
    """Return a variable of a process; empty if it is missing or cannot be read."""
    if sys.platform != "linux":
        import psutil  # slow to import, and not needed with /proc

        try:
            return psutil.Process(pid).environ().get(variable, "")
        except (psutil.Error, OSError):
            return ""
    content = b"\0" + read_proc(f"{pid}/environ")
    _, _, rest = content.partition(b"\0" + variable.encode() + b"=")
    return rest.partition(b"\0")[0].decode(errors="replace")


def resident_limit(pid: int) -> int:
    """Return the hard limit of the resident set in bytes; 0 if there is none or it is unknown."""
    _, _, rest = read_proc(f"{pid}/limits", 4096).partition(b"Max resident set")
    hard = rest.partition(b"\n")[0].split()[1:2]
    return int(hard[0]) if hard and hard[0].isdigit() else 0


def runs(pid: int) -> bool:
    """Whether any thread is neither stopped nor ended. False on other systems than Linux."""
    if sys.platform != "linux":
        return False
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - many times a second
    except OSError:
        return False
    states = (read_proc(f"{pid}/task/{thread}/stat", 1024).rpartition(b") ")[2][:1] for thread in threads)
    return any(state not in b"TtZXx" for state in states)  # an ended process has no threads


def has_open_for_writing(pid: int, folder: str) -> bool:
    if sys.platform != "linux":
        return False
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            if os.readlink(entry.path).startswith(f"{folder}/"):  # noqa: PTH115 - it may be no path at all
                lines = read_proc(f"{pid}/fdinfo/{entry.name}", 1024).splitlines()
                flags = next(line for line in lines if line.startswith(b"flags:"))
                if int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                    return True
    except (OSError, StopIteration):
        return False
    return False


def unshared_bytes(pid: int) -> int | None:
    """The memory of a process with its share of shared memory; None if it cannot be read."""
    found = re.search(rb"^Pss:\s+(\d+)", read_proc(f"{pid}/smaps_rollup"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _look_at_proc() -> Iterator[ProcessEntry]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - several times a second
        if not name.isdecimal():
            continue
        # The name is in parentheses and may hold any character. Only numbers follow the last parenthesis.
        begun, _, rest = read_proc(f"{name}/stat", 1024).rpartition(b") ")
        fields = rest.split()
        if len(fields) < 22 or fields[0].decode() in _GONE:
            continue
        yield ProcessEntry(
            pid=int(name),
            parent=int(fields[1]),
            group=int(fields[2]),
            name=begun.partition(b"(")[2].decode(errors="replace"),
            threads=int(fields[17]),
            started=int(fields[19]),
            resident_bytes=int(fields[21]) * _PAGE_BYTES,
        )


def _ask_psutil() -> Iterator[ProcessEntry]:
    import psutil  # as above

    def resident_bytes(process: psutil.Process) -> int:
        try:
            return process.memory_info().rss
        except (psutil.Error, OSError):
            return 0

    for process in psutil.process_iter():
        try:
            if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                continue
            yield ProcessEntry(
                pid=process.pid,
                parent=process.ppid(),
                group=_group_of(process.pid),
                name=process.name(),
                threads=1,
                started=process.create_time(),
                resident_bytes=resident_bytes(process),
            )
        except (psutil.Error, OSError):  # Windows may refuse, or no longer know the process
            continue


def _group_of(pid: int) -> int:
    if sys.platform == "win32":
        return 0
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


NICENESS = 10
"""The niceness of commands, from 0 (none) to 19."""

_FURTHEST = 19

RETRY_S = 0.15
"""How long to wait before retrying. Linux accepts one change of a session's share per 0.1 s from all users together."""


def lower_priority(transport: asyncio.SubprocessTransport) -> None:
    """Lower the priority of a command that leads its own session, and of everything it starts later."""
    if sys.platform == "win32":
        return
    with suppress(OSError):  # it has ended already
        behind = min(os.getpriority(os.PRIO_PROCESS, 0) + NICENESS, _FURTHEST)
        os.setpriority(os.PRIO_PGRP, transport.get_pid(), behind)
    if sys.platform == "linux":
        _lower_session_share(transport)


def raise_thread_priority() -> None:
    """Raise this thread's priority above every command's, if root.

    The kernel does not limit root's tasks, and Linux may divide time among sessions first. A fork bomb with sessions
    would starve the thread that ends it.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def reset_thread_priority() -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def lower_own_priority() -> None:
    if sys.platform == "win32":
        return
    with suppress(OSError):  # the user may have set an even lower priority
        os.setpriority(os.PRIO_PROCESS, 0, _FURTHEST)
    if sys.platform == "linux" and os.getsid(0) == os.getpid():  # otherwise the user's whole terminal would get less
        with suppress(OSError):  # see `_lower_session_share`
            Path("/proc/self/autogroup").write_text(str(_FURTHEST))


def _lower_session_share(transport: asyncio.SubprocessTransport) -> None:
    """Lower the share of a session: Linux may divide time among sessions first ("autogroup", sched(7))."""
    if transport.get_returncode() is not None:
        return
    try:
        Path(f"/proc/{transport.get_pid()}/autogroup").write_text(str(NICENESS))
    except BlockingIOError:
        asyncio.get_running_loop().call_later(RETRY_S, _lower_session_share, transport)
    except OSError:  # a kernel without such groups, or it has ended already
        return
