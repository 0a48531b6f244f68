"""The baseline: the contents of a workspace in numbered generations, in one SQLite file.

Without the file, the workspace is read again, and snapshots of interrupted commands are lost.
"""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import NamedTuple, TypeVar

from desktop_agent.core.base.paths import APP_NAME
from desktop_agent.core.capture.entry_table import ENTRY_SCHEMA, SNAPSHOT_SCHEMA, EntryTable, SnapshotRows, SpoiledError
from desktop_agent.core.capture.git_objects import HeldObjects
from desktop_agent.core.store.cache_file import CacheFile, is_damage, is_lock

_FORMAT = 5
_BUSY_S = 15
_MOST_BUSY = 100
_FIRST_PAUSE_S = 60.0
_LONGEST_PAUSE_S = 3_600.0
"""The pause before the file is tried again doubles with each failure, up to this."""
_MOST_SPARED_BYTES = 4 * 2**20
_STATE_SCHEMA = """
CREATE TABLE state (generation INTEGER NOT NULL, identity BLOB NOT NULL, held TEXT NOT NULL DEFAULT '');
INSERT INTO state (generation, identity) VALUES (0, randomblob(16));
"""
_SCHEMA = tuple(part for part in (ENTRY_SCHEMA + SNAPSHOT_SCHEMA + _STATE_SCHEMA).split(";\n") if part.strip())

T = TypeVar("T")


class BaselineSession:
    def __init__(self, database: sqlite3.Connection, held_folder: Path, *, is_in_memory: bool) -> None:
        self._database = database
        self.objects = HeldObjects(held_folder, may_change=not is_in_memory)
        """A baseline in memory only reads the held objects: the one in the file may need them."""
        self.entries = EntryTable(database)
        self.snapshots = SnapshotRows(database, self.entries)

    @property
    def generation(self) -> int:
        return self._database.execute("SELECT generation FROM state").fetchone()[0]

    @property
    def identity(self) -> bytes:
        """Identifies this baseline until it is rebuilt, also in memory."""
        return self._database.execute("SELECT identity FROM state").fetchone()[0]

    @property
    def held(self) -> str:
        return self._database.execute("SELECT held FROM state").fetchone()[0]

    @held.setter
    def held(self, stamp: str) -> None:
        self._database.execute("UPDATE state SET held = ?", (stamp,))

    def advance(self) -> int:
        self._database.execute("UPDATE state SET generation = generation + 1")
        return self.generation


class Baseline:
    """One workspace's baseline, usable from any thread. Methods block, and never raise because of a bad file."""

    def __init__(self, path: Path, *, trouble: str = "") -> None:
        """`trouble` is an earlier problem of the cache, which `take_failure` reports."""
        self._file = CacheFile(
            path,
            _FORMAT,
            _SCHEMA,
            ("copy", "entry", "snapshot", "written", "state"),
            journal="TRUNCATE",
            synchronous="OFF",
        )
        self._guard = Lock()
        self._idle: _OpenFile | None = None
        self._is_closed = False
        self._is_checked = False
        self._memory: sqlite3.Connection | None = None
        self._in_memory = RLock()
        self._failed_at = 0.0
        self._pause_s = _FIRST_PAUSE_S / 2
        self._trouble = self._told = trouble
        self._spare: _Spare | None = None

    def run(self, work: Callable[[BaselineSession], T], *, is_spared: bool = False) -> T:
        """Run `work` in one transaction, rolled back when it raises. If the file fails, `work` runs again in memory.

        `is_spared` keeps a small baseline's copy in memory, in case the file becomes unreadable.
        """
        if self._memory is None:
            done = self._run_on_file(work, is_spared=is_spared)
            if done is not None:
                return done[0]
        with self._in_memory:
            return self._transacted(self._memory_opened(), work, is_in_memory=True)

    def take_failure(self) -> str:
        trouble, self._trouble = self._trouble, ""
        return trouble

    def try_file_again(self) -> None:
        """Use the file again, if it failed long enough ago. Changes that were made in memory are lost."""
        with self._in_memory:
            if self._memory is not None and time.monotonic() - self._failed_at >= self._pause_s:
                self._memory.close()
                self._memory = None

    def close(self) -> None:
        """Later calls open the file each time."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, None
        if idle is not None:
            idle.database.close()
        with self._in_memory:
            memory, self._memory = self._memory, None
            if memory is not None:
                memory.close()

    def _run_on_file(self, work: Callable[[BaselineSession], T], *, is_spared: bool) -> tuple[T] | None:
        """Return None if the file is unusable; its readable part is then in memory."""
        for may_make_anew in (True, False):
            opened: _OpenFile | None = None
            try:
                opened = self._opened()
                if not opened.is_at(self._file.path):
                    self._move_to_memory(opened, "It was deleted while it was in use.")
                    return None
                result = self._transacted(opened.database, work, is_in_memory=False)
            except sqlite3.ProgrammingError:
                _close(opened)
                raise
            except (sqlite3.DatabaseError, _UnusableError) as error:
                is_damaged = isinstance(error, sqlite3.DatabaseError) and is_damage(error)
                if may_make_anew and is_damaged and self._spare is None:
                    _close(opened)
                    with suppress(OSError):
                        self._file.discard()
                    continue
                is_locked = isinstance(error, sqlite3.Error) and is_lock(error)
                self._move_to_memory(opened, str(error), is_locked=is_locked)
                return None
            except BaseException:
                _close(opened)
                raise
            self._pause_s, self._told = _FIRST_PAUSE_S / 2, ""
            self._take_spare(opened.database, is_wanted=is_spared)
            if not self._keep(opened):
                opened.database.close()
            return (result,)
        return None

    def _opened(self) -> "_OpenFile":
        with self._guard:
            idle, self._idle = self._idle, None
        if idle is not None:
            return idle
        try:
            database = self._file.connect(busy_s=_BUSY_S, is_shared=True)
        except OSError as error:
            raise _UnusableError(error.strerror or str(error)) from error
        try:
            if not self._is_checked:  # if damage were found later, a command's snapshot would be lost
                (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
                if verdict != "ok":
                    raise SpoiledError(verdict)
                self._is_checked = True
            return _OpenFile(database, _identity(self._file.path))
        except OSError as error:
            database.close()
            raise _UnusableError(error.strerror or str(error)) from error
        except sqlite3.Error:
            database.close()
            raise

    def _keep(self, file: "_OpenFile") -> bool:
        with self._guard:
            if self._is_closed or self._idle is not None:
                return False
            self._idle = file
            return True

    def _move_to_memory(self, opened: "_OpenFile | None", reason: str, *, is_locked: bool = False) -> None:
        with self._in_memory:
            if self._memory is None:
                read = self._from_spare() or (_copied(opened.database) if opened is not None else None)
                if read is None and not is_locked:  # if the file is locked, another process may be writing it
                    read = _rescued(self._file.path)
                self._memory = read or self._file.in_memory()
                self._file.prepare(self._memory)
                self._failed_at = time.monotonic()
                self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)
                self._trouble = "" if self._told else f"{self._file.path}: {reason}"
                self._told = self._told or self._trouble
        _close(opened)

    def _take_spare(self, database: sqlite3.Connection, *, is_wanted: bool) -> None:
        if not is_wanted:
            if self._spare is not None and self._spare.is_outdated(database):
                self._spare = None
            return
        self._spare = None
        with suppress(sqlite3.Error):  # the next transaction gets the same error
            (pages,), (page_bytes,) = (
                database.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size")
            )
            if pages * page_bytes <= _MOST_SPARED_BYTES:
                self._spare = _Spare(database.serialize(), database, database.total_changes)

    def _from_spare(self) -> sqlite3.Connection | None:
        spare, self._spare = self._spare, None
        if spare is None:
            return None
        memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            memory.deserialize(spare.content)
        except sqlite3.Error:
            memory.close()
            return None
        return memory

    def _transacted(
        self, database: sqlite3.Connection, work: Callable[[BaselineSession], T], *, is_in_memory: bool
    ) -> T:
        database.execute("BEGIN IMMEDIATE")
        try:
            result = work(BaselineSession(database, self._file.path.with_suffix(".objects"), is_in_memory=is_in_memory))
            database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # the first failure is the one to report
                if database.in_transaction:
                    database.execute("ROLLBACK")
            raise
        return result

    def _memory_opened(self) -> sqlite3.Connection:
        if self._memory is None:  # closed meanwhile
            self._memory = self._file.in_memory()
            self._file.prepare(self._memory)
        return self._memory


class _UnusableError(Exception): ...


class _Spare(NamedTuple):
    content: bytes
    database: sqlite3.Connection
    changes: int

    def is_outdated(self, database: sqlite3.Connection) -> bool:
        return database is not self.database or database.total_changes != self.changes


class _OpenFile(NamedTuple):
    database: sqlite3.Connection
    identity: tuple[int, int]
    """Device and inode, because the file can be deleted meanwhile."""

    def is_at(self, path: Path) -> bool:
        try:
            return _identity(path) == self.identity
        except OSError:
            return False


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _copied(database: sqlite3.Connection | None) -> sqlite3.Connection | None:
    if database is None:
        return None
    busy = 0

    def count(status: int, remaining: int, total: int) -> None:
        del remaining, total
        nonlocal busy
        busy += status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        if busy > _MOST_BUSY:
            raise sqlite3.OperationalError("it stays locked")

    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        database.backup(memory, progress=count, sleep=0.05)
    except (sqlite3.Error, OSError):
        memory.close()
        return None
    return memory


def _rescued(path: Path) -> sqlite3.Connection | None:
    try:
        with tempfile.TemporaryDirectory(prefix=f"{APP_NAME}-") as folder:
            for name in (path.name, f"{path.name}-journal"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(path.with_name(name), Path(folder) / name)
            with closing(sqlite3.connect(Path(folder) / path.name, isolation_level=None)) as database:
                (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
                return _copied(database) if verdict == "ok" else None
    except (sqlite3.Error, OSError):
        return None


def _close(opened: "_OpenFile | None") -> None:
    if opened is not None:
        opened.database.close()
