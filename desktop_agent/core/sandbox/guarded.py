"""What no command may touch, whatever folder is open: secrets are hidden, what steers us and git is read-only."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import desktop_agent
from desktop_agent.core.errors import SandboxError
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.sandbox.base import Confinement, is_within

OWN_FOLDER = ".desktop-agent"
"""A project's settings and rules for this application."""

_SECRETS = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/containers/auth.json",
    ".docker/config.json",
    ".docker/run",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".config/git/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".terraform.d/credentials.tfrc.json",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".password-store",
    ".Xauthority",
    ".ICEauthority",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".var/app",
    "snap/firefox",
    "snap/chromium",
    "Library/Keychains",
    "Library/Cookies",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
)
_STARTED_BY_ITSELF = (
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".config/fish",
    ".gitconfig",
    ".config/git",
    ".config/autostart",
    ".config/systemd",
    ".config/environment.d",
    ".local/bin",
    "bin",
)
_NESTED_DEPTH = 2
_NESTED_LIMIT = 2000
_GIT_KEPT = ("config", "config.worktree", "hooks", "info", "modules", "worktrees", "commondir", "gitdir")
"""What of a repository even a commit must not write: from here git takes programs to run, or another place to look."""


@dataclass(frozen=True, slots=True)
class Guards:
    """Where secrets and our own files are, for one person on one machine. The paths need not exist."""

    hidden: tuple[Path, ...]
    read_only: tuple[Path, ...]
    own: tuple[Path, ...] = ()
    """The application's folders. While one is missing it must not be made either: it would be full of forged rules."""

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Guards":
        """Return them for the person whose environment this is: the application's own, never a command's. Blocks."""
        homes = _homes(environ)
        app = AppPaths.from_environment(environ)
        hidden = [home / name for home in homes for name in _SECRETS]
        kept = [home / name for home in homes for name in _STARTED_BY_ITSELF]
        settings = app.settings_file(environ)  # it may lie in the workspace
        own = [app.config, app.cache, settings, Path(desktop_agent.__file__).parent, Path(sys.prefix)]
        folders = _resolved([app.config, app.data, app.cache, app.logs])
        return cls(_resolved([*hidden, app.data, app.logs]), _resolved([*kept, *own]), folders)


@dataclass(frozen=True, slots=True)
class Protection:
    """What stays read-only inside the folders that one command may write."""

    existing: tuple[Path, ...]
    missing_folders: tuple[Path, ...]
    """Must not be made either: whoever makes a `.git` chooses what runs when somebody asks for its status."""
    missing_files: tuple[Path, ...]
    """Must not be there afterwards: a commit cannot run where an empty file stands for them."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """What must not be written, whether it is there or not; files that are missing are not among it."""
        return (*self.existing, *self.missing_folders)


def protection_in(confinement: Confinement, guards: Guards) -> Protection:
    """Look at the writable folders of `confinement`. Blocks.

    Raises `SandboxError` where a symbolic link stands for what must be protected: it could be replaced.
    """
    roots = confinement.roots
    existing: dict[Path, None] = dict.fromkeys(
        path for path in guards.read_only if is_within(path, roots) and path not in roots and path.exists()
    )
    folders: dict[Path, None] = dict.fromkeys(
        _highest_missing(path) for path in guards.own if is_within(path, roots) and not path.exists()
    )
    files: dict[Path, None] = {}
    for path in guards.hidden:
        if path.name == ".ssh" and path.parent in roots and not path.exists():
            folders[path] = None  # the home is the workspace: nobody may leave a key there to come back with
    for root in roots:
        own = root / OWN_FOLDER
        _require_no_link(own)
        (existing if own.exists() else folders)[own] = None
        dot_git = root / ".git"
        if not os.path.lexists(dot_git):
            folders[dot_git] = None
    for dot_git in _dot_gits(roots):
        _require_no_link(dot_git)
        if not confinement.is_git_writable:
            existing[dot_git] = None
            continue
        kept = [folder / name for folder in _git_folders(dot_git) for name in _GIT_KEPT]
        existing |= dict.fromkeys(path for path in kept if path.exists())
        folders |= dict.fromkeys(path for path in kept if path.name in ("hooks", "info") and not path.exists())
        files |= dict.fromkeys(path for path in kept if path.name == "commondir" and not path.exists())
        if dot_git.is_file():
            existing[dot_git] = None
    return Protection(tuple(existing), tuple(folders), tuple(files))


def folders_above(paths: Iterable[Path], roots: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders of `roots`, highest first, that must keep their names while `paths` in them are protected.

    Otherwise somebody moves the folder away, with what is protected in it, and makes another one in its place.
    """
    above = {parent for path in paths for parent in path.parents if any(root in parent.parents for root in roots)}
    return tuple(sorted(above, key=lambda path: len(path.parts)))


def git_folders_in(confinement: Confinement) -> tuple[Path, ...]:
    """Return the folders outside the workspace that a commit in it writes (a worktree's), if it may. Blocks."""
    if not confinement.is_git_writable:
        return ()
    dot_gits = [root / ".git" for root in confinement.roots if (root / ".git").is_file()]
    return tuple(dict.fromkeys(folder for dot_git in dot_gits for folder in _git_folders(dot_git)))


def _git_folders(dot_git: Path) -> tuple[Path, ...]:
    """Return where a repository's files are: its folder, and for a worktree the one it shares, too."""
    if dot_git.is_dir():
        return (dot_git,)
    try:
        named = dot_git.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("gitdir:").strip()
        folder = (dot_git.parent / named).resolve()
        # A forged .git file must not open folders that are no worktree of a repository.
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


def _highest_missing(path: Path) -> Path:
    return next((parent for parent in reversed(path.parents) if not parent.exists()), path)


def _require_no_link(path: Path) -> None:
    try:
        is_link = stat.S_ISLNK(path.lstat().st_mode)
    except OSError:
        return
    if is_link:
        raise SandboxError(
            f"{path} is a symbolic link, which a sandbox cannot protect.",
            hint="Run the command outside the sandbox, or replace the link by what it points to.",
        )


def _homes(environ: Mapping[str, str]) -> list[Path]:
    homes = [environ["HOME"]] if environ.get("HOME", "").startswith("/") else []
    if os.name == "posix":
        import pwd

        with suppress(KeyError):  # a user without an entry, as in containers
            homes.append(pwd.getpwuid(os.getuid()).pw_dir)
        homes.append("/var/root" if sys.platform == "darwin" else "/root")
    return [Path(home) for home in dict.fromkeys(homes) if home != "/"]


def _resolved(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path.resolve() for path in paths))
