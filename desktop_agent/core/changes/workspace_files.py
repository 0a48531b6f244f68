"""The files of a workspace: as they are now, what recorded images of them stand for, and how one is reached safely.

Follows no link to what another path names. A background command in the sandbox may rename what it likes in the
workspace, thousands of times a second: `anchored` reaches a file so that no folder on the way can be exchanged for a
symlink, and `mark_of` tells at the last moment whether it is still the file that was looked at.

A write in place changes a file under all its names (hard links). That is right only where every name is an ordinary
path of the workspace. A name outside, or one that is special (a secret, git's own file), must keep its content; such
a link is broken by the write, as git and most editors do.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.protocol.model import FileChange, FileDiff, FileImage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.file_writes import ChangedError
from desktop_agent.core.system.files import FileState, read_state
from desktop_agent.core.system.workspace import entries_below

MOST_ENTRIES = 200_000
"""How many entries are looked at. Names that are not found by then count as outside."""

IsSpecial = Callable[[str], bool]
"""Whether a path, relative to the workspace, is one that only a write to that very path may change."""


def is_hidden(path: str) -> bool:
    """Whether a part of the path begins with a dot: the strictest reading of `IsSpecial`."""
    return any(part.startswith(".") for part in path.split("/"))


def has_names_elsewhere(root: Path, status: os.stat_result, is_special: IsSpecial = is_hidden) -> bool:
    """Return whether the file of `status` has a name that is not an ordinary path in `root`. Blocks.

    Fails closed: a name that cannot be found, because a folder cannot be read or there are too many, is elsewhere.
    """
    return status.st_nlink > 1 and names_inside(root, status, is_special) is None


def names_inside(root: Path, status: os.stat_result, is_special: IsSpecial = is_hidden) -> tuple[str, ...] | None:
    """Return every name of the file of `status`, or None when one of them is not an ordinary path in `root`. Blocks."""
    found: list[str] = []
    for _, path, entry in entries_below((root,), most=MOST_ENTRIES):
        if entry.inode() == status.st_ino and _is_at(entry, status) and not is_special(path):
            found.append(path)
            if len(found) == status.st_nlink:
                return tuple(found)
    return None


def _is_at(entry: os.DirEntry[str], status: os.stat_result) -> bool:
    """Whether the entry is the file itself: another file system may use the same number."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino)


class WorkspaceFiles:
    """What stands at the paths of one workspace folder. Its methods block."""

    def __init__(self, root: Path, is_special: IsSpecial = is_hidden) -> None:
        """A path that `is_special` is not written under another name of its file."""
        self.root = real_path(root)
        """The workspace folder."""
        self._is_special = is_special

    def current(self, path: str) -> FileState | None:
        """The file, symlink or folder as it is now. Raises `OSError` when it cannot be read.

        Where a symlink has taken the place of a folder on the way, there is nothing: what it leads to has another path.
        """
        if self.link_above(path):
            return None
        return read_state(self.root / path, with_special=True)

    def is_at(self, path: str, image: FileImage | None) -> bool:
        """Whether the file is in this state now. Shows, after a crash, how far a write got."""
        try:
            return image_of(self.current(path)) == image
        except OSError:
            return False

    def is_inside(self, path: str) -> bool:
        """Whether the folder of `path` still lies in the workspace; a program may have put a symlink in its place."""
        return Path(os.path.realpath((self.root / path).parent)).is_relative_to(self.root)

    def link_above(self, path: str) -> str:
        """The outermost folder on the way to `path` that is a symlink; empty without any."""
        return next((folder for folder in folders_above(path) if (self.root / folder).is_symlink()), "")

    def file_above(self, path: str) -> str:
        """What stands where a folder on the way to `path` has to be, and is no folder; empty without such a thing."""
        folders = folders_above(path)
        return next((name for name in folders if os.path.lexists(place := self.root / name) and not place.is_dir()), "")

    def is_empty(self, folder: str, gone: Collection[str] = ()) -> bool:
        """Whether this is a folder with nothing but empty folders in it, those that are `gone` apart."""
        place = self.root / folder
        if self.link_above(folder) or place.is_symlink():
            return False
        try:
            names = [f"{folder}/{path.name}" for path in place.iterdir()]
        except OSError:
            return False
        return all(name in gone or self.is_empty(name, gone) for name in names)

    def missing_folders(self, path: str) -> tuple[str, ...]:
        """The folders that writing `path` will have to make, outermost first."""
        parents = [parent.as_posix() for parent in reversed(Path(path).parents) if parent.parts]
        if link := self.link_above(path):  # a folder takes its place
            return tuple(parents[parents.index(link) :])
        return tuple(parent for parent in parents if not (self.root / parent).is_dir())

    def has_names_elsewhere(self, path: str) -> bool:
        """Whether the file has a name (a hard link) that a write to `path` must not change, and so breaks off."""
        status = self._status_of_linked(path)
        return status is not None and has_names_elsewhere(self.root, status, self._is_special)

    def keeps_names(self, status: os.stat_result, only: Collection[str] | None = None) -> bool:
        """Whether a write may change the file of `status` under all its names (hard links).

        All of them have to be in the workspace, and among `only`.
        """
        names = names_inside(self.root, status, self._is_special)
        return names is not None and (only is None or set(names) <= set(only))

    def other_names(self, path: str) -> tuple[str, ...]:
        """The other names (hard links) of the file that a write to `path` changes as well."""
        status = self._status_of_linked(path)
        names = names_inside(self.root, status, self._is_special) if status is not None else None
        return tuple(sorted(name for name in names or () if name != path))

    def _status_of_linked(self, path: str) -> os.stat_result | None:
        """The status of a file that has several names; None for anything else."""
        try:
            status = (self.root / path).lstat()
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) and status.st_nlink > 1 else None


def folders_above(path: str) -> tuple[str, ...]:
    """Return the folders that a relative path is in, outermost first."""
    names = path.split("/")
    return tuple("/".join(names[:depth]) for depth in range(1, len(names)))


class StoredImages:
    """The states that images stand for. Its methods block."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def blob(self, digest: Digest) -> bytes:
        """Return a stored content by its digest. Raises `StorageError` when it is missing."""
        return self._blobs.get(digest)

    def content(self, image: FileImage | None) -> bytes | None:
        """Return the bytes of an image; None for an absent file. Raises `StorageError` when they are missing."""
        return self._blobs.of_file(image)

    def state(self, image: FileImage | None) -> FileState | None:
        """The whole state that an image stands for. Raises `StorageError` when its content is missing."""
        if image is None:
            return None
        return FileState(content=self.bytes_of(image), mode=image.mode, kind=image.kind, extras=image.extras)

    def diff(self, change: FileChange) -> FileDiff:
        """What a change changed. Raises `StorageError` when a content is missing."""
        return diff_change(change, self.content(change.before), self.content(change.after))

    def keep(self, state: FileState) -> None:
        """Make a content durable that no change has, such as what a user wrote where an undo clashes with it."""
        self._blobs.put(state.content)

    def bytes_of(self, image: FileImage) -> bytes:
        """The content of a file that is not absent. Raises `StorageError` when it is missing."""
        return self.content(image) or b""


def image_of(state: FileState | None) -> FileImage | None:
    """Return a state by digest; None for an absent file."""
    return None if state is None else state.image()


_HANDLES = Path("/proc/self/fd")
_HAS_HANDLES = sys.platform == "linux" and _HANDLES.is_dir()


@contextmanager
def anchored(root: Path, path: str, *, makes_folders: bool, identity: tuple[int, int] | None = None) -> Generator[Path]:
    """Yield a path that leads to `path` in `root` as long as the context lasts. Blocks.

    Raises `OSError` when a folder on the way is missing, unless it is to be made, or is no folder but a symlink; and
    when `root` is another folder than the one with this `identity` (device and inode).
    """
    *folders, name = PurePosixPath(path).parts
    if not _HAS_HANDLES or PurePosixPath(path).is_absolute() or ".." in folders:
        yield root / path
        return
    handle = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if identity is not None and (status.st_dev, status.st_ino) != identity:
            raise OSError(errno.ESTALE, f"the folder {root} was moved away or replaced")
        for folder in folders:
            inner = _entered(handle, folder, makes_folders=makes_folders)
            os.close(handle)
            handle = inner
        yield _HANDLES / str(handle) / name
    finally:
        os.close(handle)


def _entered(handle: int, folder: str, *, makes_folders: bool) -> int:
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(folder, flags, dir_fd=handle)
    except FileNotFoundError:
        if not makes_folders:
            raise
        with suppress(FileExistsError):
            os.mkdir(folder, dir_fd=handle)
        return os.open(folder, flags, dir_fd=handle)


Mark = tuple[int, ...] | None
"""What a file is recognised by as the same and untouched; None for an absent file."""

UNSEEN: Mark = ()
"""That of a folder, which others may fill while it is looked at."""

MEANWHILE = "It was changed at this very moment; that version was left alone."


def mark_of(path: Path) -> Mark:
    """Return the mark of `path` itself. Take it before reading what is there."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return UNSEEN
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


def unless_touched(path: Path, seen: Mark) -> Callable[[], None]:
    """Return a check for `files.write_state` that raises `ChangedError` when `path` is not what was `seen`."""

    def check() -> None:
        if seen != UNSEEN and mark_of(path) not in (seen, UNSEEN):
            raise ChangedError(errno.EBUSY, "it was changed at this very moment")

    return check
