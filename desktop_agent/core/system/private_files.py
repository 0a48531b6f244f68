"""Creates files that only their owner can access, and tells whether a file has changed since it was read."""

import os
import stat
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700

_OTHERS = 0o077
_O_SAFE: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def make_private_folder(folder: Path) -> None:
    """An existing folder is unchanged. Raises `OSError`."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_private_folder(folder.parent)
    try:
        folder.mkdir(mode=PRIVATE_FOLDER)
    except FileExistsError:  # created by another process meanwhile, or not a folder
        if not folder.is_dir():
            raise


def make_private_file(path: Path) -> None:
    """Create an empty file whose mode SQLite copies to the files beside it. Raises `OSError`."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_SAFE, PRIVATE_FILE))


def close_to_others(roots: Iterable[Path]) -> None:
    """Remove the permissions of group and others from `roots` and everything in them. Blocks; never raises.

    A root without such permissions is skipped. Links are not followed, and files of other users are unchanged.
    """
    if sys.platform == "win32":
        return
    for root in roots:
        with suppress(OSError):
            if root.stat().st_mode & _OTHERS and _close(os.path.realpath(root)):
                _close_contents(root)


def _close_contents(root: Path) -> None:
    if sys.platform == "win32":
        return
    for folder, folders, names, handle in os.fwalk(os.path.realpath(root), follow_symlinks=False):
        del folder
        for name in (*folders, *names):
            with suppress(OSError):
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if status.st_mode & _OTHERS and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                    _close(name, handle)


def _close(name: str, folder: int | None = None) -> bool:
    """Close a file or folder to others, by a handle, because the name may become a link."""
    if sys.platform == "win32":
        return False
    handle = os.open(name, os.O_RDONLY | _O_SAFE, dir_fd=folder)
    try:
        status = os.fstat(handle)
        if status.st_uid != os.geteuid():
            return False
        os.fchmod(handle, stat.S_IMODE(status.st_mode) & ~_OTHERS)
        return True
    finally:
        os.close(handle)


_RACY_NS = 50_000_000
"""A younger date is not relied on (https://git-scm.com/docs/racy-git): a tick of the clock takes 1 to 16 ms."""
_WHOLE_SECONDS_RACY_NS = 2_050_000_000
"""The same where dates have a resolution of one second, as in HFS+, or two, as in FAT."""


class FileStamp(Struct, frozen=True):
    modified_ns: int
    size: int
    inode: int
    device: int
    is_racy: bool = False
    """Whether it was written so shortly before the check that another write might not show."""

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        step_ns = _RACY_NS if status.st_mtime_ns % 10**9 else _WHOLE_SECONDS_RACY_NS
        is_racy = time.time_ns() - status.st_mtime_ns < step_ns
        return cls(status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev, is_racy)


def stamp_of(path: Path) -> FileStamp | None:
    """Return a stamp of the file; None if it is missing. Call this before reading the file. Blocks."""
    try:
        return FileStamp.of(path.stat())
    except OSError:
        return None


def is_unchanged(now: FileStamp | None, earlier: FileStamp | None) -> bool:
    if now is None or earlier is None:
        return now is earlier
    return not earlier.is_racy and replace(now, is_racy=False) == earlier
