"""The baseline: what a workspace's files were before a command ran, kept so that only changed files are read again.

One SQLite file in the cache per workspace. Deleting it loses nothing but the time to read the files once more; a file
whose content did not fit the budget is known by its status only, and is named as not captured when it changes.
"""

import sqlite3
import zlib
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from desktop_agent.core.files import FileState
from desktop_agent.core.ids import Digest

_SCHEMA = """
CREATE TABLE entry (
  path TEXT PRIMARY KEY, kind TEXT NOT NULL, mode INTEGER NOT NULL, size INTEGER NOT NULL,
  signature TEXT NOT NULL, digest TEXT, content BLOB
) WITHOUT ROWID
"""
_FORMAT = 2
_BUSY_S = 30


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """A file or folder as it was: how it looked to `stat`, and its content's digest if a copy was kept."""

    path: str
    kind: Literal["file", "symlink", "folder"]
    mode: int
    size: int
    signature: str
    """Equal signatures mean an unchanged file; the empty one equals none."""
    digest: Digest | None


class BaselineSession:
    """One transaction on the baseline."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def entries(self) -> dict[str, BaselineEntry]:
        """Everything that is known, by path."""
        rows = self._database.execute("SELECT path, kind, mode, size, signature, digest FROM entry")
        return {row[0]: BaselineEntry(*row) for row in rows}

    def state(self, entry: BaselineEntry) -> FileState | None:
        """The file as it was; None when no copy was kept."""
        (content,) = self._database.execute("SELECT content FROM entry WHERE path = ?", (entry.path,)).fetchone()
        if content is None or entry.kind == "folder":
            return None
        return FileState(content=zlib.decompress(content), mode=entry.mode, kind=entry.kind)

    def put(self, entry: BaselineEntry, content: bytes | None) -> None:
        """Replace what is known of `entry.path`; `content` None keeps no copy."""
        packed = None if content is None else zlib.compress(content, 1)
        self._database.execute(
            "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)",
            (entry.path, entry.kind, entry.mode, entry.size, entry.signature, entry.digest, packed),
        )

    def remove(self, path: str) -> None:
        """Forget `path`."""
        self._database.execute("DELETE FROM entry WHERE path = ?", (path,))


class Baseline:
    """The baseline file. All methods block."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def session(self) -> Generator[BaselineSession]:
        """Open one transaction: kept when the block ends, as if it never was when the block raises.

        Another process that uses the same baseline waits until then.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("BEGIN IMMEDIATE")
            try:
                self._prepare(database)
                yield BaselineSession(database)
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def _prepare(self, database: sqlite3.Connection) -> None:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != _FORMAT:
            database.execute("DROP TABLE IF EXISTS entry")
            database.execute(_SCHEMA)
            database.execute(f"PRAGMA user_version = {_FORMAT}")
