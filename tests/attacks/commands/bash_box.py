"""Runs command lines in the real bash, and tells which programs ran.

It runs in a bubblewrap box without network and without any system program but bash. Every other program is a script
that records its call; a few then run the real one, so that pipes have content and wrappers start their command.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.attacks.bounds import within

REAL = ("cat", "env", "find", "head", "nice", "nohup", "sort", "timeout", "wc", "xargs", "printf", "ls", "tail", "seq")
"""Programs that are recorded and then really run."""
CANARY = "canary"
NUMBERS = tuple(str(number) for number in range(12))
"""Folders of programs, for a `PATH` that something sets to a number."""

_DRIVER = r"""
exec 9>>/box/log 8</box/lines 7<>/box/never
while IFS= read -r -d '' -u 8 line; do
  printf '\035' >&9
  cd /work; printf '%s' 'a[$(canary)]' >f; printf '%s\n' x 'canary' >g
  /box/bash --noprofile --norc -c -- "$line" </dev/null >/dev/null 2>&1 8<&- 9>&- 7<&- &
  until=$((${EPOCHREALTIME/./} + LONGEST))
  while all=(/proc/[0-9]*); ((${#all[@]} > 2)) && ((${EPOCHREALTIME/./} < until)); do
    read -r -t 0.002 -u 7
  done
  kill -KILL -1 2>/dev/null
  wait 2>/dev/null
done
"""


@cache
def can_run() -> bool:
    if not sys.platform.startswith("linux") or not shutil.which("bwrap") or not Path("/bin/bash").exists():
        return False
    argv = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "/bin/bash", "-c", "((BASH_VERSINFO[0] >= 5))"]
    return subprocess.call(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def programs_of(
    lines: Sequence[str], names: Iterable[str], enter: str, *, longest_s: float = 1
) -> list[list[tuple[str, ...]]]:
    """Return, for each line, the argument lists of the programs that ran.

    `names` are all programs of the box. `enter` comes from `tests.attacks.bounds.net`.
    """
    with TemporaryDirectory() as folder:
        root = Path(folder)
        _furnish(root, {*names, *REAL, CANARY})
        (root / "lines").write_bytes(b"".join(line.encode() + b"\0" for line in lines))
        (root / "driver").write_text(_DRIVER.replace("LONGEST", str(int(longest_s * 1_000_000))))
        os.mkfifo(root / "never")  # for reads with a time limit
        log = root / "log"
        log.touch()
        subprocess.check_call(within(enter, tuple(_argv(root))), stderr=subprocess.DEVNULL)
        found = [
            [tuple(run.split("\037")) for run in line.split(f"\037{_END}\037")[:-1]]
            for line in log.read_bytes().decode(errors="replace").split("\035")[1:]
        ]
        assert len(found) == len(lines), (len(found), len(lines))
        return found


def _furnish(root: Path, names: set[str]) -> None:
    for folder in ("bin", "work"):
        (root / folder).mkdir()
    shells = {"bash": "/box/bash", "sh": "/box/dash", "dash": "/box/dash"}
    for name in sorted(names | shells.keys()):
        real = shells.get(name, f"/box/real/{name}" if name in REAL else "")
        script = root / "bin" / name
        goes_on = f'exec {real} "$@"' if real else ""
        script.write_text(f'#!/box/dash\nprintf "%s\\037" "$0" "$@" "{_END}" >>/box/log\n{goes_on}\n')
        script.chmod(0o755)
    for folder in NUMBERS:
        (root / "work" / folder).symlink_to("/usr/bin")


_END = "\036"


def _argv(root: Path) -> list[str]:
    binds = {"/usr/lib": "/usr/lib", "/usr/bin": "/box/real", "/bin/bash": "/box/bash", "/bin/sh": "/box/dash"}
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    for source, target in binds.items():
        argv += ["--ro-bind", source, target]
    for name in ("lib", "lib64", "lib32"):
        if Path(f"/usr/{name}").is_dir():
            argv += ["--ro-bind", f"/usr/{name}", f"/usr/{name}", "--symlink", f"usr/{name}", f"/{name}"]
    argv += ["--ro-bind", str(root / "bin"), "/usr/bin", "--symlink", "usr/bin", "/bin"]
    argv += ["--tmpfs", "/tmp", "--dev", "/dev", "--proc", "/proc", "--bind", str(root / "work"), "/work"]
    for name in ("log", "lines", "driver", "never"):
        argv += ["--bind", str(root / name), f"/box/{name}"]
    argv += ["--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/tmp", "--chdir", "/work"]
    return [*argv, "/box/bash", "--noprofile", "--norc", "/box/driver"]
