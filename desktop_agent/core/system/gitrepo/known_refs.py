"""Refs that are asked of git only when they may have moved since git was asked before.

To ask takes two processes, some 8 ms, and comes twice around every command. Refs are small files: while none of them,
and no folder of theirs, looks different to `stat`, git would say the same. That rests on the change time, which no
program can set; what is too young to differ from the next write, a link, a great many files, or a system without such a
time (Windows) means that git is asked.
"""

import asyncio
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from desktop_agent.core.system.gitrepo.finding import Repository, common_folder, find_repository, stranger_of
from desktop_agent.core.system.gitrepo.refs import Refs, read_refs

_YOUNG_NS: Final = 3_000_000_000
"""More than a step of any file system's clock, which may be two seconds."""
_MOST_FILES: Final = 2_000
_MOST_REPOSITORIES: Final = 16
_FILES: Final = ("HEAD", "config", "config.worktree", "packed-refs", "logs/refs/stash")
_FOLDERS: Final = ("refs", "reftable")
_PASSED_OVER: Final = frozenset({"remotes", "prefetch", "desktop-agent"})
"""Folders in `refs` that `read_refs` leaves out, too."""

_Look = tuple[int, int, int, int, int]
RefsStamp = tuple[object, ...]
"""Equal ones mean: the same refs."""


class _NotReliable(Exception):  # noqa: N818 -- it is no error, and never leaves this module
    """What was looked at does not tell whether refs moved."""


class KnownRefs:
    """The refs of some repositories, as git said them last."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[RefsStamp, Refs]] = {}

    async def read(self, folder: Path) -> Refs | None:
        """Return the refs of the repository that `folder` is in; None when there is none, or git cannot say."""
        stamp = await asyncio.to_thread(refs_stamp, folder)
        if (known := self._still(folder, stamp)) is not None:
            return known
        self._known.pop(folder, None)
        refs = await read_refs(folder)
        if stamp is not None and refs is not None and len(self._known) < _MOST_REPOSITORIES:
            self._known[folder] = stamp, refs
        return refs

    def unmoved(self, folder: Path, repository: Repository) -> Refs | None:
        """Return what `read` would without asking git; None where git has to be asked.

        `repository` is the one that `folder` is in. Blocks.
        """
        return self._still(folder, _stamp_of(repository))

    def last_if_unmoved(self, folder: Path) -> Refs | None:
        """Return what `read` would without asking git; None where git has to be asked. Blocks."""
        return self._still(folder, refs_stamp(folder))

    def _still(self, folder: Path, stamp: RefsStamp | None) -> Refs | None:
        known = self._known.get(folder)
        return known[1] if stamp is not None and known is not None and known[0] == stamp else None


def refs_stamp(folder: Path) -> RefsStamp | None:
    """Return what distinguishes the refs of a folder's repository from others; None where that is not known. Blocks.

    Take it before the refs are read.
    """
    repository = find_repository(folder)
    return None if repository is None else _stamp_of(repository)


def _stamp_of(repository: Repository) -> RefsStamp | None:
    if sys.platform == "win32":
        return None
    try:
        if stranger_of(repository) is not None:
            return None
        return repository.identity, *_looks_at(repository)
    except (OSError, _NotReliable):
        return None


def _looks_at(repository: Repository) -> Iterator[tuple[str, _Look | None]]:
    now_ns, count = time.time_ns(), 0
    for git_dir in dict.fromkeys((repository.git_dir, common_folder(repository.git_dir))):
        for path in _places(os.fspath(git_dir)):
            count += 1
            if count > _MOST_FILES:
                raise _NotReliable
            yield path, _look_at(path, now_ns)


def _places(git_dir: str) -> Iterator[str]:
    """Yield every file and folder that refs are kept in, and those that may come to be there."""
    for name in (*_FILES, *_FOLDERS):
        yield f"{git_dir}/{name}"
    for name in _FOLDERS:
        left_out = _PASSED_OVER if name == "refs" else frozenset[str]()
        yield from _below(f"{git_dir}/{name}", left_out)


def _below(folder: str, left_out: frozenset[str]) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except FileNotFoundError:
        return
    for name, is_folder in found:
        if name not in left_out:
            yield f"{folder}/{name}"
            if is_folder:
                yield from _below(f"{folder}/{name}", frozenset())


def _look_at(path: str, now_ns: int) -> _Look | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode) or now_ns - max(status.st_ctime_ns, status.st_mtime_ns) < _YOUNG_NS:
        raise _NotReliable
    return status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode
