"""Reads and compares the refs of a repository, and restores refs that a command lost. No ref is removed."""

import asyncio
import os
import stat
import sys
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from desktop_agent.core.protocol.model import RefChange
from desktop_agent.core.system.git.git_process import PinnedGit, pinned
from desktop_agent.core.system.git.repository import NoStatus, Repository, common_folder, find_repository, stranger_of

REFS_LIMIT_BYTES: Final = 16 * 1024 * 1024
MOST_KEPT: Final = 200

_STASH: Final = "stash:"
_KEPT: Final = "refs/desktop-agent/kept"
_PASSED_OVER: Final = ("refs/remotes/", "refs/prefetch/", "refs/desktop-agent/")
_ZERO: Final = "0" * 40
_ZERO_SHA256: Final = "0" * 64


class StashEntry(Struct, frozen=True, kw_only=True):
    oid: str
    message: str


class Refs(Struct, frozen=True, kw_only=True):
    head: str = ""
    """The branch's full name, or an object id while detached."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Object ids by full ref name: `refs/heads/main`."""
    stash: tuple[StashEntry, ...] = ()
    """The newest first."""


class RefProblem(Struct, frozen=True, kw_only=True):
    change: RefChange
    reason: str


class RefRecovery(Struct, frozen=True, kw_only=True):
    restored: tuple[RefChange, ...] = ()
    problems: tuple[RefProblem, ...] = ()


async def read_refs(folder: Path) -> Refs | None:
    async with _git_of(folder) as git:
        return await _read_refs(git)


async def _read_refs(git: PinnedGit | None) -> Refs | None:
    if git is None:
        return None
    listing, head = await asyncio.gather(
        _ask(git, "for-each-ref", "--format=%(objectname) %(refname)"), _ask(git, "symbolic-ref", "-q", "HEAD")
    )
    if listing is None:
        return None
    names = {name: oid for oid, _, name in (line.partition(" ") for line in listing.splitlines())}
    if head is None:
        head = await _ask(git, "rev-parse", "-q", "--verify", "HEAD") or ""
    listed = await _ask(git, "stash", "list", "--format=%H%x09%gs") if names.pop("refs/stash", None) else None
    pairs = (line.partition("\t") for line in (listed or "").splitlines())
    stash = tuple(StashEntry(oid=oid, message=message) for oid, _, message in pairs)
    kept = {name: oid for name, oid in names.items() if not name.startswith(_PASSED_OVER)}
    return Refs(head=head.strip(), names=kept, stash=stash)


def changed_refs(before: Refs, after: Refs) -> tuple[RefChange, ...]:
    names = sorted(before.names.keys() | after.names.keys())
    changes = [
        RefChange(name=name, before=before.names.get(name), after=after.names.get(name))
        for name in names
        if before.names.get(name) != after.names.get(name)
    ]
    had, has = ({entry.oid for entry in refs.stash} for refs in (before, after))
    for entry in (*before.stash, *after.stash):
        if entry.oid not in had & has:
            lost, new = (entry.oid if entry.oid in oids else None for oids in (had, has))
            changes.append(RefChange(name=_STASH + entry.oid, before=lost, after=new, message=entry.message))
    if before.head != after.head:
        changes.append(RefChange(name="HEAD", before=before.head or None, after=after.head or None))
    return tuple(changes)


async def keep_objects(folder: Path, changes: Iterable[RefChange]) -> None:
    """Name the lost objects in the log of a private ref, which keeps them for 30 days unless the user set otherwise."""
    lost = [change.before for change in changes if change.is_loss and change.before is not None]
    oids = list(dict.fromkeys(oid for oid in lost if not oid.startswith("refs/")))[:MOST_KEPT]
    if not oids:
        return
    async with _git_of(folder) as git:
        for oid in oids:
            await _ask(git, "update-ref", "--create-reflog", "-m", "kept for recovery", _KEPT, oid)
        await _ask(git, "update-ref", "-m", "kept for recovery", _KEPT, "HEAD")


async def restore_refs(folder: Path, changes: Sequence[RefChange]) -> RefRecovery:
    """Restore the refs that these changes moved or dropped, if they have not changed since. Created refs stay.

    Stash entries are added on top of the existing ones. Do not cancel this call: git would be killed with a lock.
    """
    async with _git_of(folder) as git:
        return await _restore_all(git, changes)


async def _restore_all(git: PinnedGit | None, changes: Sequence[RefChange]) -> RefRecovery:
    now = await _read_refs(git)
    lost = [change for change in changes if change.is_loss]
    if git is None or now is None:
        reason = "git cannot read the repository."
        return RefRecovery(problems=tuple(RefProblem(change=change, reason=reason) for change in lost))
    restored: list[RefChange] = []
    problems: list[RefProblem] = []
    stash = [change for change in lost if change.name.startswith(_STASH)]
    head = [change for change in lost if change.name == "HEAD"]
    names = [change for change in lost if change not in stash and change not in head]
    for change in (*names, *reversed(stash), *head):  # HEAD last: its branch may be among the others
        reason = await _restore(git, change, now)
        if reason:
            if await _is_gone(git, change):
                reason = "git does not have its commit any more."
            problems.append(RefProblem(change=change, reason=reason))
        else:
            restored.append(change)
    return RefRecovery(restored=tuple(restored), problems=tuple(problems))


async def _restore(git: PinnedGit, change: RefChange, now: Refs) -> str:
    assert change.before is not None
    if change.name.startswith(_STASH):
        if any(entry.oid == change.before for entry in now.stash):
            return ""
        return await _write(git, "stash", "store", "-q", "-m", change.message or "stash", change.before)
    current = now.head if change.name == "HEAD" else now.names.get(change.name)
    if current == change.before:
        return ""
    if (current or None) != change.after:
        return "It was moved since; it was left where it is."
    if change.name == "HEAD" and change.before.startswith("refs/"):
        return await _write(git, "symbolic-ref", "-m", "recovered", "HEAD", change.before)
    if change.name == "HEAD":
        return await _write(git, "update-ref", "--no-deref", "-m", "recovered", "HEAD", change.before)
    none = _ZERO_SHA256 if len(change.before) == len(_ZERO_SHA256) else _ZERO
    expected = change.after or none
    return await _write(git, "update-ref", "-m", "recovered", change.name, change.before, expected)


async def _is_gone(git: PinnedGit, change: RefChange) -> bool:
    oid = change.before or ""
    return not oid.startswith("refs/") and await _ask(git, "cat-file", "-e", oid) is None


@asynccontextmanager
async def _git_of(folder: Path) -> AsyncGenerator[PinnedGit | None]:
    repository = await asyncio.to_thread(find_repository, folder)
    if repository is None:
        yield None
        return
    async with pinned(repository) as git:
        yield None if isinstance(git, NoStatus) else git


async def _ask(git: PinnedGit | None, *arguments: str) -> str | None:
    if git is None:
        return None
    answer = await git.run(*arguments, limit_bytes=REFS_LIMIT_BYTES)
    if isinstance(answer, NoStatus) or not answer[1]:
        return None
    return answer[0].decode("utf-8", "surrogateescape")


async def _write(git: PinnedGit, *arguments: str) -> str:
    answer = await git.run(*arguments, limit_bytes=REFS_LIMIT_BYTES)
    if not isinstance(answer, NoStatus):
        return ""
    return f"git could not write it: {answer.detail or answer.reason}."


_YOUNG_NS: Final = 3_000_000_000
"""A change time younger than this is not relied on: a tick of a file system's clock takes at most two seconds."""
_MOST_FILES: Final = 2_000
_MOST_REPOSITORIES: Final = 16
_FILES: Final = ("HEAD", "config", "config.worktree", "packed-refs", "logs/refs/stash")
_FOLDERS: Final = ("refs", "reftable")
_FOLDERS_PASSED_OVER: Final = frozenset({"remotes", "prefetch", "desktop-agent"})

_Look = tuple[int, int, int, int, int]
RefsStamp = tuple[object, ...]


class _NotReliable(Exception):  # noqa: N818 -- it is no error, and never leaves this module
    pass


class KnownRefs:
    """Caches the refs of some repositories. Git, which takes some 8 ms, is asked only when refs may have moved since.

    `stat` of the refs' files shows that, but not for recent times, links, too many files, or on Windows.
    """

    def __init__(self) -> None:
        self._known: dict[Path, tuple[RefsStamp, Refs]] = {}

    async def read(self, folder: Path) -> Refs | None:
        stamp = await asyncio.to_thread(refs_stamp, folder)
        if (known := self._still(folder, stamp)) is not None:
            return known
        self._known.pop(folder, None)
        refs = await read_refs(folder)
        if stamp is not None and refs is not None and len(self._known) < _MOST_REPOSITORIES:
            self._known[folder] = stamp, refs
        return refs

    def unmoved(self, folder: Path, repository: Repository) -> Refs | None:
        """Return the cached refs; None if they may have moved. Blocks."""
        return self._still(folder, _stamp_of(repository))

    def _still(self, folder: Path, stamp: RefsStamp | None) -> Refs | None:
        known = self._known.get(folder)
        return known[1] if stamp is not None and known is not None and known[0] == stamp else None


def refs_stamp(folder: Path) -> RefsStamp | None:
    """Return a stamp that shows changes of refs; None if unknown. Call this before you read the refs. Blocks."""
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
    for name in (*_FILES, *_FOLDERS):
        yield f"{git_dir}/{name}"
    for name in _FOLDERS:
        left_out = _FOLDERS_PASSED_OVER if name == "refs" else frozenset[str]()
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
