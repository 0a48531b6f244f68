"""The last resort: when this application is killed outright, what it started is ended all the same.

A tiny shell waits for the end of a pipe that only we hold open. When we die, however we die, the pipe closes and the
shell ends all that is in the cgroups of our commands, and every process whose environment carries our mark.
`PR_SET_PDEATHSIG` was rejected: it reaches the direct child only, and it needs code between fork and exec, which is not
safe in a program with threads.

Linux only, because it reads `/proc`. Elsewhere `start` returns None and a killed application leaves its commands
running.
"""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.system.processes.tree import MARK_VARIABLE

_SHELL = Path("/bin/sh")

# Repeated, because a process may fork between being listed and being killed; bounded, because one may be unkillable.
_SCRIPT = f"""
while read -r _; do :; done
[ -z "$2" ] || echo 1 > "$2/cgroup.kill"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  pids=$(grep -lsz "^{MARK_VARIABLE}=$1\\." /proc/[0-9]*/environ | cut -d / -f 3)
  [ -n "$pids" ] || break
  kill -KILL $pids 2>/dev/null
  sleep 0.05
done
[ -z "$2" ] || rmdir "$2"/*/ "$2"
"""


class Guard:
    """Watches over one application. All methods block for a moment: call them in a thread."""

    def __init__(self, watcher: "subprocess.Popen[bytes]") -> None:
        self._watcher = watcher

    @classmethod
    def start(cls, mark: str, groups: Path | None) -> "Guard | None":
        """Start watching what has `mark`, and the cgroups in `groups`; None where that is not possible."""
        if not Path("/proc/self/environ").exists() or not _SHELL.exists():
            return None
        watcher = subprocess.Popen(  # noqa: S603 -- a fixed script; the rest is our own text
            [str(_SHELL), "-c", _SCRIPT, "sh", mark, str(groups or "")],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.defpath},
            start_new_session=True,
        )
        return cls(watcher)

    def close(self) -> None:
        """Stop watching: whatever still carries the mark is killed, then the watcher itself is gone."""
        if self._watcher.stdin is not None:
            with suppress(OSError):
                self._watcher.stdin.close()
        self._watcher.wait()
