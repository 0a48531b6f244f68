"""How much one command may take of the machine, and how that is set before its first line runs.

The watch (`watch`) counts and ends; what is set here is the kernel's own net below it. The kernel counts tasks of a
whole user, and none of root's, so its limit on those is wide, and only keeps the machine usable until the watch looks.
"""

import errno
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.system.processes.table import task_count

SHELL = "/bin/sh"
_TASKS_PER_PROCESS = 4
"""How many threads a process has on average at most: beyond that, a tree counts as too many processes."""
_SCORE = 500
"""Of -1000 to 1000: when memory runs out, the kernel ends commands before the window and the user's programs."""
_SET = (
    "ulimit -Sn {soft} && ulimit -Hn {hard}\n"
    "ulimit -Su {tasks} || ulimit -Sp {tasks}\n"
    "ulimit -Hu {tasks} || ulimit -Hp {tasks}\n"
    "echo {score} > /proc/self/oom_score_adj"
)


class CommandLimits(Struct, frozen=True, kw_only=True):
    """What all processes of one command may come to."""

    max_processes: int = 512
    max_memory_bytes: int | None = None
    """None: three quarters of the machine's memory."""
    max_open_files: int = 8192
    """Of each process."""

    @property
    def max_tasks(self) -> int:
        """How many threads its processes may have, all together."""
        return self.max_processes * _TASKS_PER_PROCESS

    @property
    def memory_excess(self) -> str:
        """What is said of a command that held more memory."""
        return f"it held more than {self.memory_bytes / 2**30:,.1f} GiB of memory"

    @property
    def memory_bytes(self) -> int:
        """`max_memory_bytes`, or what stands for it."""
        return self.max_memory_bytes or machine_memory_bytes() * 3 // 4


def machine_memory_bytes() -> int:
    """Return how much memory this machine has."""
    if sys.platform == "win32":
        return 2**63
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def limited(
    argv: tuple[str, ...], cwd: Path, environ: Mapping[str, str], limits: CommandLimits, *, beginning: str = ":"
) -> tuple[str, ...]:
    """Return `argv` so that a shell does `beginning`, sets the limits and then becomes it. Blocks for a moment.

    Raises `OSError` for a missing program, which the shell would only report in its output.
    """
    if sys.platform == "win32":
        return argv
    _require_program(argv[0], cwd, environ)
    import resource

    soft, hard = (_at_most(limit, limits.max_open_files) for limit in resource.getrlimit(resource.RLIMIT_NOFILE))
    _, most_tasks = resource.getrlimit(resource.RLIMIT_NPROC)
    tasks = _at_most(most_tasks, task_count() + limits.max_tasks)
    script = _SET.format(soft=soft, hard=hard, tasks=tasks, score=_SCORE)
    return (SHELL, "-c", f'{{ {beginning}\n{script}\n}} 2>/dev/null\nexec "$@"', "sh", *argv)


def _at_most(limit: int, most: int) -> int:
    return most if limit < 0 else min(limit, most)  # RLIM_INFINITY is negative


def _require_program(name: str, cwd: Path, environ: Mapping[str, str]) -> None:
    if "/" in name:
        path = cwd / name
        code = errno.ENOENT if not path.exists() else errno.EACCES if not os.access(path, os.X_OK) else 0
    else:
        code = 0 if shutil.which(name, path=environ.get("PATH", os.defpath)) else errno.ENOENT
    if code:
        raise OSError(code, os.strerror(code), name)
