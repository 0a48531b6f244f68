"""Landlock with a system call filter: a process confines itself, without privileges or namespaces.

Landlock grants rights by folder, including everything below. So where a path inside must stay closed, its neighbours
are granted one by one. Limits:

- In a writable workspace, nothing can be created, renamed or removed directly in the top folder; otherwise `.git` could
  be changed or created. New entries there need an approval.
- Names of files in hidden folders can be listed, contents cannot be read.
- A supervisor (`metadata_supervisor`) changes modes, owners, attributes and times in writable folders. No file gets
  set-uid, set-gid or writable for all. Without a supervisor (`is_supervised`), no file becomes open to others than its
  owner, so `chmod +x` and copies with modes fail, and times can be changed everywhere.
- There is no loopback network, no Unix socket, no POSIX shared memory and no System V object.
- A process can set its own priority, processors and limits (as process 0), but not those of another process.
- Before ABI 6 (Linux 6.12) a command can send signals to the user's other programs.

Needs ABI 3 (Linux 6.2): before, files anywhere could be truncated.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

assert sys.platform == "linux"

from desktop_agent.core.base.errors import SandboxError
from desktop_agent.core.sandbox import landlock_launcher
from desktop_agent.core.sandbox.confinement import ConfinementSpec, check, require_no_way_out, split_environment
from desktop_agent.core.sandbox.guarded import Guards, homes_in, protection_in
from desktop_agent.core.sandbox.seccomp import build_filter, listener_call
from desktop_agent.core.system.processes.runner import Command

LEAST_ABI = 3

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 0x1, 0x2, 0x4, 0x8
_TRUNCATE, _IOCTL_DEVICE = 0x4000, 0x8000
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_MAKE_DEVICES = 0x40 | 0x800
_ALL_FILES = {3: 0x7FFF, 4: 0x7FFF}
_ALL_FILES_LATER = 0xFFFF
_ALL_NETWORK = 0x3
_SCOPES = 0x3
"""Restricts abstract Unix sockets and signals to processes in the same sandbox."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_HIDDEN_FOR_ALL = (Path("/tmp"), Path("/run/user"), Path("/dev"))  # noqa: S108
"""`/dev` is hidden except for `_DEVICES`, because root could read secrets from the disk itself."""
_LAUNCHER = Path(landlock_launcher.__file__)


class Landlock(Struct, frozen=True):
    abi: int
    guards: Guards
    is_supervised: bool = True
    name: str = "landlock"

    def wrap(self, command: Command, confinement: ConfinementSpec) -> Command:
        check(command, confinement)
        require_no_way_out(confinement, self.name)
        if self.abi < LEAST_ABI:
            raise SandboxError("This kernel's Landlock cannot keep files from being truncated.")
        temp = str(confinement.temp.resolve())
        outer, inner = split_environment(command.environ, temp)
        # The launcher itself starts with `outer`. The command gets `inner` from the launcher's arguments.
        options = ["watch", *(f"env={name}={value}" for name, value in inner.items())]
        options.append(f"handled={self._handled()}")
        options += [f"rule={rights & self._all_files}:{path}" for path, rights in self._rules(confinement).items()]
        if self.is_supervised:
            options.append(f"listener={listener_call()}")
        code = build_filter(is_alone=True, is_supervised=self.is_supervised, is_read_only=not confinement.roots)
        if code is None:
            raise SandboxError(
                "No filter of system calls is known for this machine, so Landlock alone would leave gaps."
            )
        return replace(command, argv=_launch(options, code, command.argv), environ=outer)

    @property
    def _all_files(self) -> int:
        return _ALL_FILES.get(self.abi, _ALL_FILES_LATER)

    def _handled(self) -> str:
        numbers = [self._all_files]
        if self.abi >= 4:
            numbers.append(_ALL_NETWORK)
        if self.abi >= 6:
            numbers.append(_SCOPES)
        return ",".join(map(str, numbers))

    def _rules(self, confinement: ConfinementSpec) -> dict[Path, int]:
        write = self._all_files & ~_MAKE_DEVICES & ~_IOCTL_DEVICE
        roots = confinement.roots
        shown = confinement.shown
        temp = confinement.temp.resolve()
        opened = {*shown, *roots}
        homes = homes_in(confinement, self.guards)
        hidden = [path for path in (*self.guards.hidden, *homes.hidden, *_HIDDEN_FOR_ALL) if path not in opened]
        rules: dict[Path, int] = {Path("/"): _READ_DIR}
        for path in _around(Path("/"), [*hidden, *homes.emptied]):
            rules[path] = _READ
        for folder in (*homes.shown, *shown):
            for path in _around(folder, _below(folder, hidden)):
                rules[path] = _READ
        protected = protection_in(confinement, self.guards).paths
        for root in roots:
            for path in _around(root, [*protected, *hidden, root / ".git"]):
                rules[path] = write
        rules[temp] = write
        for device in _DEVICES:
            rules[Path(device)] = _READ_FILE | _WRITE_FILE | _IOCTL_DEVICE | _TRUNCATE
        return rules


def filter_only(argv: tuple[str, ...], *, is_supervised: bool, way_out: str = "") -> tuple[str, ...]:
    """Return `argv` with the system call filter alone, for a command with its own namespaces. Raises `SandboxError`."""
    code = build_filter(is_alone=False, is_supervised=is_supervised)
    if code is None:
        raise SandboxError("No filter of system calls is known for this machine, so Unix sockets would be a way out.")
    options = [f"way_out={way_out}"] if way_out else []
    if is_supervised:
        options += ["watch", "mounted", f"listener={listener_call()}"]
    return _launch(options, code, argv)


def _launch(options: Iterable[str], code: bytes, argv: tuple[str, ...]) -> tuple[str, ...]:
    python = (sys.executable, "-I", "-S", str(_LAUNCHER))
    return (*python, *options, f"filter={code.hex()}", "--", *argv)


def _below(folder: Path, paths: Iterable[Path]) -> list[Path]:
    prefix = os.path.join(folder, "")  # noqa: PTH118 - as text: it is asked of thousands
    return [path for path in paths if str(path).startswith(prefix)]


def _around(folder: Path, closed: Iterable[Path]) -> Iterator[Path]:
    depth = len(folder.parts)
    closed_below: dict[str, list[Path]] = {}
    for path in closed:
        if path.parts[:depth] == folder.parts:
            if len(path.parts) == depth:
                return
            closed_below.setdefault(path.parts[depth], []).append(path)
    if not closed_below:
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for name in names:
        yield from _around(folder / name, closed_below.get(name, ()))
