"""The index file: one SQLite database in the cache, which may be deleted, damaged or used by others at any time."""

import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from desktop_agent.core.search_index.passages import Passage
from desktop_agent.core.search_index.words import humps

_FORMAT = 1
_BUSY_S = 10
_SCHEMA = (
    "CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, signature TEXT NOT NULL, left_out TEXT)",
    "CREATE TABLE passage (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first INTEGER NOT NULL, symbols TEXT)",
    "CREATE INDEX passage_file ON passage (file)",
    """CREATE VIRTUAL TABLE text USING fts5 (
      path, symbols, words, content, tokenize = 'porter unicode61 remove_diacritics 2')""",
)
_WEIGHTS = "bm25(5.0, 8.0, 2.0, 1.0)"
"""Of path, symbols, words and content: what a passage is called says more than what it mentions."""

_DAMAGE = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""What SQLite says of a file that is none of ours, or no longer: no such table, malformed, not a database."""

_INTERRUPT_AFTER = 50_000
"""Steps of SQLite's machine between two looks at whether to stop: a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that matches."""

    path: str
    first: int
    symbols: tuple[str, ...]
    content: str
    score: float
    """The higher, the better."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether `error` means that the file must be made anew."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def discard(path: Path) -> None:
    """Delete the index file."""
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


@contextmanager
def opened(path: Path, is_stopped: Callable[[], bool]) -> Generator["IndexDatabase"]:
    """Open the index to write it, an empty one if there is none. The caller is the only writer.

    Raises `sqlite3.Error`; also, `interrupted`, when stopped.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _connected(path, is_stopped) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        database = IndexDatabase(connection)
        database.prepare()
        yield database


@contextmanager
def opened_to_read(path: Path, is_stopped: Callable[[], bool]) -> Generator["IndexDatabase | None"]:
    """Open the index beside its writer, or give None while there is none to read. Raises like `opened`."""
    # An empty file is one whose writer is about to begin; even a reader's short lock would be in its way then.
    if not path.exists() or path.stat().st_size == 0:
        yield None
        return
    with _connected(path, is_stopped) as connection:
        database = IndexDatabase(connection)
        yield database if database.is_ready() else None


@contextmanager
def _connected(path: Path, is_stopped: Callable[[], bool]) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)) as connection:
        connection.set_progress_handler(is_stopped, _INTERRUPT_AFTER)
        yield connection


class IndexDatabase:
    """An open index. All methods block."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def is_ready(self) -> bool:
        """Whether the tables are there in this format."""
        (version,) = self._sql.execute("PRAGMA user_version").fetchone()
        return version == _FORMAT

    def prepare(self) -> None:
        """Make the tables unless they are there in this format."""
        if self.is_ready():
            return
        with self.transaction():
            for table in ("text", "passage", "file"):
                self._sql.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in _SCHEMA:
                self._sql.execute(statement)
            self._sql.execute(f"PRAGMA user_version = {_FORMAT}")

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Keep everything the block writes, or nothing when it raises. One writer at a time; others wait."""
        self._sql.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._sql.in_transaction:
                self._sql.execute("ROLLBACK")
            raise
        self._sql.execute("COMMIT")

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

    def put(self, path: str, signature: str, content: Iterable[Passage], left_out: str | None = None) -> None:
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
