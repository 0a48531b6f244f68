"""Finds this machine's processes by their environment, and knows those that several tests share."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import psutil

SHARED: Final[set[int]] = set()
"""Processes that outlive a test. What they start is not a leak of the test, either."""


def descendants() -> set[psutil.Process]:
    """The processes below this one but for the shared. The kernel is asked: psutil would read about every process."""
    for _ in range(3):
        with suppress(OSError, psutil.NoSuchProcess):  # a process or a thread has just ended
            return {psutil.Process(pid) for pid in _pids_below("self")}
    found = {
        child for child in psutil.Process().children() if child.pid not in SHARED
    }  # other systems have no such file
    for child in tuple(found):
        with suppress(psutil.NoSuchProcess):
            found.update(child.children(recursive=True))
    return found


def _pids_below(process: int | str) -> Iterator[int]:
    """`Path` is not used: a test may have patched its methods."""
    for thread in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208 - see above
        with open(f"/proc/{process}/task/{thread}/children", "rb") as children:  # noqa: PTH123 - see above
            for pid in map(int, children.read().split()):
                if pid in SHARED:
                    continue
                yield pid
                yield from _pids_below(pid)


def running_with(argument: str, processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those of the processes that live and have this in an argument. They may end while one looks."""
    found: list[psutil.Process] = []
    for child in processes:
        with suppress(psutil.Error):
            if child.status() != psutil.STATUS_ZOMBIE and any(argument in each for each in child.cmdline()):
                found.append(child)
    return found


def processes_with(variable: str, value: str) -> list[int]:
    """Return the ids of the live processes that have this value of an environment variable."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(variable) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
