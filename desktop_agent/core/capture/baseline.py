"""The baseline: what a workspace held, in numbered generations, so that a snapshot stays while others move on.

One SQLite file in the cache per workspace, shared by all sessions and processes. A row says what one path was from one
generation to another; a snapshot is a generation that a session still needs. Contents are kept only of what git does
not have. Deleting the file loses the time to read the workspace once more, and the snapshots of commands that run or
were cut off.
"""

# ruff: noqa: S608 -- only constants of this module are put into statements; values are always bound.

import json
import os
import sqlite3
import struct
import time
import zlib
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
from msgspec import Struct

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.private_files import make_private_file, make_private_folder
from desktop_agent.core.capture.entries import Entry, Kept, as_note
from desktop_agent.core.capture.scan import UNKNOWN, USUAL, Known, Signature, as_known
from desktop_agent.core.protocol.model import FileExtras, FileImage

_FORMAT = 4
_FOREVER = 2**62
_BUSY_S = 60
_SPOILED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_STALE_NS = 14 * 86_400 * 10**9
"""How long the snapshot of a dead process waits for its session to be opened again."""

_SCHEMA = f"""
CREATE TABLE entry (
  path TEXT NOT NULL, born INTEGER NOT NULL, died INTEGER NOT NULL DEFAULT {_FOREVER},
  signature BLOB NOT NULL, is_racy INTEGER NOT NULL, size INTEGER NOT NULL,
  digest BLOB NOT NULL, object BLOB NOT NULL, kept TEXT NOT NULL, extras TEXT, links INTEGER NOT NULL,
  PRIMARY KEY (path, born)
) WITHOUT ROWID;
CREATE INDEX entry_born ON entry (born) WHERE born > 1;
CREATE INDEX entry_died ON entry (died) WHERE died < {_FOREVER};
CREATE INDEX entry_copied ON entry (digest, size, died) WHERE kept = 'copy';
CREATE TABLE copy (digest BLOB PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE snapshot (
  number INTEGER PRIMARY KEY AUTOINCREMENT, generation INTEGER NOT NULL, last_generation INTEGER,
  process INTEGER NOT NULL, process_started REAL NOT NULL,
  begun_ns INTEGER NOT NULL, ended_ns INTEGER, is_released INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE written (path TEXT NOT NULL, digest TEXT NOT NULL, mode INTEGER NOT NULL, at_ns INTEGER NOT NULL);
CREATE TABLE state (generation INTEGER NOT NULL);
INSERT INTO state VALUES (0);
"""
_USUAL = FileExtras(owner=USUAL.owner)
_SIGNATURE = struct.Struct("<qqqQI")
_COLUMNS = "path, signature, is_racy, digest, object, kept, extras, links"


class CommandSpan(Struct, frozen=True):
    """When a command ran: by the clock, and by generations. Open ends are those of now."""

    number: int
    generation: int
    last_generation: int
    begun_ns: int
    ended_ns: int


class BaselineSession:
    """One transaction on the baseline."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    @property
    def generation(self) -> int:
        """The newest generation."""
        return self._database.execute("SELECT generation FROM state").fetchone()[0]

    def advance(self) -> int:
        """Begin the next generation and return its number."""
        self._database.execute("UPDATE state SET generation = generation + 1")
        return self.generation

    # -- entries --

    def known(self) -> Known:
        """Return what is there now, for a walk to compare with."""
        rows = self._database.execute(f"SELECT path, signature, is_racy FROM entry WHERE died = {_FOREVER}")
        return as_known(
            (path, UNKNOWN if is_racy else signature, signature[4])
            for path, signature, is_racy in ((_name(row[0]), _unpacked(row[1]), row[2]) for row in rows)
        )

    def current(self, path: str) -> Entry | None:
        """Return what is known of `path` now."""
        return self._one(path, f"died = {_FOREVER}")

    def at(self, path: str, generation: int) -> Entry | None:
        """Return what `path` was in a generation."""
        return self._one(path, "born <= ? AND died > ?", generation, generation)

    def put(self, entry: Entry, generation: int, content: bytes | None) -> None:
        """Write down what `entry.path` is from `generation` on, and keep `content` if it is to be copied."""
        self.end(entry.path, generation)
        self._database.execute(
            f"INSERT OR REPLACE INTO entry (born, size, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                generation, entry.size, _stored(entry.path), _SIGNATURE.pack(*entry.signature), entry.is_racy,
                bytes.fromhex(entry.digest), bytes.fromhex(entry.object), entry.kept,
                _packed(entry.extras), entry.links,
            ),
        )  # fmt: skip
        self._keep(entry, content)

    def _keep(self, entry: Entry, content: bytes | None) -> None:
        if entry.kept == "copy" and content is not None:
            packed = zlib.compress(content, 1)
            self._database.execute("INSERT OR IGNORE INTO copy VALUES (?, ?)", (bytes.fromhex(entry.digest), packed))

    def end(self, path: str, generation: int) -> None:
        """Write down that `path` is gone, or something else, from `generation` on."""
        self._database.execute(
            f"UPDATE entry SET died = ? WHERE path = ? AND died = {_FOREVER}", (generation, _stored(path))
        )

    def touch(self, entry: Entry) -> None:
        """Write down other times of what is otherwise the same."""
        self._database.execute(
            "UPDATE entry SET signature = ?, is_racy = ?, extras = COALESCE(?, extras), links = ? "
            f"WHERE path = ? AND died = {_FOREVER}",
            (
                _SIGNATURE.pack(*entry.signature), entry.is_racy, _packed(entry.extras), entry.links,
                _stored(entry.path),
            ),
        )  # fmt: skip

    def fill(self, entry: Entry, content: bytes | None) -> None:
        """Write down the content of a file that had not been read, and has not changed since."""
        self._database.execute(
            f"UPDATE entry SET digest = ?, object = ?, kept = ? WHERE path = ? AND died = {_FOREVER}",
            (bytes.fromhex(entry.digest), bytes.fromhex(entry.object), entry.kept, _stored(entry.path)),
        )
        self._keep(entry, content)

    def touched_since(self, generation: int) -> list[str]:
        """Return the paths that were written down anew since `generation`, from 1 on, sorted."""
        rows = self._database.execute(
            "SELECT path FROM entry WHERE born > ? AND born > 1 "
            "UNION SELECT path FROM entry WHERE died > ? AND died < ?",
            (generation, generation, _FOREVER),
        )
        return sorted(_name(row[0]) for row in rows)

    def is_touched_between(self, path: str, first: int, last: int) -> bool:
        """Whether `path` was written down anew after generation `first` and up to `last`."""
        query = "SELECT 1 FROM entry WHERE path = ? AND (born BETWEEN ? AND ? OR died BETWEEN ? AND ?)"
        return self._database.execute(query, (_stored(path), first + 1, last, first + 1, last)).fetchone() is not None

    # -- contents --

    def copy(self, digest: Digest) -> bytes | None:
        """Return a content of which a copy was kept."""
        row = self._database.execute("SELECT content FROM copy WHERE digest = ?", (bytes.fromhex(digest),)).fetchone()
        return None if row is None else zlib.decompress(row[0])

    def copied(self) -> list[Entry]:
        """Return the present files of which a copy is kept."""
        rows = self._database.execute(f"SELECT {_COLUMNS} FROM entry WHERE kept = 'copy' AND died = {_FOREVER}")
        return [_entry(row) for row in rows]

    def copied_bytes(self) -> int:
        """Return how large the present files are of which a copy is kept."""
        query = f"SELECT COALESCE(SUM(size), 0) FROM entry WHERE kept = 'copy' AND died = {_FOREVER}"
        return self._database.execute(query).fetchone()[0]

    def leave_to_git(self, paths: Iterable[str]) -> None:
        """Keep no copy of these any more: git has them."""
        self._database.executemany(
            f"UPDATE entry SET kept = 'git' WHERE path = ? AND died = {_FOREVER}", ((_stored(path),) for path in paths)
        )
        self._drop_copies()

    # -- snapshots --

    def pin(self) -> int:
        """Make a snapshot of the newest generation and return its number."""
        cursor = self._database.execute(
            "INSERT INTO snapshot (generation, process, process_started, begun_ns) VALUES (?, ?, ?, ?)",
            (self.generation, os.getpid(), _started(os.getpid()), time.time_ns()),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def span(self, number: int) -> CommandSpan | None:
        """Return when the command of a snapshot ran; None when the snapshot is gone."""
        row = self._database.execute(
            "SELECT number, generation, last_generation, begun_ns, ended_ns FROM snapshot "
            "WHERE number = ? AND is_released = 0",
            (number,),
        ).fetchone()
        return None if row is None else self._span(row)

    def close_span(self, number: int) -> None:
        """Write down that the command of a snapshot has ended, unless that is known."""
        self._database.execute(
            "UPDATE snapshot SET ended_ns = ?, last_generation = ? WHERE number = ? AND ended_ns IS NULL",
            (time.time_ns(), self.generation, number),
        )

    def move(self, numbers: Iterable[int], to: int) -> list[int]:
        """Let snapshots begin where the last look at snapshot `to` was; return the numbers of what they were before.

        Those stay for as long as a session asks who was at work at that time.
        """
        until = self._database.execute("SELECT last_generation, ended_ns FROM snapshot WHERE number = ?", (to,))
        row = until.fetchone()
        if row is None or row[0] is None:
            return []
        past: list[int] = []
        for number in numbers:
            cursor = self._database.execute(
                "INSERT INTO snapshot "
                "(generation, last_generation, process, process_started, begun_ns, ended_ns, is_released) "
                "SELECT generation, ?, process, process_started, begun_ns, ?, 1 FROM snapshot WHERE number = ?",
                (*row, number),
            )
            assert cursor.lastrowid is not None
            past.append(cursor.lastrowid)
            self._database.execute(
                "UPDATE snapshot SET generation = ?, begun_ns = ?, last_generation = NULL, ended_ns = NULL "
                "WHERE number = ?",
                (*row, number),
            )
        self._sweep()
        return past

    def overlapping(self, span: CommandSpan) -> list[CommandSpan]:
        """Return the commands of others that ran while this one did."""
        rows = self._database.execute(
            "SELECT number, generation, last_generation, begun_ns, ended_ns, process, process_started FROM snapshot "
            "WHERE number <> ? AND begun_ns < ? AND (ended_ns IS NULL OR ended_ns > ?)",
            (span.number, span.ended_ns, span.begun_ns),
        ).fetchall()
        return [self._span(row) for row in rows if row[4] is not None or _is_alive(row[5], row[6])]

    def release(self, number: int) -> None:
        """Let go of a snapshot, and of every row, copy and note that no snapshot needs any more."""
        self._database.execute("UPDATE snapshot SET is_released = 1 WHERE number = ?", (number,))
        self.close_span(number)
        stale = self._database.execute(
            "SELECT number, process, process_started FROM snapshot WHERE is_released = 0 AND begun_ns < ?",
            (time.time_ns() - _STALE_NS,),
        ).fetchall()
        for other, process, started in stale:
            if not _is_alive(process, started):
                self._database.execute(
                    "UPDATE snapshot SET is_released = 1, ended_ns = begun_ns WHERE number = ?", (other,)
                )
        self._sweep()

    def _sweep(self) -> None:
        oldest, since_ns = self._database.execute(
            "SELECT COALESCE(MIN(generation), ?), COALESCE(MIN(begun_ns), ?) FROM snapshot WHERE is_released = 0",
            (self.generation, time.time_ns()),
        ).fetchone()
        self._database.execute("DELETE FROM snapshot WHERE is_released = 1 AND ended_ns < ?", (since_ns,))
        self._database.execute("DELETE FROM written WHERE at_ns < ?", (since_ns,))
        # Both conditions, so that the index of what has died is used.
        if self._database.execute(f"DELETE FROM entry WHERE died <= ? AND died < {_FOREVER}", (oldest,)).rowcount:
            self._drop_copies()

    def _drop_copies(self) -> None:
        """Let go of the copies that no row refers to."""
        self._database.execute(
            "DELETE FROM copy WHERE NOT EXISTS (SELECT 1 FROM entry WHERE kept = 'copy' AND entry.digest = copy.digest)"
        )

    # -- what we wrote ourselves --

    def note_written(self, images: Mapping[str, FileImage | None]) -> None:
        """Remember what was written by something that is on record elsewhere."""
        now = time.time_ns()
        self._database.executemany(
            "INSERT INTO written VALUES (?, ?, ?, ?)",
            ((_stored(path), *as_note(image), now) for path, image in images.items()),
        )

    def written_since(self, at_ns: int) -> dict[str, set[tuple[str, int]]]:
        """Return what was noted since then: digest (empty for removed) and mode, by path."""
        found: dict[str, set[tuple[str, int]]] = {}
        for path, digest, mode in self._database.execute(
            "SELECT path, digest, mode FROM written WHERE at_ns >= ?", (at_ns,)
        ):
            found.setdefault(_name(path), set()).add((digest, mode))
        return found

    def _one(self, path: str, where: str, *values: int) -> Entry | None:
        row = self._database.execute(
            f"SELECT {_COLUMNS} FROM entry WHERE path = ? AND {where}", (_stored(path), *values)
        ).fetchone()
        return None if row is None else _entry(row)

    def _span(self, row: tuple[int, int, int | None, int, int | None]) -> CommandSpan:
        number, generation, last, begun, ended, *_ = row
        return CommandSpan(
            number,
            generation,
            self.generation if last is None else last,
            begun,
            time.time_ns() if ended is None else ended,
        )


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
    for statement in _SCHEMA.split(";\n"):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {_FORMAT}")


def _entry(row: tuple[str | bytes, bytes, int, bytes, bytes, Kept, str | None, int]) -> Entry:
    path, signature, is_racy, digest, identifier, kept, extras, links = row
    return Entry(
        path=_name(path),
        signature=_unpacked(signature),
        is_racy=bool(is_racy),
        digest=digest.hex(),
        object=identifier.hex(),
        kept=kept,
        extras=_extras(extras),
        links=links,
    )


def _stored(path: str) -> str | bytes:
    """Return a path as the database holds it: its bytes where they are no text."""
    if not path.isascii():
        try:
            path.encode()
        except UnicodeEncodeError:
            return os.fsencode(path)
    return path


def _name(path: str | bytes) -> str:
    return path if isinstance(path, str) else os.fsdecode(path)


def _packed(extras: FileExtras | None) -> str | None:
    """Return what a file has beside its content as it is stored: the empty text for what nearly all have."""
    if extras is None or extras == _USUAL:
        return None if extras is None else ""
    return json.dumps([extras.owner, extras.attributes])


def _extras(packed: str | None) -> FileExtras | None:
    if not packed:
        return None if packed is None else _USUAL
    (user, group), attributes = json.loads(packed)
    return FileExtras(owner=(user, group), attributes=tuple((name, value) for name, value in attributes))


def _unpacked(signature: bytes) -> Signature:
    changed, modified, size, inode, mode = _SIGNATURE.unpack(signature)
    return changed, modified, size, inode, mode


def _started(process: int) -> float:
    with suppress(psutil.Error):
        return psutil.Process(process).create_time()
    return 0.0


def _is_alive(process: int, started: float) -> bool:
    """Whether a process still runs, and is not another one with its number."""
    return psutil.pid_exists(process) and abs(_started(process) - started) < 1
