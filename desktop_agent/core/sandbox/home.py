"""The home folders as a command sees them: empty except for the paths that commands usually need.

A list of secret places is never complete, so `path_lists` has the visible ones. The model never chooses them.
"""

import os
import re
import stat
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.base.package import PACKAGE_FOLDER
from desktop_agent.core.base.secrets import HIDDEN, mask
from desktop_agent.core.sandbox.confinement import ConfinementSpec, Folders, is_within
from desktop_agent.core.sandbox.path_lists import IF_WITHOUT_CREDENTIALS, TOOLS, TOOLS_ELSEWHERE, TOOLS_NAMED_BY

TEMP = Path("/tmp")  # noqa: S108 - the sandbox shows another one
_ALL_HOMES = (Path("/home"), Path("/Users"))
_NO_HOMES = frozenset(
    Path(name)
    for name in (
        "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/media", "/mnt", "/nonexistent", "/opt", "/proc",
        "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/var/empty", "/var/tmp",  # noqa: S108
        "/Users", "/System", "/Library", "/Applications",
    )
)  # fmt: skip
"""Folders that some entries of the user list name as a home, but that do not count, as nothing runs without them."""
_FIRST_USER, _NOBODY = 1000, 65534

_MOST_LINKS = 40
_MOST_BYTES = 256 * 1024
_CREDENTIAL = re.compile(
    r"(?:extraheader|password|passwd|passphrase|_auth\w*|secret\w*|token|api_?key|credentials?)[\"']?\s*[=:]\s*[\"']?[^\s\"'!]"
    r"|://[^\s/@\"']{20,}@",
    re.IGNORECASE,
)


def home_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    homes = [environ["HOME"]] if environ.get("HOME", "").startswith("/") else []
    if os.name == "posix":
        import pwd

        with suppress(KeyError):  # a user without an entry, as in containers
            homes.append(pwd.getpwuid(os.getuid()).pw_dir)
        homes.append("/var/root" if sys.platform == "darwin" else "/root")
    named = (Path(os.path.normpath(home)) for home in dict.fromkeys(homes))
    return tuple(home for home in named if home not in _NO_HOMES)


class Homes(Struct, frozen=True):
    own: tuple[Path, ...] = ()
    """The user's homes under their usual names, which may contain links."""
    folders: tuple[Path, ...] = ()
    """All folders that a command finds empty: `own`, and the homes of other users with their parents; resolved."""
    needed: tuple[Path, ...] = ()
    """Paths that a command can see in these folders. They may contain links, and need not exist."""
    search: tuple[Path, ...] = ()
    settings: tuple[Path, ...] = ()
    """Tool settings that are visible only while they hold no credentials."""

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Homes":
        own = home_folders(environ)
        resolved = [path.resolve() for path in (*own, *_ALL_HOMES, *_homes_of_others()) if os.path.isdir(path)]  # noqa: PTH112
        named = [Path(text) for name in TOOLS_NAMED_BY for text in environ.get(name, "").split(os.pathsep)]
        interpreter = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.executable)
        package = PACKAGE_FOLDER
        needed = [path for home in own for name in TOOLS for path in in_home(home, name, environ)]
        needed += [
            *map(Path, (*TOOLS_ELSEWHERE, *interpreter)),
            package,
            *(path for path in named if path.is_absolute()),
        ]
        search = [Path(text) for text in environ.get("PATH", os.defpath).split(os.pathsep)]
        return cls(
            own=own,
            folders=tuple(dict.fromkeys(path for path in resolved if path in _ALL_HOMES or path not in _NO_HOMES)),
            needed=tuple(dict.fromkeys(needed)),
            search=tuple(dict.fromkeys(path for path in search if path.is_absolute())),
            settings=tuple(
                path for home in own for name in IF_WITHOUT_CREDENTIALS for path in in_home(home, name, environ)
            ),
        )


class HomeView(Struct, frozen=True):
    emptied: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    links: tuple[tuple[Path, str], ...] = ()
    """Symbolic links to visible paths, with their targets. Only these paths are not resolved."""
    hidden: tuple[Path, ...] = ()
    """Exceptions to `shown`: tool settings that seem to hold credentials, and secrets next to programs in `/tmp`."""
    other_names: tuple[tuple[Path, Path], ...] = ()
    """Further paths in the sandbox's own `/tmp`, which reach visible paths through links; each with its real path."""

    def names_of(self, path: Path) -> Iterator[Path]:
        yield from (name / path.relative_to(real) for name, real in self.other_names if is_within(path, (real,)))


def in_home(home: Path, name: str, environ: Mapping[str, str]) -> Iterator[Path]:
    yield home / name
    for variable, usual in _MOVED:
        if name.startswith(usual) and environ.get(variable, "").startswith("/"):
            yield Path(environ[variable]) / name.removeprefix(usual)


_MOVED = (
    ("XDG_CONFIG_HOME", ".config/"),
    ("XDG_CACHE_HOME", ".cache/"),
    ("XDG_DATA_HOME", ".local/share/"),
    ("XDG_STATE_HOME", ".local/state/"),
)


def view_of_homes(homes: Homes, confinement: ConfinementSpec, hidden: Iterable[Path]) -> HomeView:
    """Return the visible parts of the homes. A home is not emptied if the command may use all of it. Blocks."""
    opened = Folders.of((*confinement.shown, *confinement.roots))
    emptied = tuple(path for path in homes.folders if not opened.hold(path))
    harmful = tuple(path.resolve() for path in homes.settings if _seems_to_hold_credentials(path))
    builder = _ViewBuilder(Folders.of((*emptied, TEMP)), Folders.of((*hidden, *harmful)), opened)
    for path in homes.own:
        builder.follow(path)
    for path in dict.fromkeys((*homes.needed, *_programs(homes, confinement))):
        builder.show(path)
    for path in confinement.visible:
        builder.show(path, is_chosen=True)
    shown = Folders.of(map(Path, builder.shown))
    links = tuple((Path(path), target) for path, target in builder.links.items() if not shown.hold(path))
    outermost = builder.outermost()
    secrets = confinement.secrets_in(path for path in outermost if TEMP in path.parents)
    return HomeView(emptied, outermost, links, (*harmful, *secrets), builder.other_names())


def hidden_part(path: Path, homes: Homes, view: HomeView, opened: Iterable[Path]) -> str:
    """Return the outermost part of a home that hides `path`, such as `~/.foo`; empty if nothing hides it. Blocks."""
    path = Path(os.path.normpath(path))
    for home in (*homes.own, *view.emptied, TEMP):
        if path == home or not is_within(path, (home,)) or not os.path.lexists(path):
            continue
        if is_within(path, opened) or is_within(path.resolve(), (*view.shown, *opened)):
            return ""
        parts = path.relative_to(home).parts
        depth = next((count for count in (2, 1) if "/".join(parts[:count]) in SHARED and count < len(parts)), 0)
        named = home.joinpath(*parts[: depth + 1])
        is_own = home in homes.own or home in (own.resolve() for own in homes.own)
        return f"~/{named.relative_to(home)}" if is_own else str(named)
    return ""


class _ViewBuilder(Struct):
    closed: Folders
    hidden: Folders
    opened: Folders
    shown: dict[str, None] = field(default_factory=dict[str, None])
    links: dict[str, str] = field(default_factory=dict[str, str])
    names: dict[str, str] = field(default_factory=dict[str, str])
    _targets: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def show(self, path: Path, *, is_chosen: bool = False) -> None:
        """Show a path in a home. Usual places of secrets need `is_chosen`, which means that the user named the path."""
        real = self.follow(path)
        if real is None or not self.closed.hold(real) or self.opened.hold(real):
            return
        if self.closed.within(real).prefixes:
            return  # this would show the whole home
        if is_chosen or not self.hidden.hold(real):
            self.shown[real] = None
            named = os.path.normpath(path)
            if named != real and named.startswith(f"{TEMP}/") and not self.opened.hold(named):
                self.names[named] = real

    def follow(self, path: Path) -> str | None:
        here, rest, met = "", str(path).split("/")[::-1], 0
        while rest:
            name = rest.pop()
            if name in ("", "."):
                continue
            if name == "..":
                here = here.rpartition("/")[0]
                continue
            here = f"{here}/{name}"
            target = self._target(here)
            if target is None:
                return None
            if not target:
                continue
            met += 1
            if met > _MOST_LINKS:
                return None
            if self.closed.hold(here) and not self.opened.hold(here) and not here.startswith(f"{TEMP}/"):
                self.links[here] = target
            here = "" if target.startswith("/") else here.rpartition("/")[0]
            rest += target.split("/")[::-1]
        return here or "/"

    def _target(self, path: str) -> str | None:
        if path not in self._targets:
            try:
                is_link = stat.S_ISLNK(os.lstat(path).st_mode)
                self._targets[path] = os.readlink(path) if is_link else ""  # noqa: PTH115 - many, and as text
            except OSError:
                self._targets[path] = None
        return self._targets[path]

    def outermost(self) -> tuple[Path, ...]:
        return tuple(Path(path) for path in self.shown if not self._is_in_another(path))

    def other_names(self) -> tuple[tuple[Path, Path], ...]:
        shown = Folders.of(map(Path, self.shown))
        return tuple((Path(name), Path(real)) for name, real in self.names.items() if not shown.hold(name))

    def _is_in_another(self, path: str) -> bool:
        around = [prefix for prefix in self.hidden.prefixes if f"{path}/".startswith(prefix)]
        folder = path
        while folder := folder.rpartition("/")[0]:
            if folder in self.shown and not any(prefix.startswith(f"{folder}/") for prefix in around):
                return True
        return False


def _programs(homes: Homes, confinement: ConfinementSpec) -> Iterator[Path]:
    """Yield the installations of the programs on `PATH` and the command line. Blocks.

    The model writes the command line, so its programs only make places in `/tmp` visible. Links in writable folders are
    ignored, because a command could have created them.
    """
    people = (*homes.own, *homes.folders)
    shared = {*people, *(home / name for home in people for name in SHARED), *_NO_HOMES}
    closed, temp = Folders.of((*homes.folders, TEMP)), Folders.of((TEMP,))
    lookup = _InstallLookup(Folders.of((*confinement.roots, confinement.temp)))
    for folder in (*homes.search, *confinement.search):
        lookup.installed[folder] = None
        lookup.follow_links_in(folder, closed, None)
    for program in confinement.programs:
        for place in lookup.places_of(str(program)):
            if temp.hold(os.path.realpath(place)) and _is_program(place):
                lookup.take(place)
                lookup.follow_links_in(Path(place).parent, temp, temp)
    yield from lookup.alone
    for folder in lookup.installed:
        yield _prefix_of(folder, shared)


def _homes_of_others() -> Iterator[Path]:
    with suppress(OSError):
        for line in Path("/etc/passwd").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            fields = line.split(":")
            is_user_account = len(fields) > 5 and fields[2].isdecimal() and _FIRST_USER <= int(fields[2]) < _NOBODY
            if is_user_account and fields[5].startswith("/") and Path(os.path.normpath(fields[5])) not in _NO_HOMES:
                yield Path(os.path.normpath(fields[5]))


def _seems_to_hold_credentials(path: Path) -> bool:
    try:
        if path.is_dir():
            return any(_seems_to_hold_credentials(file) for file in path.iterdir() if file.is_file())
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    text = content.decode(errors="replace")
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("#", ";", "//")))
    return len(content) > _MOST_BYTES or _CREDENTIAL.search(lines) is not None or HIDDEN in mask(lines)


SHARED = frozenset({".local", ".config", ".cache", ".local/share", ".local/state", ".var", "Library", "Documents"})
"""Folders in a home that many applications share, so that a `bin` in one of them says nothing about its neighbours."""

_PROGRAMS = frozenset({"bin", "sbin", "shims", "Scripts"})
_SIGNS_OF_A_PREFIX = ("lib", "lib64", "libexec", "pyvenv.cfg", "VERSION", "packages")
_MOST_PROGRAMS = 2000
_MOST_PROGRAM_LINKS = 10
_MOST_STEPS = 20
_LONGEST_SCRIPT = 64 * 1024
_SHELLS = frozenset({b"sh", b"bash", b"dash", b"ash", b"ksh", b"zsh"})
_QUOTED_PATH, _BARE_PATH = rb"[\"'](/[^\"'$`\n]+)[\"']", rb"(?<![\w./$}\"'-])(/[^\s\"'$`;|&<>()\\]+)"


def launching(program: Path, writable: Folders) -> tuple[Path, ...]:
    """Return `program`, and the links, interpreters and scripts' paths that it starts through, nearest first. Blocks.

    Links and scripts in a `writable` folder are not followed, because a command may have written them.
    """
    found: dict[Path, None] = {}
    waiting = [program]
    while waiting and len(found) < _MOST_STEPS:
        for place in _InstallLookup(writable).places_of(str(waiting.pop(0))):
            if Path(place) not in found and _is_program(place):
                found[Path(place)] = None
                waiting += named_in(place)
    return tuple(found)


def named_in(script: str) -> Iterator[Path]:
    with suppress(OSError, ValueError):
        if not stat.S_ISREG(os.stat(script).st_mode):  # noqa: PTH116 - opening a pipe would block
            return
        with open(script, "rb") as file:  # noqa: PTH123 - `Path` raises for a folder that is closed to us
            text = file.read(_LONGEST_SCRIPT)
        first, _, lines = text.partition(b"\n")
        if not first.startswith(b"#!") or b"\0" in text:
            return
        words = first[2:].split()
        is_of_a_shell = any(word.rpartition(b"/")[2] in _SHELLS for word in words)  # also `/usr/bin/env -S bash`
        named = [words[0]] if words else []
        if is_of_a_shell:
            named += re.findall(_QUOTED_PATH, lines) + re.findall(_BARE_PATH, lines)
        yield from (Path(os.fsdecode(name)) for name in dict.fromkeys(named) if name.startswith(b"/"))


class _InstallLookup(Struct):
    writable: Folders
    installed: dict[Path, None] = field(default_factory=dict[Path, None])
    alone: dict[Path, None] = field(default_factory=dict[Path, None])
    _real: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, place: str) -> None:
        folder = os.path.dirname(place)  # noqa: PTH120 - see above
        if os.path.basename(folder) in _PROGRAMS:  # noqa: PTH119 - see above
            self.installed[Path(folder)] = None
        else:
            self.alone[Path(place)] = None

    def follow_links_in(self, folder: Path, within: Folders, to: Folders | None) -> None:
        """Take the targets of links in `folder`, if it is `within` these and read-only. `to` limits the targets."""
        real = os.path.realpath(folder)
        if not within.hold(real) or self.writable.hold(real):
            return
        with suppress(OSError), os.scandir(real) as entries:
            for _, entry in zip(range(_MOST_PROGRAMS), entries, strict=False):
                for place in self.places_of(entry.path) if entry.is_symlink() else ():
                    if to is None or to.hold(os.path.realpath(place)):
                        self.take(place)

    def places_of(self, program: str) -> Iterator[str]:
        """Yield the path, the target of each link that follows, and the last target resolved."""
        for _ in range(_MOST_PROGRAM_LINKS):
            if self._is_writable(program):
                return
            yield program
            try:
                target = os.readlink(program)  # noqa: PTH115 - see above
            except OSError:
                break
            program = os.path.normpath(os.path.join(os.path.dirname(program), target))  # noqa: PTH118, PTH120 - see above
        yield os.path.realpath(program)

    def _is_writable(self, path: str) -> bool:
        folder = os.path.dirname(path)  # noqa: PTH120 - see above
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        return self.writable.hold(path) or self.writable.hold(self._real[folder])


def _is_program(path: str) -> bool:
    if not os.path.isfile(path):  # noqa: PTH113 - `Path` does not forgive a folder that is closed to us
        return False
    folder, name = os.path.split(path)
    is_environment = name == "activate" and os.path.exists(os.path.join(os.path.dirname(folder), "pyvenv.cfg"))  # noqa: PTH110, PTH118, PTH120
    return is_environment or os.access(path, os.X_OK)


def _prefix_of(folder: Path, shared: Container[Path]) -> Path:
    prefix = folder.parent
    if folder.name not in _PROGRAMS or prefix in shared:
        return folder
    # `Path.exists` could raise `PermissionError` for a closed folder.
    return prefix if any(os.path.exists(prefix / name) for name in _SIGNS_OF_A_PREFIX) else folder  # noqa: PTH110
