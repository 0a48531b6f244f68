"""The index file: one SQLite database in the cache, without a word of the text it is about.

A piece's number is when it was written, in milliseconds: FTS5 hands matches out by number, so the newest come first
without any sorting, and a range of time is a range of numbers. What else a search can be narrowed to (kind, tool,
folder) is a word in a column of its own, so that FTS5 meets it halfway. Pieces of a session that is gone stay as
numbers without a session until so many are gone that the index is made anew.
"""

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.search.sessions.pieces import SessionPiece, UnansweredCall
from desktop_agent.core.search.sessions.question import words_of
from desktop_agent.core.store.cache_file import CacheFile
from desktop_agent.core.store.journal.journal_mark import JournalMark, State

_VERSION = 2
_SCHEMA = (
    """CREATE TABLE session (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
      read_bytes INTEGER NOT NULL, witness BLOB NOT NULL, workspace TEXT NOT NULL, calls TEXT NOT NULL)""",
    """CREATE TABLE piece (
      id INTEGER PRIMARY KEY, session INTEGER NOT NULL, place INTEGER NOT NULL, nth INTEGER NOT NULL, tool TEXT,
      title TEXT, file TEXT)""",
    "CREATE TABLE folder (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE)",
    """CREATE VIRTUAL TABLE text USING fts5 (
      words, file, tags, content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2')""",
    "INSERT INTO text (text, rank) VALUES ('hashsize', 8000000)",
)
_GONE = 0
"""The session of pieces that no longer have one."""
_LATEST = 2**50


class IndexedJournal(NamedTuple):
    """How far a journal is in the index."""

    id: int
    mark: JournalMark
    workspace: str
    calls: dict[str, UnansweredCall]


class FoundPiece(NamedTuple):
    """A piece that matches: where it stands, and what its call was."""

    session: SessionId
    place: int
    nth: int
    call: UnansweredCall


def index_file(folder: Path) -> CacheFile:
    """Return the file of the index in the cache `folder`."""
    return CacheFile(folder / "session-search.sqlite3", _VERSION, _SCHEMA, ("text", "folder", "piece", "session"))


def number_of(moment: datetime) -> int:
    """Return the first number a piece of this moment can have."""
    return max(1, min(_LATEST, int(moment.astimezone(UTC).timestamp() * 1000)))


class SearchDatabase:
    """An open index. All methods block and raise `sqlite3.Error`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    # -- what is known --

    def states(self) -> dict[SessionId, tuple[State, int]]:
        """How every journal in the index was, and how far it was read."""
        rows = self._sql.execute("SELECT name, size, mtime_ns, read_bytes FROM session")
        return {name: ((size, mtime_ns), read_bytes) for name, size, mtime_ns, read_bytes in rows}

    def session(self, name: SessionId) -> IndexedJournal | None:
        """How far a journal is in the index, None when it is not."""
        row = self._sql.execute(
            "SELECT id, size, mtime_ns, read_bytes, witness, workspace, calls FROM session WHERE name = ?", (name,)
        ).fetchone()
        if row is None:
            return None
        number, size, mtime_ns, read_bytes, witness, workspace, calls = row
        open_calls = {key: UnansweredCall(*call) for key, call in json.loads(calls).items()}
        return IndexedJournal(number, JournalMark((size, mtime_ns), read_bytes, witness), workspace, open_calls)

    def is_worn(self, most_gone: int) -> bool:
        """Whether most pieces, and more than `most_gone`, belong to no session any longer."""
        (gone,) = self._sql.execute("SELECT count(*) FROM piece WHERE session = ?", (_GONE,)).fetchone()
        (all_,) = self._sql.execute("SELECT count(*) FROM piece").fetchone()
        return gone > max(most_gone, all_ - gone)

    # -- writing --

    def begin(self, name: SessionId) -> int:
        """Make room for a session, empty, and return its number."""
        new = "INSERT INTO session (name, size, mtime_ns, read_bytes, witness, workspace, calls)"
        return self._sql.execute(f"{new} VALUES (?, 0, 0, 0, x'', '', '{{}}')", (name,)).lastrowid or 0

    def keep(self, known: IndexedJournal) -> None:
        """Remember how far a journal is in the index now."""
        mark = known.mark
        self._sql.execute(
            "UPDATE session SET size = ?, mtime_ns = ?, read_bytes = ?, witness = ?, workspace = ?, calls = ? "
            "WHERE id = ?",
            (*mark.state, mark.read_bytes, mark.witness, known.workspace, json.dumps(known.calls), known.id),
        )

    def forget(self, number: int) -> None:
        """Forget a session, and find nothing of it any longer."""
        self._sql.execute("UPDATE piece SET session = ? WHERE session = ?", (_GONE, number))
        self._sql.execute("DELETE FROM session WHERE id = ?", (number,))

    def forget_named(self, name: SessionId) -> None:
        """Forget a session by its name."""
        for (number,) in self._sql.execute("SELECT id FROM session WHERE name = ?", (name,)).fetchall():
            self.forget(number)

    def folder(self, path: str) -> int:
        """Return the number of a folder, a new one if it has none."""
        self._sql.execute("INSERT OR IGNORE INTO folder (path) VALUES (?)", (path,))
        (number,) = self._sql.execute("SELECT id FROM folder WHERE path = ?", (path,)).fetchone()
        return number

    def add(self, session: int, wanted: int, at: tuple[int, int], piece: SessionPiece, title: str, folder: int) -> int:
        """Add a piece that stands `at` a place, as the n-th there, under the next free number; return that."""
        number = wanted
        row = (session, *at, *(storable(text) or None for text in (piece.tool, title, piece.file)))
        while not self._sql.execute(
            "INSERT OR IGNORE INTO piece VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *row)
        ).rowcount:
            number += 1
        tags = f"{kind_tag(piece.kind)} {tool_tag(piece.tool)} {folder_tag(folder)}"
        self._sql.execute(
            "INSERT INTO text (rowid, words, file, tags) VALUES (?, ?, ?, ?)",
            (number, storable(piece.text), storable(piece.file), tags),
        )
        return number

    def tidy(self) -> None:
        """Bring the parts of the index together, so that a search has fewer to look at."""
        self._sql.execute("INSERT INTO text (text, rank) VALUES ('merge', 2000)")
        self._sql.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def settle(self) -> None:
        """Bring all parts of the index together: takes a while, and is worth it after a rebuild."""
        self._sql.execute("INSERT INTO text (text) VALUES ('optimize')")
        self._sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # -- reading --

    def folder_known(self, path: str) -> int | None:
        """Return the number of a folder, None when no session was in it."""
        row = self._sql.execute("SELECT id FROM folder WHERE path = ?", (storable(path),)).fetchone()
        return row[0] if row else None

    def found(self, expression: str, first: int, last: int, limit: int) -> Iterator[FoundPiece]:
        """Yield the newest pieces that match, of those with a number from `first` up to `last`."""
        numbers = self._sql.execute(
            "SELECT rowid FROM text WHERE text MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?",
            (expression, first, last, limit),
        ).fetchall()
        for (number,) in numbers:
            row = self._sql.execute(
                "SELECT session.name, place, nth, tool, title, file FROM piece "
                "JOIN session ON session.id = piece.session WHERE piece.id = ?",
                (number,),
            ).fetchone()
            if row is not None:
                name, place, nth, tool, title, file = row
                yield FoundPiece(name, place, nth, UnansweredCall(tool or "", title or "", file or ""))


def storable(text: str) -> str:
    """Return the text without the lone surrogates that SQLite cannot keep."""
    return text.encode("utf-8", "replace").decode()


def kind_tag(kind: str) -> str:
    """The word that stands for a kind."""
    return f"kind{kind}"


def tool_tag(tool: str) -> str:
    """The word that stands for a tool, or nothing."""
    return f"tool{''.join(words_of(tool))}" if tool else ""


def folder_tag(folder: int) -> str:
    """The word that stands for a folder."""
    return f"folder{folder}"
