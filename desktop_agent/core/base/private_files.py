"""Files and folders that only their owner may read: conversations, settings and logs quote whatever the user works on.

What is made here never depends on the umask. `close_to_others` mends what an earlier version made readable. On Windows
the user's own profile folder keeps others out, and all of this changes nothing.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700

_OTHERS = 0o077
_O_SAFE: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def make_private_folder(folder: Path) -> None:
    """Make `folder` and its missing parents, for their owner only; one that exists stays as it is. Raises `OSError`."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_private_folder(folder.parent)
    try:
        folder.mkdir(mode=PRIVATE_FOLDER)
    except FileExistsError:  # made by another process meanwhile, or no folder at all
        if not folder.is_dir():
            raise


def make_private_file(path: Path) -> None:
    """Make an empty file for its owner only, unless there is something already. Raises `OSError`.

    For what others open by name: SQLite gives the files beside a database the mode that the database has.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_SAFE, PRIVATE_FILE))


def close_to_others(roots: Iterable[Path]) -> None:
    """Take the rights of group and others from `roots` and from all that is in them. Blocks; never raises.

    A root that is closed already is taken to be mended, so the walk happens once. A link inside is not followed, and
    what belongs to another user stays as it is.
    """
    if os.name == "nt":
        return
    for root in roots:
        with suppress(OSError):
            if root.stat().st_mode & _OTHERS and _close(os.path.realpath(root)):
                _close_contents(root)


def _close_contents(root: Path) -> None:
    for folder, folders, names, handle in os.fwalk(os.path.realpath(root), follow_symlinks=False):
        del folder
        for name in (*folders, *names):
            with suppress(OSError):
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if status.st_mode & _OTHERS and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                    _close(name, handle)


def _close(name: str, folder: int | None = None) -> bool:
    """Close one file or folder and return whether that was possible. Through a handle: a name may become a link."""
    handle = os.open(name, os.O_RDONLY | _O_SAFE, dir_fd=folder)
    try:
        status = os.fstat(handle)
        if status.st_uid != os.geteuid():
            return False
        os.fchmod(handle, stat.S_IMODE(status.st_mode) & ~_OTHERS)
        return True
    finally:
        os.close(handle)
