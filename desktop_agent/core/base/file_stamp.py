"""Whether a small file that others may write has changed since it was read, without reading it again.

Two writes within one step of the clock that dates files leave the same date. As git does with its index
(https://git-scm.com/docs/racy-git), a date that is too young to be relied on counts as open to change.
"""

import os
import time
from pathlib import Path
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

_RACY_NS = 50_000_000
"""More than a step of the clock that dates files, which is 1 to 16 ms."""
_WHOLE_SECONDS_RACY_NS = 2_050_000_000
"""The same where dates are kept in whole seconds, as HFS+ does, or in every other one, as FAT does."""


class FileStamp(Struct, frozen=True):
    """What distinguishes one state of a file from another."""

    modified_ns: int
    size: int
    inode: int
    device: int
    is_racy: bool = False
    """Whether it was written so shortly before the look that it may change again without that showing."""

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """Return the stamp of a file that was looked at just now."""
        step_ns = _RACY_NS if status.st_mtime_ns % 10**9 else _WHOLE_SECONDS_RACY_NS
        is_racy = time.time_ns() - status.st_mtime_ns < step_ns
        return cls(status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev, is_racy)


def stamp_of(path: Path) -> FileStamp | None:
    """Return the state of a file; None while it is missing. Blocks. Take it before the file is read."""
    try:
        return FileStamp.of(path.stat())
    except OSError:
        return None


def is_unchanged(now: FileStamp | None, earlier: FileStamp | None) -> bool:
    """Whether a file is certainly as it was at the earlier look, or still missing."""
    if now is None or earlier is None:
        return now is earlier
    return not earlier.is_racy and replace(now, is_racy=False) == earlier
