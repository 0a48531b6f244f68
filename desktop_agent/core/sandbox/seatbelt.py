from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import SandboxError
from desktop_agent.core.sandbox.confinement import ConfinementSpec, check, require_no_way_out, split_environment
from desktop_agent.core.sandbox.guarded import Guards, folders_above, homes_in, protection_in
from desktop_agent.core.system.processes.runner import Command

PROGRAM = "/usr/bin/sandbox-exec"

_ALWAYS = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-read*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx"))
(allow file-ioctl (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
(allow file-write* (regex #"^/dev/ttys[0-9]+$"))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.SystemConfiguration.configd"))
"""


class Seatbelt(Struct, frozen=True):
    guards: Guards
    name: str = "seatbelt"

    def wrap(self, command: Command, confinement: ConfinementSpec) -> Command:
        check(command, confinement)
        require_no_way_out(confinement, self.name)
        outer, inner = split_environment(command.environ, str(confinement.temp.resolve()))
        # macOS itself removes loader variables from sandbox-exec; the others have no effect on it.
        profile = profile_for(confinement, self.guards)
        return replace(command, argv=(PROGRAM, "-p", profile, *command.argv), environ=inner | outer)


def profile_for(confinement: ConfinementSpec, guards: Guards) -> str:
    temp = confinement.temp.resolve()
    protected = protection_in(confinement, guards).paths
    shown = confinement.shown
    homes = homes_in(confinement, guards)
    hidden = (*guards.hidden, *homes.hidden)
    rules = [
        _ALWAYS,
        _rule("deny", "file-read* file-write*", homes.emptied),
        # The homes themselves, and the folders above visible paths. Without them, no path in them is found.
        _rule("allow", "file-read-metadata", [*homes.emptied, *_above(homes.shown, homes.emptied)], "literal"),
        _rule("allow", "file-read-metadata", [path for path, _ in homes.links], "literal"),
        _rule("allow", "file-read*", homes.shown),
        _rule("deny", "file-read* file-write*", [path for path in hidden if path not in (*shown, *homes.shown)]),
        _rule("allow", "file-read*", shown),
        _rule("allow", "file-read* file-write*", [temp, *confinement.roots]),
        _rule("deny", "file-read* file-write*", [path for path in hidden if _is_inside(path, shown)]),
        _rule("deny", "file-write*", protected),
        _rule("deny", "file-write-unlink", folders_above((*protected, *guards.hidden), confinement.roots), "literal"),
        "(deny file-write-setugid)\n",  # a set-user-ID program in the workspace would run as the user for others
        "(deny network*)\n",
    ]
    return "".join(rules)


def _above(paths: Iterable[Path], homes: tuple[Path, ...]) -> list[Path]:
    return list(dict.fromkeys(above for path in paths for above in path.parents if _is_inside(above, homes)))


def _is_inside(path: Path, folders: Iterable[Path]) -> bool:
    return any(folder in path.parents for folder in folders)


def _rule(verdict: str, operations: str, paths: Iterable[Path], reach: str = "subpath") -> str:
    filters = [f"  ({reach} {_quoted(path)})\n" for path in paths]
    return f"({verdict} {operations}\n{''.join(filters)})\n" if filters else ""


def _quoted(path: Path) -> str:
    text = str(path)
    if any(ord(sign) < 32 for sign in text):
        raise SandboxError(f"The sandbox cannot name this folder: {text!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
