"""The other names (hard links) of a file: whether a write through one of them stays in the workspace.

A write in place changes the file under all its names. That is right only where every name is an ordinary path of the
workspace. A name outside, or one that is special (a secret, git's own file), must keep its content; such a link is
broken by the write, as git and most editors do.
"""

import os
from collections.abc import Callable
from pathlib import Path

from desktop_agent.core.system.folder_walk import entries_below

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
