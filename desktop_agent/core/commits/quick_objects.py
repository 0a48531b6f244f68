"""A commit's operations on a repository without processes, wherever git would do the same (ADR 27)."""

import asyncio
import os
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Final, TypeVar, cast

import pygit2

from desktop_agent.core.base.regex import regex
from desktop_agent.core.commits.objects import NO_FILE, Entries, Entry, Inspect, Objects, has_converting_attributes
from desktop_agent.core.commits.selected_lines import States
from desktop_agent.core.system.git.index_file import edited
from desktop_agent.core.system.git.repository import common_folder, read_regular

T = TypeVar("T")
_INDEX_WITHOUT_FLAGS: Final = b"DIRC\0\0\0\2"
"""The beginning of an index in version 2, whose entries have no flags that pygit2 does not report."""
_ODD: Final = ("extensions.", "core.fsync", "core.sharedrepository", "diff.ignoresubmodules")
_OTHER_IDENTITIES: Final = ("author.", "committer.", "GIT_AUTHOR_", "GIT_COMMITTER_")
_IDENTITY: Final = regex(r"""(?!.*[\x00-\x1f<>\x7f])[^ .,:;"\\'](.*[^ .,:;"\\'])?""")
"""A name that git takes unchanged: it would strip other characters."""
_SPACES: Final = regex(r"[ \t\r\n]+")
_FOLDER: Final = 0o040000
_FAILURES: Final = (pygit2.GitError, LookupError, ValueError, OSError, struct.error)


class Opened:
    """A repository that libgit2 can read, and its HEAD. Blocks."""

    def __init__(self, root: Path) -> None:
        """Raises one of `_FAILURES` if libgit2 does not know the format, or another user owns the repository."""
        self.repository = pygit2.Repository(str(root), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        self.index = self.repository.index
        head = self.repository.head
        self.head = str(head.target), "" if self.repository.head_is_detached else head.name
        """The commit, and the full name of the branch, which is empty while detached."""

    @classmethod
    def at(cls, root: Path) -> "Opened | None":
        with suppress(*_FAILURES):
            return cls(root)
        return None

    async def quickest(self, plain: Objects, paths: set[str], index: bytes | None) -> Objects:
        """Return `plain` where libgit2 could act differently. `index` is the user's."""
        if await asyncio.to_thread(self._may_differ, plain, paths, index):
            return plain
        settings = plain.tip.settings
        is_converting = settings.get("core.autocrlf", "false") != "false" or "core.eol" in settings
        is_raw = not is_converting and not await has_converting_attributes(plain.git, settings, paths, self.index)
        return QuickObjects(plain, self, is_raw=is_raw)

    def _may_differ(self, plain: Objects, paths: set[str], index: bytes | None) -> bool:
        tip, common = plain.tip, common_folder(plain.git.repository.git_dir)
        is_odd = any(name.startswith(_ODD) for name in tip.settings) or tip.settings.get("core.filemode") == "false"
        is_odd = is_odd or bool(tip.hooks) or tip.is_watched or os.name == "nt" or (tip.oid, tip.branch) != self.head
        is_odd = is_odd or index is None or index[:8] != _INDEX_WITHOUT_FLAGS or not "".join(paths).isprintable()
        packed = read_regular(common / "packed-refs", 2**30)
        return is_odd or (common / "refs/replace").exists() or b" refs/replace/" in packed


class QuickObjects(Objects):
    """If a method cannot do exactly what git would, or fails, git does it, and reports what is wrong."""

    def __init__(self, plain: Objects, opened: Opened, *, is_raw: bool) -> None:
        super().__init__(plain.git, plain.tip, plain.folder)
        self._repository = opened.repository
        self._user_index = opened.index
        self._is_raw = is_raw

    async def _or(self, by_git: Callable[[], Awaitable[T]], work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except _FAILURES:
            return await by_git()

    @cached_property
    def _head(self) -> pygit2.Tree:
        return cast("pygit2.Commit", self._repository[self.tip.oid]).tree

    async def near(self, paths: set[str]) -> Entries:
        by_git = partial(super().near, paths)
        return await self._or(by_git, lambda: dict(found for path in paths for found in self._near(path)))

    def _near(self, path: str) -> Iterator[tuple[str, Entry]]:
        folder, tree = "", self._head
        for name in path.split("/"):
            one = tree[name] if name in tree else None  # noqa: SIM401 - a tree has no `get`
            if one is None or one.type_str != "tree":
                if one is not None:
                    yield folder + name, _entry_of(one)
                return
            folder, tree = f"{folder}{name}/", cast("pygit2.Tree", one)
        pending = [(folder, tree)]
        while pending:
            folder, tree = pending.pop()
            for one in tree:
                place = folder + os.fsdecode(one.raw_name or b"")
                if one.type_str == "tree":
                    pending.append((f"{place}/", cast("pygit2.Tree", one)))
                else:
                    yield place, _entry_of(one)

    async def staged(self, environ: Mapping[str, str] | None = None) -> Entries:
        by_git = partial(super().staged, environ)
        if environ is not None or self._user_index.conflicts is not None or self.tip.is_set("core.ignorecase"):
            return await by_git()
        return await self._or(by_git, lambda: self._compared(self._head.diff_to_index(self._user_index)))

    async def difference(self, old: str, new: str) -> Entries:
        by_git = partial(super().difference, old, new)
        if old != self.tip.tree:
            return await by_git()
        return await self._or(
            by_git, lambda: self._compared(self._head.diff_to_tree(cast("pygit2.Tree", self._repository[new])))
        )

    def _compared(self, diff: pygit2.Diff) -> Entries:
        found: Entries = {}
        for delta in diff.deltas:  # two of a path whose kind changed
            path, file = os.fsdecode(delta.new_file.raw_path), delta.new_file
            if delta.status_char() != "D":
                found[path] = Entry(f"{int(file.mode):06o}", str(file.id))
            else:
                found.setdefault(path, self._absent)
        return found

    async def _contents(self, wanted: list[tuple[str, Entry]]) -> list[bytes]:
        by_git = partial(super()._contents, wanted)
        if not self._is_raw:
            return await by_git()
        return await self._or(by_git, lambda: [self._repository[entry.oid].read_raw() for _, entry in wanted])

    async def stored(self, name: str, states: States, known: Entries) -> Entries:
        by_git = partial(super().stored, name, states, known)
        if not self._is_raw:
            return await by_git()
        there = {path: state.content for path, state in states.items() if state is not None}
        create = self._repository.create_blob
        return await self._or(
            by_git, lambda: self._entries(states, {path: str(create(content)) for path, content in there.items()})
        )

    async def tree(self, states: States, known: Entries, inspect: Inspect) -> str:
        by_git = partial(super().tree, states, known, inspect)
        entries = await self.stored("made", states, known)
        return await self._or(
            by_git, lambda: self._tree(self._head, entries) or str(self._repository.TreeBuilder().write())
        )

    async def next_index(self, seen: bytes | None, staged: Entries, files: Entries) -> bytes:
        by_git = partial(super().next_index, seen, staged, files)
        return await self._or(by_git, lambda: self._next_index(seen, files))

    def _next_index(self, seen: bytes | None, files: Entries) -> bytes:
        with (self.git.repository.git_dir / "index").open("rb") as index:
            written_s, content = os.fstat(index.fileno()).st_mtime_ns // 10**9, index.read()
        if content != seen:
            raise ValueError("git compares what is staged")
        return edited(
            content, written_s, {path: entry if entry.mode != NO_FILE else None for path, entry in files.items()}
        )

    async def commit(self, tree: str, message: str) -> str:
        by_git = partial(super().commit, tree, message)
        return await by_git() if self.tip.is_signed else await self._or(by_git, lambda: self._commit(tree, message))

    def _commit(self, tree: str, message: str) -> str:
        if "\0" in message:
            raise ValueError("git refuses it")
        made = self._made()
        content = f"tree {tree}\nparent {self.tip.oid}\nauthor {made}\ncommitter {made}\n\n{message}"
        return str(self._repository.write(pygit2.enums.ObjectType.COMMIT, content.encode()))

    def _made(self) -> str:
        """Return the committer and time as objects and logs write them. Raises `ValueError` if only git can tell."""
        settings, environ = self.tip.settings, self.git.environ
        name, email = settings.get("user.name", ""), settings.get("user.email", "")
        is_odd = any(one.startswith(_OTHER_IDENTITIES) for one in (*settings, *environ))
        if is_odd or not _IDENTITY.fullmatch(name) or not _IDENTITY.fullmatch(email):
            raise ValueError("more than the two usual settings tell who commits")
        if sys.platform != "win32":
            time.tzset()  # the user travels
        now = int(time.time())
        return f"{name} <{email}> {now} {time.strftime('%z', time.localtime(now))}"

    async def move(self, commit: str, reason: str) -> None:
        by_git = partial(super().move, commit, reason)
        is_branch = commit and self.tip.branch.startswith("refs/heads/")
        await (self._or(by_git, lambda: self._move(commit, reason)) if is_branch else by_git())

    def _move(self, commit: str, reason: str) -> None:
        """Do what git does: lock HEAD and its branch, log the move in both, and rename the new branch into place."""
        own, common, old = self.git.repository.git_dir, common_folder(self.git.repository.git_dir), self.tip.oid
        head, branch = own / "HEAD", common / self.tip.branch
        logs = own / "logs/HEAD", common / "logs" / self.tip.branch
        line = f"{old} {commit} {self._made()}\t{_SPACES.sub(' ', reason).strip(' ')}\n".encode()
        with _locked(head), _locked(branch) as lock:
            is_usual = all(map(os.path.isfile, logs)) and not branch.is_symlink()
            if not is_usual or head.read_text() != f"ref: {self.tip.branch}\n" or branch.read_text() != f"{old}\n":
                raise ValueError("the branch is packed or elsewhere, or has no log")
            for log in logs:
                with log.open("ab") as file:
                    file.write(line)
            lock.write_text(f"{commit}\n")
            lock.replace(branch)

    def _tree(self, base: pygit2.Tree | None, entries: Entries) -> str:
        """Return the tree with these entries; an empty string if there would be no file."""
        builder = self._repository.TreeBuilder() if base is None else self._repository.TreeBuilder(base)
        below: dict[str, Entries] = {}
        for path, entry in sorted(entries.items(), key=lambda one: one[1].mode != NO_FILE):
            name, is_deeper, rest = path.partition("/")
            if is_deeper:
                below.setdefault(name, {})[rest] = entry
            elif entry.mode != NO_FILE:
                builder.insert(name, entry.oid, int(entry.mode, 8))
            elif self._in(builder, name) is not None:
                builder.remove(name)
        for name, inner in below.items():
            there = self._in(builder, name)
            old = cast("pygit2.Tree", there) if there is not None and there.type_str == "tree" else None
            if made := self._tree(old, inner):
                builder.insert(name, made, _FOLDER)
            elif old is not None:
                builder.remove(name)
        return str(builder.write()) if len(builder) else ""

    def _in(self, builder: pygit2.TreeBuilder, name: str) -> pygit2.Object | None:
        entry = cast("pygit2.Object | None", builder.get(name))
        return self._repository[entry.id] if entry is not None and entry.type_str != "commit" else entry


@contextmanager
def _locked(path: Path) -> Generator[Path]:
    """Hold git's lock of a ref, a file that takes its place. Raises `FileExistsError` if somebody else holds it."""
    lock = path.with_name(f"{path.name}.lock")
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield lock
    finally:
        lock.unlink(missing_ok=True)


def _entry_of(one: pygit2.Object) -> Entry:
    return Entry(f"{int(one.filemode or 0):06o}", str(one.id))
