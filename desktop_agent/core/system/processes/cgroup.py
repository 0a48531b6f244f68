"""The limits of one command, and the cgroup (version 2) that enforces them where Linux permits. Everything here blocks.

A process cannot leave its cgroup, and `cgroup.kill` ends all its processes at once. Limits need the controllers `pids`
and `memory`, which only a delegated cgroup has: one in a scope of the user's systemd, or below our own.
Source: Documentation/admin-guide/cgroup-v2.rst of Linux.
"""

import errno
import os
import select
import shlex
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.system.processes.process_table import task_count

if sys.platform != "win32":
    import resource

SHELL = "/bin/sh"
_TASKS_PER_PROCESS = 4
_SCORE = 500
"""From -1000 to 1000. A high score makes the kernel end commands before other programs when memory runs out."""
_SET = (
    "ulimit -Sn {soft} && ulimit -Hn {hard}\n"
    "ulimit -Su {tasks} || ulimit -Sp {tasks}\n"
    "ulimit -Hu {tasks} || ulimit -Hp {tasks}\n"
    "echo {score} > /proc/self/oom_score_adj"
)


class CommandLimits(Struct, frozen=True, kw_only=True):
    max_processes: int = 512
    max_memory_bytes: int | None = None
    """None means three quarters of the machine's memory."""
    max_open_files: int = 8192

    @property
    def max_tasks(self) -> int:
        return self.max_processes * _TASKS_PER_PROCESS

    @property
    def memory_excess(self) -> str:
        return f"it held more than {self.memory_bytes / 2**30:,.1f} GiB of memory"

    @property
    def memory_bytes(self) -> int:
        return self.max_memory_bytes or machine_memory_bytes() * 3 // 4


def machine_memory_bytes() -> int:
    if sys.platform == "win32":
        return 2**63
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def limited(
    argv: tuple[str, ...], cwd: Path, environ: Mapping[str, str], limits: CommandLimits, *, beginning: str = ":"
) -> tuple[str, ...]:
    """Return a shell's arguments that run `beginning`, then `argv` within `limits`. Blocks. Raises `OSError`."""
    if sys.platform == "win32":
        return argv
    _require_program(argv[0], cwd, environ)
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


_PROGRAM = "/usr/bin/systemd-run"
_ARGUMENTS = ("--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes", "--property=CPUWeight=10")
_HOLD = "echo; read -r line"
_PATIENCE_S = 2.0


class Scope:
    """A scope of the user's systemd in which we can create cgroups. It lasts as long as we hold a pipe open. Blocks."""

    def __init__(self, holder: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._holder = holder
        self.folder = folder

    @classmethod
    def start(cls, top: Path) -> "Scope | None":
        """Start a scope; None if the user's systemd gives none below the cgroup mount `top`."""
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        if not Path(runtime).is_absolute() or not Path(runtime, "systemd", "private").exists():
            return None
        try:
            holder = subprocess.Popen(  # noqa: S603 -- a fixed program with fixed arguments
                [_PROGRAM, *_ARGUMENTS, "/bin/sh", "-c", _HOLD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.defpath, "XDG_RUNTIME_DIR": runtime},
                start_new_session=True,
            )
        except OSError:
            return None
        folder = _folder_of(holder, top)
        scope = cls(holder, folder or top)
        if folder is None or not _make_way(holder.pid, folder):
            scope.close()
            return None
        return scope

    def close(self) -> None:
        """Ends everything that still runs in the scope. Remove the cgroups in the scope first."""
        for pipe in (self._holder.stdin, self._holder.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._holder.kill()  # also one that systemd keeps waiting
        self._holder.wait()


def _folder_of(holder: "subprocess.Popen[bytes]", top: Path) -> Path | None:
    assert holder.stdout is not None
    readable, _, _ = select.select([holder.stdout], [], [], _PATIENCE_S)
    if not readable or holder.stdout.read(1) != b"\n":
        return None
    name = _group_of(holder.pid) or "/"
    return top / name[1:] if name.endswith(".scope") else None


def _make_way(pid: int, folder: Path) -> bool:
    """Move the scope's shell into a child: only a cgroup without processes can delegate its controllers."""
    try:
        (folder / "holder").mkdir()
        (folder / "holder" / "cgroup.procs").write_text(str(pid))
    except OSError:
        return False
    return True


_NAME = "desktop-agent-"
_CONTROLLERS = ("cpu", "memory", "pids")
_WEIGHT = 10
"""The processor weight of all commands together. Other programs have 100."""
_CHANGES = 100
_PATIENCE_MS = 500
_TRIAL_S = 5.0
_TASKS_ABOVE = 16
"""How far the kernel's limit is above the command's own, so that the watch sees the excess and ends the command."""


class CommandGroup:
    def __init__(self, folder: Path, limits: CommandLimits, left: "deque[CommandGroup]") -> None:
        self._folder = folder
        self._limits = limits
        self._left = left

    @property
    def entering(self) -> str:
        return f"echo $$ > {shlex.quote(str(self._folder / 'cgroup.procs'))}"

    def members(self) -> set[int]:
        return set(map(int, _read(self._folder / "cgroup.procs").split()))

    def kill(self) -> None:
        _write(self._folder / "cgroup.kill", "1")

    def close(self) -> str:
        """Remove the cgroup, now or when it is empty. Return why the kernel ended the command, if it did."""
        excess = self._limits.memory_excess if self._was_out_of_memory() else ""
        if not self.remove():
            self.leave()
        return excess

    def leave(self) -> None:
        """Postpone the removal until the next cgroup is made or all of them are closed. Does not block."""
        self._left.append(self)

    def remove(self) -> bool:
        with suppress(FileNotFoundError):
            try:
                self._folder.rmdir()
            except OSError:
                return False
        return True

    def _was_out_of_memory(self) -> bool:
        events = _read(self._folder / "memory.events").split()
        return b"oom_kill" in events and int(events[events.index(b"oom_kill") + 1]) > 0


class CommandGroups:
    def __init__(self, folder: Path, scope: Scope | None) -> None:
        self.folder = folder
        self._scope = scope
        self._left: deque[CommandGroup] = deque()
        """Groups that could not be removed yet, because something in them was alive or dying."""

    @classmethod
    def open(cls, mark: str) -> "CommandGroups | None":
        if sys.platform != "linux" or (places := _places()) is None:
            return None
        name = f"{_NAME}{os.getpid()}-{mark}"
        top, own = places
        if scope := Scope.start(top):
            if folder := _made_in(scope.folder, name):
                return cls(folder, scope)
            scope.close()
        folder = _made_in(own, name)
        return None if folder is None else cls(folder, None)

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset(_read(self.folder / "cgroup.subtree_control").decode().split()) & frozenset(_CONTROLLERS)

    def make(self, name: str, limits: CommandLimits) -> CommandGroup | None:
        """Return a cgroup with as many `limits` as the kernel can enforce; None when it cannot be created."""
        with suppress(IndexError):  # others make some meanwhile
            for _ in range(len(self._left)):
                left = self._left.popleft()
                if not left.remove():
                    left.leave()
        folder = self.folder / name
        try:
            folder.mkdir()
        except OSError:
            return None
        _write(folder / "pids.max", str(limits.max_tasks + _TASKS_ABOVE))
        _write(folder / "memory.max", str(limits.memory_bytes))
        _write(folder / "memory.swap.max", "0")
        _write(folder / "memory.oom.group", "1")
        return CommandGroup(folder, limits, self._left)

    def close(self) -> None:
        _write(self.folder / "cgroup.kill", "1")
        with suppress(OSError):
            _wait_until_empty(self.folder)
            _remove(self.folder)
        if self._scope is not None:
            self._scope.close()


def _places() -> tuple[Path, Path] | None:
    own = _group_of("self")
    for mount in os.fsdecode(_read(Path("/proc/self/mountinfo"))).splitlines():
        fields, _, rest = mount.partition(" - ")
        if own is not None and rest.startswith("cgroup2 "):
            shown, top = fields.split()[3:5]
            if Path(own).is_relative_to(shown):  # else it is outside what we are shown
                return Path(top), Path(top) / Path(own).relative_to(shown)
    return None


def _group_of(pid: int | str) -> str | None:
    groups = os.fsdecode(_read(Path(f"/proc/{pid}/cgroup"))).splitlines()
    return next((line[3:] for line in groups if line.startswith("0::")), None)


def _made_in(parent: Path, name: str) -> Path | None:
    _remove_stale(parent)
    folder = parent / name
    try:
        folder.mkdir()
    except OSError:
        return None
    # Only the root of all cgroups, or a cgroup without processes of its own, may delegate its controllers.
    if not (parent / "cgroup.type").exists() or not (parent / "cgroup.procs").read_bytes():
        _share_out(parent)
    _write(folder / "cpu.weight", str(_WEIGHT))
    _share_out(folder)
    if (folder / "cgroup.kill").exists() and _can_be_entered(folder):  # the former since Linux 5.14
        return folder
    with suppress(OSError):
        _remove(folder)
    return None


def _can_be_entered(folder: Path) -> bool:
    tried = CommandGroup(folder / "try", CommandLimits(), deque())
    try:
        (folder / "try").mkdir()
        line = [SHELL, "-c", tried.entering]
        code = subprocess.call(line, stderr=subprocess.DEVNULL, timeout=_TRIAL_S)  # noqa: S603 -- our own line
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.remove() and code == 0


def _share_out(folder: Path) -> None:
    for controller in _CONTROLLERS:
        _write(folder / "cgroup.subtree_control", f"+{controller}")


def _remove_stale(parent: Path) -> None:
    for folder in parent.glob(f"{_NAME}*-*"):
        pid = folder.name.removeprefix(_NAME).partition("-")[0]
        if not Path("/proc", pid).exists():
            with suppress(OSError):
                _remove(folder)


def _remove(folder: Path) -> None:
    for inner in folder.iterdir():
        if inner.is_dir():
            inner.rmdir()
    folder.rmdir()


def _wait_until_empty(folder: Path) -> None:
    if sys.platform != "linux":
        return
    with (folder / "cgroup.events").open("rb", buffering=0) as events:
        changed = select.poll()
        changed.register(events, select.POLLPRI)
        for _ in range(_CHANGES):
            events.seek(0)
            if b"populated 0" in events.read() or not changed.poll(_PATIENCE_MS):
                return


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _write(path: Path, text: str) -> None:
    """Write a limit. Errors are ignored: a cgroup without the controller lacks the file."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
