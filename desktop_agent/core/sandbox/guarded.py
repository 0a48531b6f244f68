"""The paths that no command may touch: secrets are hidden; git's files and our settings are read-only.

Home folders are empty except for the paths that commands usually need: a list of secret places is never complete, so
`path_lists` has the visible ones. The model never chooses them.
"""

import os
import re
import stat
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import SandboxError
from desktop_agent.core.base.package import PACKAGE_FOLDER
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import HIDDEN, mask
from desktop_agent.core.sandbox.confinement import ConfinementSpec, Folders, is_within
from desktop_agent.core.sandbox.path_lists import (
    HOST_KEYS,
    IF_WITHOUT_CREDENTIALS,
    SECRETS_BESIDE_TOOLS,
    SECRETS_IN_HOME,
    SECRETS_NAMED_BY,
    STARTED_BY_ITSELF,
    SYSTEM_SECRETS,
    TOOLS,
    TOOLS_ELSEWHERE,
    TOOLS_NAMED_BY,
)

if sys.platform != "win32":
    import pwd

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
_CREDENTIAL = regex(
    r"(?:extraheader|password|passwd|passphrase|_auth\w*|secret\w*|token|api_?key|credentials?)[\"']?\s*[=:]\s*[\"']?[^\s\"'!]"
    r"|://[^\s/@\"']{20,}@",
    re.IGNORECASE,
)


def home_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    homes = [environ["HOME"]] if environ.get("HOME", "").startswith("/") else []
    if sys.platform != "win32":
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


OWN_FOLDER = ".desktop-agent"

_NESTED_DEPTH = 2
_NESTED_LIMIT = 2000
_SUBMODULE_PATH = regex(r"^\s*path\s*=(.*)$", re.MULTILINE)
_SUBMODULES_READ = 256 * 1024


class Guards(Struct, frozen=True):
    hidden: tuple[Path, ...]
    read_only: tuple[Path, ...]
    own: tuple[Path, ...] = ()
    """The application's folders. A command must not create a missing one, either: it could forge the rules in it."""
    homes: Homes = field(default_factory=Homes)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Guards":
        homes = home_folders(environ)
        app = AppPaths.from_environment(environ)
        hidden = list(_secrets(environ))
        kept = [home / name for home in homes for name in STARTED_BY_ITSELF]
        settings = app.settings_file(environ)  # it may lie in the workspace
        own = [app.config, app.cache, settings, PACKAGE_FOLDER, Path(sys.prefix)]
        folders = _resolved([app.config, app.data, app.cache, app.logs])
        return cls(_resolved([*hidden, app.data, app.logs]), _resolved([*kept, *own]), folders, Homes.of(environ))


def places_of_secrets(environ: Mapping[str, str]) -> tuple[Path, ...]:
    return _resolved(_secrets_in_homes(environ))


class Protection(Struct, frozen=True):
    existing: tuple[Path, ...]
    missing_folders: tuple[Path, ...]
    """Folders that must not be created. Who creates a `.git` controls what runs when the user asks git for a status."""

    @property
    def paths(self) -> tuple[Path, ...]:
        return (*self.existing, *self.missing_folders)


def protection_in(confinement: ConfinementSpec, guards: Guards) -> Protection:
    """Return the paths to protect. Blocks. Raises `SandboxError` for a symbolic link, which a command could replace."""
    roots = confinement.roots
    existing: dict[Path, None] = dict.fromkeys(
        path for path in guards.read_only if is_within(path, roots) and path not in roots and path.exists()
    )
    folders: dict[Path, None] = dict.fromkeys(
        next((parent for parent in reversed(path.parents) if not parent.exists()), path)  # the highest missing one
        for path in guards.own
        if is_within(path, roots) and not path.exists()
    )
    for path in guards.hidden:
        if path.name == ".ssh" and path.parent in roots and not path.exists():
            folders[path] = None  # the home is the workspace: a command must not leave a login key there
    for root in roots:
        own = root / OWN_FOLDER
        _require_no_link(own)
        (existing if own.exists() else folders)[own] = None
        dot_git = root / ".git"
        if not os.path.lexists(dot_git):
            folders[dot_git] = None
    for dot_git in dict.fromkeys((*confinement.repositories, *_dot_gits(roots))):
        if is_within(dot_git, roots) and os.path.lexists(dot_git):
            _require_no_link(dot_git)
            existing[dot_git] = None
    # Git enters the folder of a submodule as soon as the folder has a `.git`.
    of_submodules = (folder / ".git" for folder in _submodules(roots))
    folders |= dict.fromkeys(dot_git for dot_git in of_submodules if not os.path.lexists(dot_git))
    return Protection(tuple(existing), tuple(folders))


def folders_above(paths: Iterable[Path], roots: Iterable[Path]) -> tuple[Path, ...]:
    """The folders, highest first, that a command must not rename: it could create others under their names."""
    above = {parent for path in paths for parent in path.parents if any(root in parent.parents for root in roots)}
    return tuple(sorted(above, key=lambda path: len(path.parts)))


def places_of_stand_ins(roots: Iterable[Path]) -> tuple[Path, ...]:
    roots = tuple(roots)
    fixed = (root / name for root in roots for name in (OWN_FOLDER, ".ssh", ".git"))
    return (*fixed, *(folder / ".git" for folder in _submodules(roots)))


def homes_in(confinement: ConfinementSpec, guards: Guards) -> HomeView:
    repository = tuple(_repository_around(confinement.workspace.resolve()))
    confinement = replace(confinement, visible=(*confinement.visible, *repository))
    return view_of_homes(guards.homes, confinement, guards.hidden)


def hidden_from(confinement: ConfinementSpec, guards: Guards) -> Callable[[Path], str]:
    """Return a function that maps a path to the part of a home that hides it, or to an empty text. Both block."""
    view = homes_in(confinement, guards)
    opened = (*confinement.shown, *confinement.roots, confinement.temp.resolve())

    def is_hidden(path: Path) -> str:
        said = hidden_part(path, guards.homes, view, opened)
        # A link from elsewhere, as in `/usr/local/bin`, may lead into a home.
        return said or hidden_part(path.resolve(), guards.homes, view, opened)

    return is_hidden


def _repository_around(workspace: Path) -> Iterator[Path]:
    for folder in (workspace, *workspace.parents):
        dot_git = folder / ".git"
        if os.path.isdir(dot_git):  # noqa: PTH112 - a folder above may be closed to us, which `Path` does not forgive
            yield folder
            return
        if os.path.isfile(dot_git):  # noqa: PTH113 - the same; a worktree; or a submodule, whose files are in the repository above
            yield folder
            yield from _git_folders(dot_git)


def _git_folders(dot_git: Path) -> tuple[Path, ...]:
    if dot_git.is_dir():
        return (dot_git,)
    try:
        named = dot_git.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("gitdir:").strip()
        folder = (dot_git.parent / named).resolve()
        # A forged `.git` file must not open folders that are not worktrees of a repository.
        if not named or (folder / "gitdir").read_text().strip() != str(dot_git):
            return ()
        common = (folder / (folder / "commondir").read_text().strip()).resolve()
    except (OSError, ValueError):
        return ()
    is_worktree = folder.parent == common / "worktrees" and (common / "objects").is_dir()
    return (folder, common) if is_worktree else ()


def _dot_gits(roots: Iterable[Path]) -> Iterator[Path]:
    for root in roots:
        seen = 0
        level = [root]
        for _ in range(_NESTED_DEPTH + 1):
            below: list[Path] = []
            for folder in level:
                if os.path.lexists(folder / ".git"):
                    yield folder / ".git"
                if seen < _NESTED_LIMIT:
                    children = _subfolders(folder)
                    seen += len(children)
                    below += children
            level = below


def _submodules(roots: Iterable[Path]) -> Iterator[Path]:
    for root in roots:
        with suppress(OSError), (root / ".gitmodules").open(encoding="utf-8", errors="surrogateescape") as file:
            for name in _SUBMODULE_PATH.findall(file.read(_SUBMODULES_READ)):
                folder = root / name.strip().strip('"')
                if folder.resolve() == folder and folder.is_dir():
                    yield folder


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [
                Path(entry.path)
                for entry in entries
                if entry.name not in (".git", "node_modules") and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


def _require_no_link(path: Path) -> None:
    if os.path.islink(path):  # noqa: PTH114 - `Path` does not forgive a folder that is closed to us
        raise SandboxError(
            f"{path} is a symbolic link, which a sandbox cannot protect.",
            hint="Run the command outside the sandbox, or replace the link by what it points to.",
        )


def _secrets_in_homes(environ: Mapping[str, str]) -> Iterator[Path]:
    return (path for home in home_folders(environ) for name in SECRETS_IN_HOME for path in in_home(home, name, environ))


def _secrets(environ: Mapping[str, str]) -> Iterator[Path]:
    yield from _secrets_in_homes(environ)
    yield from map(Path, SYSTEM_SECRETS)
    folder, pattern = HOST_KEYS
    with suppress(OSError):
        yield from Path(folder).glob(pattern)
    named = [text for name in SECRETS_NAMED_BY for text in environ.get(name, "").split(os.pathsep)]
    named += [f"{environ.get(name, '')}/{file}" for name, file in SECRETS_BESIDE_TOOLS if environ.get(name)]
    for text in named:
        path = Path(os.path.normpath(text))
        if path.is_absolute() and len(path.parts) > 2 and not str(path).startswith("/dev/"):
            yield path


def _resolved(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Follow the links in hundreds of paths. Most are beside each other, so each folder is followed once."""
    followed = cache(Path.resolve)

    def real(path: Path) -> Path:
        # `Path.is_symlink` does not forgive a folder that is closed to us.
        is_plain = path.name not in ("", "..") and not os.path.islink(path)  # noqa: PTH114
        return followed(path.parent) / path.name if is_plain else path.resolve()

    return tuple(dict.fromkeys(map(real, paths)))
