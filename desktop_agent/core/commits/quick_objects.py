"""Reads and writes git's objects without processes, by libgit2, wherever git would make the same of them (ADR 26)."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar, cast

import pygit2

from desktop_agent.core.commits.objects import NO_FILE, Entries, Entry, Inspect, Objects
from desktop_agent.core.commits.selected_lines import States
from desktop_agent.core.system.git.repository import common_folder, read_regular

T = TypeVar("T")
_INDEX_WITHOUT_FLAGS: Final = b"DIRC\0\0\0\2"
"""How an index begins whose entries have no flags that pygit2 does not tell."""
_FOLDER: Final = 0o040000
_FAILURES: Final = (pygit2.GitError, KeyError, ValueError, OSError)


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

    def quickest(self, plain: Objects, paths: Iterable[str], index: bytes | None, *, is_raw: bool) -> Objects:
        """Return `plain` where libgit2 could act differently. `index`: the user's; `is_raw`: nothing is converted."""
        settings, common = plain.tip.settings, common_folder(plain.git.repository.git_dir)
        is_odd = any(name.startswith(("extensions.", "core.fsync", "diff.ignoresubmodules")) for name in settings)
        is_odd = is_odd or bool(plain.tip.hooks) or os.name == "nt" or settings.get("core.filemode") == "false"
        is_odd = is_odd or index is None or index[:8] != _INDEX_WITHOUT_FLAGS or not "".join(paths).isprintable()
        packed = read_regular(common / "packed-refs", 2**30)
        if is_odd or (common / "refs/replace").exists() or b" refs/replace/" in packed or plain.tip.oid != self.head[0]:
            return plain
        is_converting = settings.get("core.autocrlf", "false") != "false" or "core.eol" in settings
        return QuickObjects(plain, self, is_raw=is_raw and not is_converting)


class QuickObjects(Objects):
    """Git itself converts files that have attributes, and compares an index that ignores case, or is not the user's."""

    def __init__(self, plain: Objects, opened: Opened, *, is_raw: bool) -> None:
        super().__init__(plain.git, plain.tip, plain.folder)
        self._repository = opened.repository
        self._user_index = opened.index
        self._is_raw = is_raw

    async def _or(self, by_git: Callable[[], Awaitable[T]], work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except _FAILURES:  # git says what is wrong, or can do it
            return await by_git()

    @property
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
        made = cast("pygit2.Tree", self._repository[new])
        return await self._or(by_git, lambda: self._compared(self._head.diff_to_tree(made)))

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


def _entry_of(one: pygit2.Object) -> Entry:
    return Entry(f"{int(one.filemode or 0):06o}", str(one.id))
