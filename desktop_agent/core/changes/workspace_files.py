"""The files of a workspace: present states, states of recorded images, and safe paths.

A background command can rename anything at any time, so `anchored` reaches a file without following symlinks.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from desktop_agent.core.base.file_names import folders_above
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.protocol.model import FileChange, FileDiff, FileImage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.file_writes import ChangedError
from desktop_agent.core.system.files import FileState, read_state
from desktop_agent.core.system.staged_file import O_NOFOLLOW
from desktop_agent.core.system.workspace import entries_below

MOST_ENTRIES = 200_000
"""How many entries are searched for other names of a file. Names not found by then count as outside."""

IsSpecial = Callable[[str], bool]
"""Whether the file at this path may be changed only by a write to this very path."""


def is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def has_names_elsewhere(root: Path, status: os.stat_result, is_special: IsSpecial = is_hidden) -> bool:
    """Whether a name of the file is not an ordinary path in `root`, or was not found. Blocks."""
    return status.st_nlink > 1 and names_inside(root, status, is_special) is None


def names_inside(root: Path, status: os.stat_result, is_special: IsSpecial = is_hidden) -> tuple[str, ...] | None:
    """Return every name of the file; None if a name is not an ordinary path in `root`. Blocks."""
    found: list[str] = []
    for _, path, entry in entries_below((root,), most=MOST_ENTRIES):
        if entry.inode() == status.st_ino and _is_at(entry, status) and not is_special(path):
            found.append(path)
            if len(found) == status.st_nlink:
                return tuple(found)
    return None


def _is_at(entry: os.DirEntry[str], status: os.stat_result) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino)


class WorkspaceFiles:
    def __init__(self, root: Path, is_special: IsSpecial = is_hidden) -> None:
        """A path for which `is_special` is true is never written through another name of its file."""
        self.root = real_path(root)
        self._is_special = is_special

    def current(self, path: str) -> FileState | None:
        """Return the present state; None if a symlink has replaced a parent folder. Raises `OSError`."""
        if self.link_above(path):
            return None
        return read_state(self.root / path, with_special=True)

    def is_at(self, path: str, image: FileImage | None) -> bool:
        try:
            return image_of(self.current(path)) == image
        except OSError:
            return False

    def is_inside(self, path: str) -> bool:
        """A program may have replaced the folder of `path` with a symlink."""
        return Path(os.path.realpath((self.root / path).parent)).is_relative_to(self.root)

    def link_above(self, path: str) -> str:
        """The outermost folder above `path` that is a symlink; empty if there is none."""
        return next((folder for folder in folders_above(path) if (self.root / folder).is_symlink()), "")

    def file_above(self, path: str) -> str:
        """The outermost path above `path` that exists and is no folder; empty if there is none."""
        folders = folders_above(path)
        return next((name for name in folders if os.path.lexists(place := self.root / name) and not place.is_dir()), "")

    def is_empty(self, folder: str, gone: Collection[str] = ()) -> bool:
        place = self.root / folder
        if self.link_above(folder) or place.is_symlink():
            return False
        try:
            names = [f"{folder}/{path.name}" for path in place.iterdir()]
        except OSError:
            return False
        return all(name in gone or self.is_empty(name, gone) for name in names)

    def missing_folders(self, path: str) -> tuple[str, ...]:
        """The folders that writing `path` will have to create, outermost first."""
        parents = [parent.as_posix() for parent in reversed(Path(path).parents) if parent.parts]
        if link := self.link_above(path):  # a folder takes its place
            return tuple(parents[parents.index(link) :])
        return tuple(parent for parent in parents if not (self.root / parent).is_dir())

    def has_names_elsewhere(self, path: str) -> bool:
        """Whether the file has a hard link that a write to `path` must not change, and therefore breaks."""
        status = self._status_of_linked(path)
        return status is not None and has_names_elsewhere(self.root, status, self._is_special)

    def keeps_names(self, status: os.stat_result, only: Collection[str] | None = None) -> bool:
        """Whether a write may change the file under all its names: all are in the workspace and in `only`."""
        names = names_inside(self.root, status, self._is_special)
        return names is not None and (only is None or set(names) <= set(only))

    def other_names(self, path: str) -> tuple[str, ...]:
        status = self._status_of_linked(path)
        names = names_inside(self.root, status, self._is_special) if status is not None else None
        return tuple(sorted(name for name in names or () if name != path))

    def _status_of_linked(self, path: str) -> os.stat_result | None:
        try:
            status = (self.root / path).lstat()
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) and status.st_nlink > 1 else None


class StoredImages:
    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def blob(self, digest: Digest) -> bytes:
        return self._blobs.get(digest)

    def content(self, image: FileImage | None) -> bytes | None:
        """Return a version's content; None for an absent file. Raises `StorageError` if the content is missing."""
        return self._blobs.of_file(image)

    def state(self, image: FileImage | None) -> FileState | None:
        if image is None:
            return None
        return FileState(content=self.bytes_of(image), mode=image.mode, kind=image.kind, extras=image.extras)

    def diff(self, change: FileChange) -> FileDiff:
        return diff_change(change, self.content(change.before), self.content(change.after))

    def keep(self, state: FileState) -> None:
        """Store content durably that belongs to no change, such as a user's edit that clashes with an undo."""
        self._blobs.put(state.content)

    def bytes_of(self, image: FileImage) -> bytes:
        return self.content(image) or b""


def image_of(state: FileState | None) -> FileImage | None:
    return None if state is None else state.image()


_HANDLES = Path("/proc/self/fd")
_HAS_HANDLES = sys.platform == "linux" and _HANDLES.is_dir()
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC if sys.platform == "linux" else 0


@contextmanager
def anchored(root: Path, path: str, *, makes_folders: bool, identity: tuple[int, int] | None = None) -> Generator[Path]:
    """Yield a path that leads to `path` in `root` without following symlinks, until the context ends. Blocks.

    Raises `OSError` if a parent folder is a symlink, is missing and not to be made, or `root` has another `identity`.
    """
    *folders, name = PurePosixPath(path).parts
    if not _HAS_HANDLES or PurePosixPath(path).is_absolute() or ".." in folders:
        yield root / path
        return
    handle = os.open(root, _FOLDER)
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
    flags = _FOLDER | O_NOFOLLOW
    try:
        return os.open(folder, flags, dir_fd=handle)
    except FileNotFoundError:
        if not makes_folders:
            raise
        with suppress(FileExistsError):
            os.mkdir(folder, dir_fd=handle)
        return os.open(folder, flags, dir_fd=handle)


Mark = tuple[int, ...] | None
"""Stays equal as long as a file is the same and untouched; None for an absent file."""

UNSEEN: Mark = ()
"""The mark of a folder. It proves nothing, because others can fill a folder while we look at it."""

MEANWHILE = "It was changed at that very moment, so it was left alone."


def mark_of(path: Path) -> Mark:
    """Return a mark that shows changes of a file. Take it before reading the file. Does not follow a symlink."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return UNSEEN
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


def unless_touched(path: Path, seen: Mark) -> Callable[[], None]:
    """Return a check that raises `ChangedError` if the mark of `path` is no longer `seen`."""

    def check() -> None:
        if seen != UNSEEN and mark_of(path) not in (seen, UNSEEN):
            raise ChangedError(errno.EBUSY, "it was changed at this very moment")

    return check
