"""Whether a file is still the one that was looked at, asked at the last moment before it is written."""

import errno
import stat
from collections.abc import Callable
from pathlib import Path

from desktop_agent.core.system.displacing import ChangedError

Mark = tuple[int, ...] | None
"""By what a file is known to be the same and untouched; None where there is none."""

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
