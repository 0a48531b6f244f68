"""The paths that no command may touch: secrets are hidden; git's files and our settings are read-only."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import SandboxError
from desktop_agent.core.base.package import PACKAGE_FOLDER
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.sandbox.confinement import ConfinementSpec, is_within
from desktop_agent.core.sandbox.home import Homes, HomeView, hidden_part, home_folders, in_home, view_of_homes
from desktop_agent.core.sandbox.path_lists import (
    HOST_KEYS,
    SECRETS_BESIDE_TOOLS,
    SECRETS_IN_HOME,
    SECRETS_NAMED_BY,
    STARTED_BY_ITSELF,
    SYSTEM_SECRETS,
)

OWN_FOLDER = ".desktop-agent"

_NESTED_DEPTH = 2
_NESTED_LIMIT = 2000
_SUBMODULE_PATH = re.compile(r"^\s*path\s*=(.*)$", re.MULTILINE)
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
        # A forged `.git` file must not open folders that are no worktree of a repository.
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
    return tuple(dict.fromkeys(path.resolve() for path in paths))
