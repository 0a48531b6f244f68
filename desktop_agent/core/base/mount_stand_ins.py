"""Placeholders: empty folders on which a sandbox mounts its covers for missing folders, such as `.git`.

A placeholder has an impossible modification time. The process that gets the exclusive lock removes it.
"""

import os
import stat
import sys
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

STAMP_NS = 1_073_741_824 * 10**9
"""The modification time of every placeholder. Every file system can store an even number of seconds."""

_FOLDER: int = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def is_stand_in(path: Path) -> bool:
    try:
        status = path.lstat()
        return bears_stamp(status.st_mode, status.st_mtime_ns) and not any(path.iterdir())
    except OSError:
        return False


def bears_stamp(mode: int, modified_ns: int) -> bool:
    return stat.S_ISDIR(mode) and modified_ns == STAMP_NS


@contextmanager
def holding(paths: Iterable[Path]) -> Generator[None]:
    """Create the missing folders among `paths`, outer ones first. Remove them afterwards. Blocks."""
    with ExitStack() as ours:
        if sys.platform != "win32":
            for path in sorted(paths, key=lambda path: len(path.parts)):
                handle = _held(path)
                if handle is not None:
                    ours.callback(_let_go, path, handle)
        yield


def sweep(paths: Iterable[Path]) -> None:
    for path in sorted(paths, key=lambda path: -len(path.parts)):
        if is_stand_in(path):
            _remove_unless_held(path)


if sys.platform != "win32":
    import fcntl

    def _held(path: Path) -> int | None:
        while True:
            try:
                path.mkdir(mode=0o755)
                os.utime(path, ns=(STAMP_NS, STAMP_NS))
            except FileExistsError:
                pass
            except OSError:
                return None
            try:
                handle = os.open(path, os.O_RDONLY | _FOLDER)
            except FileNotFoundError:  # its last user has just removed the folder
                continue
            except OSError:  # a file, as `.git` of a worktree
                return None
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_SH)
            if _is_at(path, handle):
                return handle
            os.close(handle)

    def _let_go(path: Path, handle: int) -> None:
        os.close(handle)
        if is_stand_in(path):
            _remove_unless_held(path)

    def _remove_unless_held(path: Path) -> None:
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | _FOLDER)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(path, handle) and is_stand_in(path):
                    path.rmdir()  # fails if the folder was filled meanwhile
            finally:
                os.close(handle)

    def _is_at(path: Path, handle: int) -> bool:
        try:
            now, held = path.lstat(), os.fstat(handle)
        except OSError:
            return False
        return (now.st_dev, now.st_ino) == (held.st_dev, held.st_ino)

else:

    def _remove_unless_held(path: Path) -> None: ...
