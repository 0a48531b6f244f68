"""What is known of all journals, in one file of the cache. It may be lost, damaged or not writable: that costs time.

What cannot be written is kept in memory, so that a read-only disk does not make every look at the list a long one.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import DecodeError, convert
from msgspec.json import Decoder
from msgspec.json import encode as encode_json

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.core.store.cache_file import CacheFile, is_damage, transaction
from desktop_agent.core.store.journal.journal_mark import JournalMark
from desktop_agent.core.store.journal_summary import JournalSummary

_SCHEMA = (
    """CREATE TABLE session (
      id TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, read_bytes INTEGER NOT NULL,
      witness BLOB NOT NULL, summary TEXT NOT NULL) WITHOUT ROWID""",
)
_VERSION = 4
"""Of the schema, and of what a summary is in it."""
_ALL = "SELECT id, size, mtime_ns, read_bytes, witness, summary FROM session"
_BUSY_S = 1.0
"""How long to wait for others before doing without."""

_SUMMARY = Decoder(SessionSummary | None)

_Row = tuple[str, int, int, int, bytes, str]


class SummaryCache:
    """Glances by session. All methods block, none raises for what is wrong with the file."""

    def __init__(self, path: Path) -> None:
        self._file = CacheFile(path, _VERSION, _SCHEMA, ("session",))
        self._unsaved: dict[SessionId, JournalSummary] = {}

    def all(self) -> dict[SessionId, JournalSummary]:
        """Everything that is known."""
        rows = (_entry(row) for row in self._rows(_ALL))
        return {**{item[0]: item[1] for item in rows if item is not None}, **self._unsaved}

    def get(self, session_id: SessionId) -> JournalSummary | None:
        """What is known of one journal."""
        if unsaved := self._unsaved.get(session_id):
            return unsaved
        rows = self._rows(f"{_ALL} WHERE id = ?", session_id)
        known = _entry(rows[0]) if rows else None
        return known[1] if known is not None else None

    def keep(self, summaries: Mapping[SessionId, JournalSummary], gone: Collection[SessionId] = ()) -> None:
        """Remember these and forget those."""
        for name in gone:
            self._unsaved.pop(name, None)
        self._unsaved.update(summaries)
        if not self._unsaved and not gone:
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
        try:
            with self._file.opened_to_read() as connection:
                return connection.execute(statement, values).fetchall() if connection else []
        except sqlite3.Error as error:
            if is_damage(error):
                with suppress(OSError):
                    self._file.discard()
        except OSError:
            pass
        return []


def _row(session_id: SessionId, entry: JournalSummary) -> _Row:
    mark = entry.mark
    return session_id, *mark.state, mark.read_bytes, mark.witness, _written(entry.summary)


def _entry(row: _Row) -> tuple[SessionId, JournalSummary] | None:
    """Return what a row says; None for one that a damaged file made up."""
    session_id, size, mtime_ns, read_bytes, witness, summary = row
    try:
        mark = JournalMark((size, mtime_ns), read_bytes, witness)
        return session_id, JournalSummary(mark, _read(summary))
    except (ValueError, TypeError):
        return None


def _written(summary: SessionSummary | None) -> str:
    try:
        return encode_json(summary).decode()
    except UnicodeEncodeError:  # a lone surrogate, as in a title: SQLite has no form for it, escaped JSON has
        assert summary is not None
        return json.dumps(encode(summary))


def _read(text: str) -> SessionSummary | None:
    """Return what `_written` wrote. Raises `ValueError`."""
    try:
        return _SUMMARY.decode(text)
    except DecodeError:  # an escaped surrogate too
        return convert(json.loads(text), SessionSummary | None)
