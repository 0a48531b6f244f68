"""The baseline: what a workspace held, in numbered generations, so that a snapshot stays while others move on.

One SQLite file in the cache per workspace, shared by all sessions and processes. A row says what one path was from one
generation to another; a snapshot is a generation that a session still needs. Contents are kept only of what git does
not have. Deleting the file loses the time to read the workspace once more, and the snapshots of commands that run or
were cut off.
"""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from desktop_agent.core.base.private_files import make_private_file, make_private_folder
from desktop_agent.core.capture.entry_rows import ENTRY_SCHEMA, EntryRows
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
        self.entries = EntryRows(database)
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
    """The baseline file. All methods block."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def session(self) -> Generator[BaselineSession]:
        """Open one transaction: kept when the block ends, as if it never was when the block raises.

        Another process that uses the same baseline waits until then.
        """
        make_private_folder(self._path.parent)
        try:
            database = self._begun()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode not in _SPOILED:
                raise
            self._path.unlink()
            database = self._begun()
        with closing(database):
            try:
                yield BaselineSession(database)
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def _begun(self) -> sqlite3.Connection:
        """Open the file and a transaction on it.

        A killed process leaves nothing half done. A power failure may spoil the file, which then begins anew: to wait
        for the disk would make every command slower, and keep what is but a cache.
        """
        make_private_file(self._path)
        database = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = TRUNCATE")
            database.execute("PRAGMA synchronous = OFF")
            database.execute("BEGIN IMMEDIATE")
            _prepare(database)
        except BaseException:
            database.close()
            raise
        return database


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
