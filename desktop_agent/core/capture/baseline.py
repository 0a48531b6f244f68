"""The baseline: what a workspace held, in numbered generations, so that a snapshot stays while others move on.

One SQLite file in the cache per workspace, shared by all sessions and processes. A row says what one path was from one
generation to another; a snapshot is a generation that a session still needs. Contents are kept only of what git does
not have. Deleting the file loses the time to read the workspace once more, and the snapshots of commands that run or
were cut off.
"""

import sqlite3
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from desktop_agent.core.base.private_files import make_private_file, make_private_folder
from desktop_agent.core.capture.entry_table import ENTRY_SCHEMA, EntryTable
from desktop_agent.core.capture.snapshot_rows import SNAPSHOT_SCHEMA, SnapshotRows

_FORMAT = 4
_BUSY_S = 60
_SPOILED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_STATE_SCHEMA = """
CREATE TABLE state (generation INTEGER NOT NULL);
INSERT INTO state VALUES (0);
"""


class BaselineSession:
    """One transaction on the baseline."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.entries = EntryTable(database)
        self.snapshots = SnapshotRows(database, self.entries)

    @property
    def generation(self) -> int:
        """The newest generation."""
        return self._database.execute("SELECT generation FROM state").fetchone()[0]

    def advance(self) -> int:
        """Begin the next generation and return its number."""
        self._database.execute("UPDATE state SET generation = generation + 1")
        return self.generation


class Baseline:
    """The baseline file, from any thread. All methods block."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = Lock()
        self._idle: _OpenFile | None = None
        """The open file, while no transaction uses it: to open it takes as long as to look at a hundred files."""
        self._is_closed = False

    @contextmanager
    def session(self) -> Generator[BaselineSession]:
        """Open one transaction: kept when the block ends, as if it never was when the block raises.

        Another thread or process that uses the same baseline waits until then.
        """
        with ExitStack() as stack:
            file = self._begun()
            stack.callback(file.database.close)
            try:
                yield BaselineSession(file.database)
            except BaseException:
                if file.database.in_transaction:
                    file.database.execute("ROLLBACK")
                raise
            file.database.execute("COMMIT")
            if self._keep(file):
                stack.pop_all()

    def close(self) -> None:
        """Close the file. What is asked later opens it each time."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, None
        if idle is not None:
            idle.database.close()

    def _keep(self, file: "_OpenFile") -> bool:
        """Leave the open file to the next transaction, unless another one is left to it already."""
        with self._guard:
            if self._is_closed or self._idle is not None:
                return False
            self._idle = file
            return True

    def _begun(self) -> "_OpenFile":
        """Begin a transaction on the file that is still open, or open it."""
        with self._guard:
            idle, self._idle = self._idle, None
        if idle is not None and idle.is_at(self._path):
            try:
                _begin(idle.database)
            except sqlite3.DatabaseError as error:
                idle.database.close()
                if error.sqlite_errorcode not in _SPOILED:
                    raise
            else:
                return idle
        elif idle is not None:
            idle.database.close()
        return self._opened()

    def _opened(self) -> "_OpenFile":
        make_private_folder(self._path.parent)
        try:
            return self._open()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode not in _SPOILED:
                raise
            self._path.unlink()
            return self._open()

    def _open(self) -> "_OpenFile":
        """Open the file and a transaction on it.

        A killed process leaves nothing half done. A power failure may spoil the file, which then begins anew: to wait
        for the disk would make every command slower, and keep what is but a cache.
        """
        make_private_file(self._path)
        database = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA journal_mode = TRUNCATE")
            database.execute("PRAGMA synchronous = OFF")
            _begin(database)
            return _OpenFile(database, _identity(self._path))
        except BaseException:
            database.close()
            raise


class _OpenFile(NamedTuple):
    """The baseline file as it was opened, for one transaction at a time."""

    database: sqlite3.Connection
    identity: tuple[int, int]
    """Its device and inode: the file may be deleted meanwhile."""

    def is_at(self, path: Path) -> bool:
        """Whether the file at `path` is still this one."""
        try:
            return _identity(path) == self.identity
        except OSError:
            return False


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _begin(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    _prepare(database)


def _prepare(database: sqlite3.Connection) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == _FORMAT:
        return
    for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        if not table.startswith("sqlite_"):
            database.execute(f'DROP TABLE "{table}"')
    for statement in (ENTRY_SCHEMA + SNAPSHOT_SCHEMA + _STATE_SCHEMA).split(";\n"):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {_FORMAT}")
