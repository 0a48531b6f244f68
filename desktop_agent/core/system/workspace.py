"""The folder of a session and its contents. An unreadable entry never raises. Everything here blocks."""

import ctypes
import heapq
import os
import re
import stat
import struct
import sys
import weakref
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Final, Literal, NamedTuple

from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.base.file_names import parents_of
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.model import FolderIdentity
from desktop_agent.core.system.git.repository import FileState, FileStatus

FolderMark = Literal["conflicted", "modified", "added"]
"""How a folder is marked because of the files below it. The strongest mark is named first."""

MAX_LISTED_FILES: Final = 200_000

_NEVER_SHOWN: Final = frozenset({".git", ".hg", ".svn", ".DS_Store"})

_COVER: Final = ".desktop-agent"

_SORTED_AT_ONCE: Final = 2_048

_AT_FDCWD: Final = -100
_AT_SYMLINK_NOFOLLOW: Final = 0x100
_STATX_BTIME: Final = 0x800
_STATX_BYTES: Final = 256
"""The size of `struct statx` in `linux/stat.h`, which says when a file was created."""


class FolderListing(NamedTuple):
    """The entries of a folder, in natural order. `problem` says why reading failed, if it did.

    There may be 100,000 names. They are plain strings, which the garbage collector ignores.
    """

    folders: list[str]
    files: list[str]
    links: frozenset[str] = frozenset()
    problem: str = ""


def check_workspace(path: Path) -> None:
    try:
        with os.scandir(path):
            return
    except FileNotFoundError as error:
        raise WorkspaceError(f"The folder {path} does not exist.", hint="Choose another folder.") from error
    except NotADirectoryError as error:
        raise WorkspaceError(f"{path} is a file, not a folder.", hint="Choose the folder it is in.") from error
    except PermissionError as error:
        raise WorkspaceError(
            f"The folder {path} cannot be read.", hint="Change its permissions, or choose another folder."
        ) from error
    except OSError as error:
        raise WorkspaceError(
            f"The folder {path} cannot be read.", hint="Choose another folder.", detail=str(error)
        ) from error


NamedBy = Literal["user", "client", "file"]
"""Who named a folder: the user in person, a program for them, or a file that anybody may have written."""

_SYSTEM: Final = frozenset(
    f"/{name}"
    for name in (
        *("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr", "var"),
        *("applications", "library", "system", "private/etc", "private/var", "windows", "program files"),
        *("program files (x86)", "programdata"),
    )
)
_OPEN_TO_ALL: Final = ("/var/tmp", "/var/folders", "/private/var/folders", "/var/www")  # noqa: S108  # only compared
_FOR_THE_USER: Final = ("/usr/src", "/usr/local/src", "/run/media", "/dev/shm")  # noqa: S108
_SHARED: Final = frozenset({"/home", "/media", "/mnt", "/opt", "/private", "/srv", "/tmp", "/users", "/volumes"})  # noqa: S108
_FOR_NOBODY: Final = frozenset({"/home", "/private", "/tmp", "/users", *_OPEN_TO_ALL, *_FOR_THE_USER})  # noqa: S108
_HOMES: Final = ("/home", "/users")

_OF_VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn", ".bzr", ".jj"})
_STARTED: Final = (
    "bin", ".bin", ".local/bin", ".cargo/bin", "go/bin", ".npm-global/bin", ".pyenv/shims", "snap", ".var/app",
    ".config/autostart", ".config/autostart-scripts", ".config/plasma-workspace", ".config/systemd",
    ".config/environment.d", ".config/fish", ".config/git", ".config/pip", ".local/share/systemd",
    ".local/share/applications", ".local/share/dbus-1", ".local/share/gnome-shell", ".local/share/nautilus",
    ".local/share/kio", ".local/share/kservices5", ".local/share/flatpak", ".local/lib", ".nautilus", ".gnome2",
    ".profile.d", ".bashrc.d", ".zshrc.d", ".init.d", ".xinitrc.d", ".bash_completion.d",
    ".kde/autostart", ".kde4/autostart", ".vscode/extensions", ".vscode-server", ".nvm/versions", ".pyenv/versions",
    ".rustup",
    "appdata", "start menu",
)  # fmt: skip
"""Places in a home folder with programs, or with files that a desktop or a shell runs automatically."""
_TEMPORARY: Final = "appdata/local/temp/"
"""Folders in it can be workspaces, as in `/tmp`."""
_SECRET: Final = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".password-store", ".pki", ".mozilla",
    ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/gh", ".config/gcloud", ".config/op",
    ".config/1password", ".config/bitwarden", ".local/share/keyrings", ".local/share/kwalletd",
)  # fmt: skip
_OF_ALL_PROGRAMS: Final = frozenset({".config", ".local", ".local/share", ".local/state", ".cache", ".var", ".cargo"})
"""Settings and data of all programs. The folder of a single program can be a project, such as an editor's settings."""
_FILES_IN_LIBRARY: Final = ("library/mobile documents", "library/cloudstorage", "library/developer")
_PROGRAMS_IN_LIBRARY: Final = tuple(
    f"library/{name}"
    for name in (
        *("launchagents", "launchdaemons", "preferences", "preferencepanes", "application support", "keychains"),
        *("application scripts", "services", "scripts", "startupitems", "containers", "group containers", "automator"),
        *("internet plug-ins", "input methods", "quicklook", "spotlight", "screen savers", "workflows", "cookies"),
    )
)


def why_no_workspace(folder: Path, named_by: NamedBy = "user") -> str:
    """Return why the resolved `folder` cannot be a workspace; empty if it can. Blocks.

    A workspace must not hold files that other programs run automatically, or that belong to others.
    """
    names = folder.parts[1:]
    place = _as_place(folder)
    if not names:
        return "is a whole file system"
    plain = [name.casefold().rstrip(". ") for name in names]
    if found := next((name for name in plain if name in _OF_VERSION_CONTROL), ""):
        return f"is in {found}, where version control keeps what it runs"
    if _COVER in plain:
        return "is where a project keeps settings of this application"
    git_names = ("HEAD", "objects", "refs")
    if any(all(os.path.exists(at / name) for name in git_names) for at in (folder, *folder.parents)):  # noqa: PTH110 - forgives more
        return "is git's own folder of a repository, with programs that git runs"
    paths = AppPaths.from_environment()
    if _holds((paths.config, paths.sessions, paths.blobs, paths.logs), folder):
        return "is where this application keeps its own files"
    if _holds((paths.data, paths.cache), folder) and folder not in (paths.data.resolve(), paths.cache.resolve()):
        return ""  # made by us as workspaces: a demo, a copy
    home = _home()
    if home is not None and (home == folder or home.is_relative_to(folder)):
        whole = "is the home folder" if folder == home else "contains the home folder"
        return "" if folder == home and named_by == "user" else whole
    for one in (home, *_homes_above(folder)):
        if one is not None and (why := _why_not_in_home(folder, one, is_own=one == home, named_by=named_by)):
            return why
    if home is not None and folder.is_relative_to(home):
        return ""
    return _why_not_on_disk(place, named_by)


def _why_not_in_home(folder: Path, home: Path, *, is_own: bool, named_by: NamedBy) -> str:
    if not folder.is_relative_to(home):
        return ""
    inside = folder.relative_to(home).as_posix().casefold()
    if not is_own and (inside == "." or named_by == "file"):
        return "is the home folder of another user" if inside == "." else "is in the home folder of another user"
    if _is_below(inside, _SECRET):
        return "is where programs keep keys and passwords"
    is_in_library = sys.platform == "darwin" and _is_below(inside, ("library",))
    is_in_library = is_in_library and not _is_below(inside, _FILES_IN_LIBRARY)
    is_started = _is_below(inside, (*_STARTED, *_PROGRAMS_IN_LIBRARY)) and not inside.startswith(_TEMPORARY)
    if is_in_library or is_started:
        return "holds programs of yours, or what starts by itself"
    if inside in _OF_ALL_PROGRAMS:
        return "holds settings and data of all programs"
    if named_by == "file" and inside.startswith("."):
        return "is a hidden folder of the home, where programs keep settings and keys"
    return ""


def _why_not_on_disk(place: str, named_by: NamedBy) -> str:
    places = {place[:end] for end in range(1, len(place) + 1) if end == len(place) or place[end] == "/"}
    allowed = _OPEN_TO_ALL if named_by == "file" else (*_OPEN_TO_ALL, *_FOR_THE_USER)
    if places & _SYSTEM and place not in _FOR_NOBODY and not places.intersection(allowed):
        return "belongs to the system"
    is_shared = place in _FOR_NOBODY or (named_by == "file" and place in _SHARED)
    return "is shared by many programs or users" if is_shared else ""


def _is_below(inside: str, places: Iterable[str]) -> bool:
    return any(inside == place or inside.startswith(f"{place}/") for place in places)


def _home() -> Path | None:
    try:
        home = Path.home().resolve()
    except (OSError, RuntimeError):  # a user without a home
        return None
    return home if len(home.parts) > 1 else None


def _homes_above(folder: Path) -> Iterator[Path]:
    for one in (folder, *folder.parents):
        if str(one).casefold() in ("/root", "/var/root") or _as_place(one.parent) in _HOMES:
            yield one


def _as_place(path: Path) -> str:
    return "/" + "/".join(path.parts[1:]).casefold()


def _holds(folders: Iterable[Path], path: Path) -> bool:
    return any(path.is_relative_to(folder.resolve()) for folder in folders)


def identity_of(folder: Path) -> FolderIdentity | None:
    """Return the folder's identity; None if there is no folder at this path. Blocks."""
    try:
        status = folder.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        return None
    return FolderIdentity(device=status.st_dev, inode=status.st_ino, born_ns=_born_ns(folder, status))


def _born_ns(folder: Path, status: os.stat_result) -> int | None:
    if sys.platform == "linux":
        return _born_ns_on_linux(os.fsencode(folder))
    if os.name == "nt":
        return getattr(status, "st_birthtime_ns", status.st_ctime_ns)
    seconds = getattr(status, "st_birthtime", None)
    return None if seconds is None else round(seconds * 1e9)


def _born_ns_on_linux(path: bytes) -> int | None:
    found = ctypes.create_string_buffer(_STATX_BYTES)
    try:
        statx = ctypes.CDLL(None).statx
    except (AttributeError, OSError):  # a C library from before 2018
        return None
    if statx(_AT_FDCWD, path, _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, found) != 0:
        return None
    (mask,) = struct.unpack_from("=I", found, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", found, 80)
    return seconds * 10**9 + nanoseconds if mask & _STATX_BTIME else None


class HeldWorkspace:
    """The folder of a session, recognised by its identity. It stays open, so that its inode is not reused. Blocks."""

    def __init__(self, root: Path, known: FolderIdentity | None = None, hint_for_lost: str = "") -> None:
        """If `known` is given, the resolved folder `root` must have that identity."""
        self.root = root
        self._hint_for_lost = hint_for_lost
        self._known = known
        self._release: weakref.finalize[[int], HeldWorkspace] | None = None
        self._identity: tuple[int, int] | None = None
        self._has_refused = False
        self._is_judged = False
        if self._is_the_known_one():
            self._hold()

    @property
    def identity(self) -> tuple[int, int] | None:
        """Device and inode; None until the folder was opened for the first time."""
        return self._identity

    def check(self) -> None:
        """Raise `WorkspaceError` unless `root` is a readable folder, and still the folder that was opened."""
        self._has_refused = True  # reset at the end
        try:
            check_workspace(self.root)
        except WorkspaceError as error:
            hint = "Nothing was done. Restore the folder, or start a new conversation in another one."
            if self._hint_for_lost:
                hint = f"Nothing was done. {self._hint_for_lost}"
            elif self.root.is_dir():
                hint = "Nothing was done. Change its permissions, then go on."
            raise WorkspaceError(error.title, hint=hint, detail=error.detail) from error
        if self.root.is_symlink():  # it could lead elsewhere at any moment, so no message accepts it either
            raise WorkspaceError(
                f"A link to {self.root.resolve()} has taken the place of the folder {self.root}.",
                hint="Nothing was done. Restore the folder, or start a new conversation in the folder that the link "
                "points to.",
            )
        if not self._is_the_known_one():
            raise WorkspaceError(
                f"The folder {self.root} is not the one that this conversation worked in, which was moved, removed or "
                "replaced.",
                hint="Nothing was done. Restore the folder. To continue in the one that is there now, send another "
                "message; on the command line, add --accept-folder.",
            )
        if not self._is_judged:  # once: imported and older sessions may name any folder
            require_workspace(self.root)
            self._is_judged = True
        if self._identity is None:
            self._hold()
        try:
            status = self.root.lstat()
        except OSError:
            status = None
        if status is None or (status.st_dev, status.st_ino) != self._identity:
            raise WorkspaceError(
                f"The folder {self.root} was moved away or replaced while this conversation had it open.",
                hint="Nothing was done. Restore the folder, or send another message to continue in the folder that is "
                "there now.",
            )
        self._has_refused = False

    def is_in_place(self) -> bool:
        """Whether `check` passes. A failure here does not count as reported to the user."""
        has_refused = self._has_refused
        try:
            self.check()
        except WorkspaceError:
            return False
        finally:
            self._has_refused = has_refused
        return True

    def accept(self) -> FolderIdentity | None:
        """Accept the folder that is there now, at the user's request. Return its identity if the session had none."""
        if self.root.is_symlink():
            return None
        if self._has_refused:
            self.close()
            self._is_judged = False
            self._identity = self._known = None
            self._hold()
        if self._known is None:
            self._known = identity_of(self.root)
            return self._known
        return None

    def _is_the_known_one(self) -> bool:
        if self._known is None or self._identity is not None:
            return True
        there = identity_of(self.root)
        return there is not None and self._known.is_same(there)

    def close(self) -> None:
        if self._release is not None:
            self._release()

    def _hold(self) -> None:
        flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            if os.name == "nt":  # Windows cannot open a folder; one in use cannot be replaced
                status = os.lstat(self.root)
            else:
                handle = os.open(self.root, getattr(os, "O_PATH", 0) | flags)
                self._release = weakref.finalize(self, os.close, handle)
                status = os.fstat(handle)
        except OSError:
            return  # `check` says why it cannot be used
        self._identity = (status.st_dev, status.st_ino)


def current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise WorkspaceError(
            "The folder this was started in is gone.", hint="Start in another folder, or name one.", detail=str(error)
        ) from error


def usable_workspace(path: Path, named_by: NamedBy = "user") -> Path:
    """Return the real path. Blocks. Raises `WorkspaceError` if the folder cannot be a workspace."""
    root = real_path(path.expanduser())
    check_workspace(root)
    require_workspace(root, named_by)
    return root


def require_workspace(root: Path, named_by: NamedBy = "user") -> None:
    """Raise `WorkspaceError` if the resolved folder `root` cannot be a workspace. Blocks."""
    if why := why_no_workspace(root, named_by):
        raise WorkspaceError(
            f"The folder {root} cannot be a workspace: it {why}.", hint="Open the folder of a project."
        )


def scan_directory(path: Path) -> FolderListing:
    """List a folder. Never raises: the listing of an unreadable folder has a `problem`."""
    folders: list[str] = []
    files: list[str] = []
    links: set[str] = set()
    problem = ""
    try:
        with os.scandir(path) as found:
            for entry in found:
                if entry.name not in _NEVER_SHOWN and not _is_cover(entry):
                    is_folder, is_link = _kind(entry)
                    (folders if is_folder else files).append(natural_key(entry.name))
                    if is_link:
                        links.add(entry.name)
    except OSError as error:
        problem = error.strerror or str(error)
    return FolderListing(_names_in_order(folders), _names_in_order(files), frozenset(links), problem)


def _is_cover(entry: os.DirEntry[str]) -> bool:
    if entry.name != _COVER or not entry.is_dir(follow_symlinks=False):
        return False
    with os.scandir(entry.path) as found:
        return next(found, None) is None


def walk_files(path: Path, limit: int = MAX_LISTED_FILES) -> tuple[list[str], bool]:
    """Return the files breadth first, without following links, and whether the list is complete."""
    found: list[str] = []
    waiting = [""]
    for folder in waiting:
        listing = scan_directory(path / folder)
        found.extend(f"{folder}{name}" for name in listing.files)
        if len(found) > limit:
            return found[:limit], False
        waiting.extend(f"{folder}{name}/" for name in listing.folders if name not in listing.links)
    return found, True


def roll_up(files: Mapping[str, FileStatus]) -> dict[str, FolderMark]:
    marks: dict[str, FolderMark] = {}
    for path, status in files.items():
        mark = _MARK_OF.get(status.state)
        if mark is None:
            continue
        for folder in parents_of(path):
            known = marks.get(folder)
            if known is not None and _STRENGTH[known] >= _STRENGTH[mark]:
                break  # all folders above have at least this mark already
            marks[folder] = mark
    return marks


_MARK_OF: Final[Mapping[FileState, FolderMark]] = {
    "conflicted": "conflicted",
    "modified": "modified",
    "deleted": "modified",
    "renamed": "modified",
    "added": "added",
    "untracked": "added",
}
_STRENGTH: Final[Mapping[FolderMark, int]] = {"added": 1, "modified": 2, "conflicted": 3}


def _kind(entry: os.DirEntry[str]) -> tuple[bool, bool]:
    try:
        return entry.is_dir(), entry.is_symlink()
    except OSError:  # a circular link, or one that must not be followed
        return False, True


_DIGITS: Final = regex(r"\d+")


def natural_key(name: str) -> str:
    """Return a key to sort by: `page2` comes before `page10`; case decides only between otherwise equal names."""
    return f"{_DIGITS.sub(_longer_is_larger, name.casefold())}\0{name}"


def _longer_is_larger(digits: re.Match[str]) -> str:
    number = digits[0].lstrip("0")
    return f"{len(number):03d}{number}"


def _names_in_order(keys: list[str]) -> list[str]:
    # Sorting 100,000 names in one call would hold the interpreter for 100 ms. So small pieces are sorted, and merged.
    pieces = [sorted(keys[start : start + _SORTED_AT_ONCE]) for start in range(0, len(keys), _SORTED_AT_ONCE)]
    return [key.rpartition("\0")[2] for key in heapq.merge(*pieces)]


def entries_below(
    roots: Iterable[Path], *, skipped: Container[str] = (), most: float = inf
) -> Iterator[tuple[Path, str, os.DirEntry[str]]]:
    """Yield every entry below `roots`: the root, the path from there (with `/`), and the entry. Blocks.

    Links are not followed, folders with a `skipped` name are not entered, unreadable entries are skipped. After `most`
    entries, no other folder is opened.
    """
    folders = deque((root, "") for root in roots)
    seen = 0
    while folders and seen < most:
        root, folder = folders.popleft()
        with suppress(OSError), os.scandir(root / folder) as listing:
            for entry in listing:
                seen += 1
                path = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False) and entry.name not in skipped:
                    folders.append((root, f"{path}/"))
                yield root, path, entry
