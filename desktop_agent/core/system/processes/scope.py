"""A scope of the user's systemd, whose cgroups are ours to make: that is how a program of a desktop gets any.

A scope lasts as long as something runs in it: here a shell that waits for the end of a pipe that only we hold open.
"""

import os
import select
import subprocess
from contextlib import suppress
from pathlib import Path

_PROGRAM = "/usr/bin/systemd-run"
_ARGUMENTS = ("--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes", "--property=CPUWeight=10")
_HOLD = "echo; read -r line"
_PATIENCE_S = 2.0
"""A systemd that takes longer to answer is done without."""


class Scope:
    """A delegated cgroup. All methods block for a moment."""

    def __init__(self, holder: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._holder = holder
        self.folder = folder

    @classmethod
    def start(cls, top: Path) -> "Scope | None":
        """Ask for a scope in the cgroups that are shown in `top`; None where there is no such systemd."""
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
        """Let the scope end with whatever still runs in it. The cgroups in it must have been removed before."""
        for pipe in (self._holder.stdin, self._holder.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._holder.kill()  # also one that systemd keeps waiting
        self._holder.wait()


def _folder_of(holder: "subprocess.Popen[bytes]", top: Path) -> Path | None:
    """Return the folder of the scope, once the holder runs in it."""
    assert holder.stdout is not None
    readable, _, _ = select.select([holder.stdout], [], [], _PATIENCE_S)
    if not readable or holder.stdout.read(1) != b"\n":
        return None
    try:
        groups = Path(f"/proc/{holder.pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    name = next((line[3:] for line in groups if line.startswith("0::")), "/")
    return top / name[1:] if name.endswith(".scope") else None


def _make_way(pid: int, folder: Path) -> bool:
    """Move the holder into a cgroup of its own: one that shares out its controllers may hold no process itself."""
    try:
        (folder / "holder").mkdir()
        (folder / "holder" / "cgroup.procs").write_text(str(pid))
    except OSError:
        return False
    return True
