"""A file of the workspace, reached so that no program can exchange a folder on the way for a symlink meanwhile.

A background command in the sandbox may rename what it likes in the workspace, thousands of times a second. A program
that looks at a path and then opens it writes, sooner or later, where that command may not. So the folders are opened
one in another and none through a symlink, and the file is named by the last of them: `/proc/self/fd/7/name`. Systems
without that get the plain path.
"""

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

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
