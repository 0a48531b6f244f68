"""The index file: one SQLite database in the cache, which may be deleted, damaged or used by others at any time."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.search.files.passages import CodePassage
from desktop_agent.core.search.files.question import humps
from desktop_agent.core.store.cache_file import CacheFile, transaction

_FORMAT = 2
_SCHEMA = (
    "CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, signature TEXT NOT NULL, left_out TEXT)",
    "CREATE TABLE passage (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first INTEGER NOT NULL, symbols TEXT)",
    "CREATE INDEX passage_file ON passage (file)",
    """CREATE VIRTUAL TABLE text USING fts5 (
      path, symbols, words, content, tokenize = 'porter unicode61 remove_diacritics 2')""",
)
_WEIGHTS = "bm25(5.0, 8.0, 2.0, 1.0)"
"""Of path, symbols, words and content: what a passage is called says more than what it mentions."""


class Hit(Struct, frozen=True):
    """A passage that matches."""

    path: str
    first: int
    symbols: tuple[str, ...]
    content: str
    score: float
    """The higher, the better."""


def index_file(path: Path) -> CacheFile:
    """Return the file of an index."""
    return CacheFile(path, _FORMAT, _SCHEMA, ("text", "passage", "file"))


class IndexDatabase:
    """An open index. All methods block."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def transaction(self) -> AbstractContextManager[None]:
        """Keep everything the block writes, or nothing when it raises."""
        return transaction(self._sql)

    def signatures(self) -> dict[str, str]:
        """Every file that was looked at, and how it was then."""
        return dict(self._sql.execute("SELECT path, signature FROM file"))

    def count_files(self) -> int:
        """How many files were looked at."""
        (count,) = self._sql.execute("SELECT count(*) FROM file").fetchone()
        return count

    def left_out(self) -> dict[str, int]:
        """Why files are not in the index, and how many for each reason."""
        counts = "SELECT left_out, count(*) FROM file WHERE left_out IS NOT NULL GROUP BY left_out ORDER BY left_out"
        return dict(self._sql.execute(counts))

    def put(self, path: str, signature: str, content: Iterable[CodePassage], left_out: str | None = None) -> None:
        """Replace what is known of `path`."""
        self.remove(path)
        self._sql.execute("INSERT INTO file (path, signature, left_out) VALUES (?, ?, ?)", (path, signature, left_out))
        (file,) = self._sql.execute("SELECT last_insert_rowid()").fetchone()
        searchable_path = f"{path} {humps(path)}"
        for passage in content:
            symbols = "\n".join(passage.symbols)
            row = self._sql.execute(
                "INSERT INTO passage (file, first, symbols) VALUES (?, ?, ?)", (file, passage.first, symbols)
            ).lastrowid
            self._sql.execute(
                "INSERT INTO text (rowid, path, symbols, words, content) VALUES (?, ?, ?, ?, ?)",
                (row, searchable_path, f"{symbols} {humps(symbols)}", passage.words, passage.content),
            )

    def remove(self, path: str) -> None:
        """Forget `path`."""
        row = self._sql.execute("SELECT id FROM file WHERE path = ?", (path,)).fetchone()
        if row is not None:
            self._sql.execute("DELETE FROM text WHERE rowid IN (SELECT id FROM passage WHERE file = ?)", row)
            self._sql.execute("DELETE FROM passage WHERE file = ?", row)
            self._sql.execute("DELETE FROM file WHERE id = ?", row)

    def hits(self, expression: str, wanted: Callable[[str], bool] | None) -> Iterator[Hit]:
        """Yield the passages that match, best first, in files that are `wanted`."""
        scope = ""
        if wanted is not None:
            ids = [(file,) for file, path in self._sql.execute("SELECT id, path FROM file") if wanted(path)]
            self._sql.execute("CREATE TEMP TABLE scope (file INTEGER PRIMARY KEY)")
            self._sql.execute("BEGIN")
            self._sql.executemany("INSERT INTO scope VALUES (?)", ids)
            self._sql.execute("COMMIT")
            scope = "AND rowid IN (SELECT id FROM passage JOIN scope USING (file))"
        ranked = f"SELECT rowid, rank FROM text WHERE text MATCH ? AND rank MATCH ? {scope} ORDER BY rank"  # noqa: S608
        for rowid, rank in self._sql.execute(ranked, (expression, _WEIGHTS)):
            found = self._sql.execute(
                "SELECT file.path, passage.first, passage.symbols, text.content FROM passage "
                "JOIN file ON file.id = passage.file JOIN text ON text.rowid = passage.id WHERE passage.id = ?",
                (rowid,),
            ).fetchone()
            if found is not None:
                path, first, symbols, content = found
                yield Hit(path, first, tuple(symbols.split("\n")) if symbols else (), content, -rank)


def signature_of(status: os.stat_result) -> str:
    """Return what changes whenever a file does."""
    return f"{status.st_size}.{status.st_mtime_ns}.{status.st_ino}"
