"""The last resort: if this application is killed outright, what it started is still ended.

A tiny shell waits for the end of a pipe that only we hold open. When we die, however we die, the pipe closes and the
shell ends all that is in the cgroups of our commands, and every process that carries our mark (`tree`).
`PR_SET_PDEATHSIG` was rejected: it reaches the direct child only, and it needs code between fork and exec, which is not
safe in a program with threads.

Linux only, because it reads `/proc`. Elsewhere `start` returns None and a killed application leaves its commands
running.
"""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.system.processes.tree import LIMIT_UNIT, MARK_VARIABLE, marked_limit

_SHELL = Path("/bin/sh")

_LAST_WORD = b"closed\n"
"""What we write once nothing is being started any more. A killed application writes nothing."""

# Repeated, because a process may fork between being listed and being killed; bounded, because one may be unkillable. A
# killed application may have been starting a process, which has the mark only once it runs its own program: finding
# nothing once is then not enough.
_SCRIPT = f"""
wanted=5
while read -r word; do [ "$word" != closed ] || wanted=1; done
[ -z "$2" ] || echo 1 > "$2/cgroup.kill"
empty=0
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
  pids=$(
    grep -lsz "^{MARK_VARIABLE}=$1\\." /proc/[0-9]*/environ | cut -d / -f 3
    grep -Hs '^Max resident' /proc/[0-9]*/limits | awk -v ours="$3" \
      '$(NF-1) / {LIMIT_UNIT} >= ours && $(NF-1) / {LIMIT_UNIT} < ours + 1 {{ split($1, part, "/"); print part[3] }}'
  )
  if [ -n "$pids" ]; then
    empty=0
    kill -KILL $pids 2>/dev/null
  else
    empty=$((empty + 1))
    [ $empty -lt $wanted ] || break
  fi
  sleep 0.05
done
[ -z "$2" ] || echo 1 > "$2/cgroup.kill"
[ -z "$2" ] || rmdir "$2"/*/ "$2"
[ -z "$4" ] || [ $wanted = 1 ] || (umask 077; : > "$4")
"""

MARGIN_NS = 2 * 10**9
"""Servers belong to another guard, which ends them at the same time."""


def ended_by(end: Path, written: Path) -> int | None:
    """Return when everything that a killed application ran had ended, by the clock of files; None if not known.

    `end` is the file that its guard makes, `written` something that it wrote: whatever ran then, a restart of the
    machine ended. Blocks.
    """
    with suppress(OSError):
        return end.stat().st_mtime_ns + MARGIN_NS
    try:
        lines = Path("/proc/stat").read_text().splitlines()
        booted_ns = int(next(line for line in lines if line.startswith("btime ")).split()[1]) * 10**9
        return booted_ns if written.stat().st_mtime_ns < booted_ns else None
    except (OSError, StopIteration, ValueError):
        return None


class Guard:
    """Watches over one application. All methods block for a moment: call them in a thread."""

    def __init__(self, watcher: "subprocess.Popen[bytes]") -> None:
        self._watcher = watcher

    @classmethod
    def start(cls, mark: str, groups: Path | None, end: Path | None = None) -> "Guard | None":
        """Start watching what has `mark`, and the cgroups in `groups`; None where that is not possible.

        If we are killed, the guard makes the file `end` once nothing of it is left: its date says when.
        """
        if not Path("/proc/self/environ").exists() or not _SHELL.exists():
            return None
        number = marked_limit(mark) // LIMIT_UNIT
        watcher = subprocess.Popen(  # noqa: S603 -- a fixed script; the rest is our own text
            [
                str(_SHELL),
                "-c",
                _SCRIPT,
                "sh",
                mark,
                str(groups or ""),
                str(number),
                str(end or ""),
            ],
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
                self._watcher.stdin.write(_LAST_WORD)
            with suppress(OSError):
                self._watcher.stdin.close()
        self._watcher.wait()
