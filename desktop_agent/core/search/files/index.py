"""The index of one workspace: brought up to date file by file, and asked.

A file is read again only when its size, time or inode changed. Several sessions and processes may use one index: one
of them writes at a time, the others wait their turn and then find the work done. A damaged index is made anew. Memory
is bounded by one file and SQLite's cache, and every step gives way to other threads.
"""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.search.files.database import Hit, IndexDatabase, index_file, signature_of
from desktop_agent.core.search.files.passages import STEP_LINES, passages
from desktop_agent.core.search.files.question import CodeQuestion
from desktop_agent.core.store.cache_file import is_damage
from desktop_agent.core.system.files import digest_of

LARGEST_BYTES = 1024 * 1024
"""Larger files are data, or made by a tool."""

_BATCH_FILES = 64
"""Files in one transaction: what a stop loses, and how long another writer waits."""


class IndexProgress(Struct):
    """How many files of an update are done. One thread writes it, any thread reads it."""

    total: int = 0
    done: int = 0
    is_waiting: bool = False
    """Another session or process is updating the same index."""
    is_complete: bool = False

    def note_waiting(self) -> None:
        """Say that another one is at it."""
        self.is_waiting = True


class CodeSearchResult(Struct, frozen=True):
    """The answer to a question."""

    hits: list[Hit] = field(default_factory=list["Hit"])
    files: int = 0
    """How many files the index knows."""
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """Reason to number of files that are not searched."""


class CodeIndex:
    """The index of `root`, kept in `folder`. All methods block and may be called from any thread."""

    def __init__(self, root: Path, folder: Path, *, is_secret: Callable[[str], bool]) -> None:
        """Touches no disk. Files that `is_secret` (given a path relative to `root`) are never read."""
        self._root = root
        self._file = index_file(folder / f"{digest_of(os.fsencode(root))[:32]}.sqlite3")
        self._is_secret = is_secret

    def update(self, paths: Sequence[str], progress: IndexProgress, stop: threading.Event, *, is_partial: bool) -> None:
        """Update the index for `paths`, which are all files unless `is_partial`; end early at `stop`.

        An index that cannot be written is made in a spare place. Raises `OSError` or `sqlite3.Error` if that fails,
        too.
        """
        try:
            self._update_when_free(paths, progress, stop, is_partial)
        except (OSError, sqlite3.Error):
            if stop.is_set() or not self.use_spare():
                raise
            progress.done = 0
            self._update_when_free(paths, progress, stop, is_partial)

    def use_spare(self) -> bool:
        """Go on in a spare place; False if there is none, or it is already in use."""
        spare = self._file.spare()
        self._file = spare or self._file
        return spare is not None

    def _update_when_free(
        self, paths: Sequence[str], progress: IndexProgress, stop: threading.Event, is_partial: bool
    ) -> None:
        progress.total = len(paths)
        with self._file.writing(stop.is_set, progress.note_waiting) as may_write:
            progress.is_waiting = False
            if not may_write:
                return
            try:
                self._update(paths, progress, stop, is_partial)
            except sqlite3.Error as error:
                if stop.is_set():
                    return
                if not is_damage(error):
                    raise
                self._file.discard()
                self._update(paths, progress, stop, is_partial)

    def ask(
        self, question: CodeQuestion, count: int, wanted: Callable[[str], bool] | None, stop: threading.Event
    ) -> CodeSearchResult:
        """Return the `count` best passages, of one place at most one and of one file at most three.

        Raises `sqlite3.Error` when the index cannot be read; a damaged one is deleted before.
        """
        try:
            with self._file.opened_to_read(stop.is_set) as connection:
                if connection is None:
                    return CodeSearchResult()
                database = IndexDatabase(connection)
                chosen = _distinct(database.hits(question.expression, wanted), count)
                return CodeSearchResult(chosen, database.count_files(), database.left_out())
        except sqlite3.Error as error:
            if is_damage(error):
                with self._file.writing(stop.is_set) as may_write:
                    if may_write:
                        self._file.discard()
            raise

    def _update(self, paths: Sequence[str], progress: IndexProgress, stop: threading.Event, is_partial: bool) -> None:
        progress.done = 0
        with self._file.opened(stop.is_set) as connection:
            database = IndexDatabase(connection)
            known = database.signatures()
            gone = known.keys() - set(paths)
            if is_partial:
                gone = {path for path in gone if not (self._root / path).exists()}
            self._forget(database, sorted(gone))
            changed: dict[str, os.stat_result] = {}
            for path in paths:
                if stop.is_set():
                    break
                status = self._status(path)
                if status is not None and known.get(path) == signature_of(status):
                    progress.done += 1
                    continue
                if status is not None:
                    changed[path] = status
                elif path in known:
                    self._forget(database, [path])
                if len(changed) == _BATCH_FILES:
                    self._take_in(database, changed, progress)
                    changed.clear()
            self._take_in(database, changed, progress)
        progress.is_complete = not stop.is_set()

    def _forget(self, database: IndexDatabase, gone: Sequence[str]) -> None:
        for begin in range(0, len(gone), _BATCH_FILES):
            with database.transaction():
                for path in gone[begin : begin + _BATCH_FILES]:
                    database.remove(path)

    def _take_in(self, database: IndexDatabase, changed: dict[str, os.stat_result], progress: IndexProgress) -> None:
        if not changed:
            return
        with database.transaction():
            for path, status in changed.items():
                self._read(database, path, status)
                progress.done += 1

    def _read(self, database: IndexDatabase, path: str, status: os.stat_result) -> None:
        reason, text = self._text_of(path, status)
        content = passages(path, text) if reason is None else ()
        database.put(path, signature_of(status), content, reason)

    def _text_of(self, path: str, status: os.stat_result) -> tuple[str | None, str]:
        """Return why the file is left out, or None and its text."""
        if self._is_secret(path):
            return "secret", ""
        if status.st_size > LARGEST_BYTES:
            return "larger than 1 MiB", ""
        try:
            with (self._root / path).open("rb") as file:
                content = file.read(LARGEST_BYTES)
        except OSError:
            return "unreadable", ""
        if b"\0" in content[:8192]:
            return "binary", ""
        return None, content.decode("utf-8-sig", "replace")

    def _status(self, path: str) -> os.stat_result | None:
        try:
            status = os.lstat(f"{self._root}/{path}")
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) else None


_MOST_PER_FILE = 3


def _distinct(hits: Iterable[Hit], count: int) -> list[Hit]:
    """Return the first `count` hits that show something new: windows overlap, and one file must not be the answer."""
    chosen: list[Hit] = []
    places: dict[str, list[int]] = {}
    for hit in hits:
        taken = places.setdefault(hit.path, [])
        if len(taken) >= _MOST_PER_FILE or any(abs(hit.first - first) <= STEP_LINES for first in taken):
            continue
        taken.append(hit.first)
        chosen.append(hit)
        if len(chosen) == count:
            break
    return chosen
