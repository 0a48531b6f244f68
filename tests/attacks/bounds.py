"""A limit on tasks for commands that fork without end; it holds for root, too.

`net` makes a cgroup, and `within` puts a command into it; for ordinary users `RLIMIT_NPROC` may do. Without either,
the test is skipped.
"""

import os
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MOST_TASKS = 150
"""The most tasks of a command and its children."""
_MOST_SECONDS = 30
_EMPTIED = "sleep $0; for _ in 1 2 3 4 5 6 7 8 9; do kill -KILL $(cat $1/cgroup.procs); done 2>/dev/null"
"""Kills the net's processes when its maker was killed."""


@contextmanager
def net() -> Generator[str]:
    """Yield a shell command that enters a control group; at the end all processes in it are killed.

    Skip the test where no group can be made.
    """
    group = _make_group()
    if group is None and os.geteuid() == 0:
        pytest.skip("there is no cgroup to keep a fork bomb of root in")
    try:
        with _watchdog(group):
            yield f"echo $$ > {group}/cgroup.procs" if group else f"ulimit -u {_tasks() + MOST_TASKS}"
    finally:
        if group:
            _empty(group)
            group.rmdir()


@contextmanager
def _watchdog(group: Path | None) -> Generator[None]:
    if group is None:
        yield
        return
    watchdog = subprocess.Popen(["/bin/sh", "-c", _EMPTIED, str(_MOST_SECONDS), str(group)], start_new_session=True)
    try:
        yield
    finally:
        os.killpg(watchdog.pid, 9)
        watchdog.wait()


def within(enter: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return `argv` as a command that first runs `enter` (see `net`)."""
    return ("/bin/bash", "-c", f'{enter} || exit 99; exec "$@"', "bash", *argv)


def _make_group() -> Path | None:
    for top in (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"), *_own_parents()):
        group = top / f"agent-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / "pids.max").write_text(str(MOST_TASKS))
        except OSError:
            with suppress(OSError):
                group.rmdir()
            continue
        return group
    return None


def _own_parents() -> Iterator[Path]:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            yield from (Path("/sys/fs/cgroup") / line[4:]).parents


def _empty(group: Path) -> None:
    until = time.monotonic() + _MOST_SECONDS
    while (pids := (group / "cgroup.procs").read_text().split()) and time.monotonic() < until:
        for pid in pids:
            with suppress(OSError):
                os.kill(int(pid), 9)


def _tasks() -> int:
    return int(Path("/proc/loadavg").read_text().split()[3].rpartition("/")[2])
