"""What is known of all journals, in one file of the cache. It may be lost, damaged or not writable: that costs time.

What is known is a struct, the same for all journals of a file. What cannot be written is kept in memory, so that a
read-only disk does not make every look at the list a long one.
"""

import json
import sqlite3
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from msgspec import DecodeError, convert, to_builtins
from msgspec.json import Decoder
from msgspec.json import encode as encode_json

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.store.cache_file import CacheFile, is_damage, is_lock, transaction
from desktop_agent.core.store.journal.journal_mark import JournalMark

_SCHEMA = (
    """CREATE TABLE session (
      id TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, read_bytes INTEGER NOT NULL,
      witness BLOB NOT NULL, summary TEXT NOT NULL) WITHOUT ROWID""",
)
_ALL = "SELECT id, size, mtime_ns, read_bytes, witness, summary FROM session"
_BUSY_S = 1.0
"""How long to wait for others before doing without."""
_LOCKED_S = 30.0
"""How long a file that stays locked is left alone: the list of sessions would wait for it each time."""

Known = TypeVar("Known")
_Row = tuple[str, int, int, int, bytes, str]


class Noted(NamedTuple, Generic[Known]):
    """What is known of one journal, and how far it was read for it."""

    mark: JournalMark
    known: Known


class JournalCache(Generic[Known]):
    """What is known, by session. All methods block, none raises for what is wrong with the file."""

    def __init__(self, path: Path, version: int, decoder: Decoder[Known]) -> None:
        """`decoder` reads what is kept of each, `version` is that of its meaning: a file of another is made anew."""
        self._file = CacheFile(path, version, _SCHEMA, ("session",))
        self._decoder = decoder
        self._unsaved: dict[SessionId, Noted[Known]] = {}
        self._locked_until = 0.0

    def all(self) -> dict[SessionId, Noted[Known]]:
        """Everything that is known."""
        rows = (self._noted(row) for row in self._rows(_ALL))
        return {**{item[0]: item[1] for item in rows if item is not None}, **self._unsaved}

    def get(self, session_id: SessionId) -> Noted[Known] | None:
        """What is known of one journal."""
        if unsaved := self._unsaved.get(session_id):
            return unsaved
        rows = self._rows(f"{_ALL} WHERE id = ?", session_id)
        found = self._noted(rows[0]) if rows else None
        return found[1] if found is not None else None

    def keep(self, noted: Mapping[SessionId, Noted[Known]], gone: Collection[SessionId] = ()) -> None:
        """Remember these and forget those."""
        for name in gone:
            self._unsaved.pop(name, None)
        self._unsaved.update(noted)
        if (not self._unsaved and not gone) or time.monotonic() < self._locked_until:
            return
        with suppress(OSError):
            try:
                self._write(gone)
            except sqlite3.Error as error:
                if is_damage(error):
                    self._file.discard()
                    with suppress(sqlite3.Error):
                        self._write(gone)

    def _write(self, gone: Collection[SessionId]) -> None:
        unsaved = dict(self._unsaved)  # at once: another thread may keep something meanwhile
        rows = [_row(name, entry) for name, entry in unsaved.items()]
        with self._file.opened(busy_s=_BUSY_S) as connection, transaction(connection):
            connection.executemany("DELETE FROM session WHERE id = ?", [(name,) for name in gone])
            connection.executemany("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?)", rows)
        for name, entry in unsaved.items():
            if self._unsaved.get(name) is entry:  # and not what another thread has kept of it since
                self._unsaved.pop(name, None)

    def _rows(self, statement: str, *values: str) -> list[_Row]:
        if time.monotonic() < self._locked_until:
            return []
        try:
            with self._file.opened_to_read(busy_s=_BUSY_S) as connection:
                return connection.execute(statement, values).fetchall() if connection else []
        except sqlite3.Error as error:
            if is_lock(error):
                self._locked_until = time.monotonic() + _LOCKED_S
            if is_damage(error):
                with suppress(OSError):
                    self._file.discard()
        except OSError:
            pass
        return []

    def _noted(self, row: _Row) -> tuple[SessionId, Noted[Known]] | None:
        """Return what a row says; None for one that a damaged file made up."""
        session_id, size, mtime_ns, read_bytes, witness, text = row
        try:
            return session_id, Noted(JournalMark((size, mtime_ns), read_bytes, witness), self._read(text))
        except (ValueError, TypeError):
            return None

    def _read(self, text: str) -> Known:
        """Return what `_written` wrote. Raises `ValueError`."""
        try:
            return self._decoder.decode(text)
        except DecodeError:  # an escaped surrogate too
            return convert(json.loads(text), learned(self._decoder.type), str_keys=True)


def _row(session_id: SessionId, noted: Noted[Known]) -> _Row:
    mark = noted.mark
    return session_id, *mark.state, mark.read_bytes, mark.witness, _written(noted.known)


def _written(known: object) -> str:
    try:
        return encode_json(known).decode()
    except UnicodeEncodeError:  # a lone surrogate, as in a title: SQLite has no form for it, escaped JSON has
        return json.dumps(to_builtins(known, str_keys=True))
