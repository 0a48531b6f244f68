"""The rows of the baseline: entries of paths, contents that git does not have, snapshots, the application's writes."""

import json
import os
import secrets
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.capture.scan import UNKNOWN, USUAL, Known, Signature, as_known
from desktop_agent.core.capture.transitions import Entry, Kept, as_note
from desktop_agent.core.protocol.model import FileExtras, FileImage
from desktop_agent.core.system.files import digest_of

# ruff: noqa: S608 -- only constants of this module are put into statements; values are always bound.


_FOREVER = 2**62
ENTRY_SCHEMA = f"""
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
"""
_USUAL = FileExtras(owner=USUAL.owner)
_SIGNATURE = struct.Struct("<qqqQI")
_MOST_VALUES = 500
_COLUMNS = "path, signature, is_racy, digest, object, kept, extras, links"


class SpoiledError(sqlite3.DatabaseError):
    """Damage that SQLite does not notice."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    sqlite_errorname = "SQLITE_CORRUPT"


class EntryTable:
    """The entry of every path in each generation. For use within one transaction."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def known(self) -> Known:
        rows = self._database.execute(f"SELECT path, signature, is_racy FROM entry WHERE died = {_FOREVER}")
        return as_known(
            (path, UNKNOWN if is_racy else signature, signature[4])
            for path, signature, is_racy in ((path_of(row[0]), _unpacked(row[1]), row[2]) for row in rows)
        )

    def current(self, path: str) -> Entry | None:
        return self._one(path, f"died = {_FOREVER}")

    def at(self, path: str, generation: int) -> Entry | None:
        return self._one(path, "born <= ? AND died > ?", generation, generation)

    def put(self, entry: Entry, generation: int, content: bytes | None) -> None:
        self.end(entry.path, generation)
        self._database.execute(
            f"INSERT OR REPLACE INTO entry (born, size, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                generation, entry.size, stored_path(entry.path), _SIGNATURE.pack(*entry.signature), entry.is_racy,
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
        self._database.execute(
            f"UPDATE entry SET died = ? WHERE path = ? AND died = {_FOREVER}", (generation, stored_path(path))
        )

    def touch(self, entry: Entry) -> None:
        self._database.execute(
            "UPDATE entry SET signature = ?, is_racy = ?, extras = COALESCE(?, extras), links = ? "
            f"WHERE path = ? AND died = {_FOREVER}",
            (
                _SIGNATURE.pack(*entry.signature), entry.is_racy, _packed(entry.extras), entry.links,
                stored_path(entry.path),
            ),
        )  # fmt: skip

    def fill(self, entry: Entry, content: bytes | None) -> None:
        self._database.execute(
            f"UPDATE entry SET digest = ?, object = ?, kept = ? WHERE path = ? AND died = {_FOREVER}",
            (bytes.fromhex(entry.digest), bytes.fromhex(entry.object), entry.kept, stored_path(entry.path)),
        )
        self._keep(entry, content)

    def touched_since(self, generation: int) -> list[str]:
        """Return the paths that got a new row since `generation` (at least 1), sorted."""
        rows = self._database.execute(
            "SELECT path FROM entry WHERE born > ? AND born > 1 "
            "UNION SELECT path FROM entry WHERE died > ? AND died < ?",
            (generation, generation, _FOREVER),
        )
        return sorted(path_of(row[0]) for row in rows)

    def is_touched_between(self, path: str, first: int, last: int) -> bool:
        query = "SELECT 1 FROM entry WHERE path = ? AND (born BETWEEN ? AND ? OR died BETWEEN ? AND ?)"
        return (
            self._database.execute(query, (stored_path(path), first + 1, last, first + 1, last)).fetchone() is not None
        )

    def of_sizes(self, sizes: Iterable[int], generation: int) -> list[Entry]:
        wanted, found = sorted(set(sizes)), list[Entry]()
        for start in range(0, len(wanted), _MOST_VALUES):
            some = wanted[start : start + _MOST_VALUES]
            found += self._many(f"size IN ({','.join('?' * len(some))})", generation, some)
        return found

    def in_folder(self, folder: str, sizes: range, generation: int) -> list[Entry]:
        """The files directly in a folder whose size in `generation` was within `sizes`."""
        begin, end = (f"{folder}/", f"{folder}0") if folder else ("", "\U0010ffff")  # "0" comes right after "/"
        where, values = "path >= ? AND path < ? AND size BETWEEN ? AND ?", (begin, end, sizes.start, sizes.stop - 1)
        found = self._many(where, generation, values)
        return [entry for entry in found if entry.path.rpartition("/")[0] == folder]

    def _many(self, where: str, generation: int, values: Sequence[int | str]) -> list[Entry]:
        query = f"SELECT {_COLUMNS} FROM entry WHERE {where} AND born <= ? AND died > ?"
        return [_entry(row) for row in self._database.execute(query, (*values, generation, generation))]

    def left_with_git(self) -> list[tuple[Entry, int]]:
        query = f"SELECT {_COLUMNS}, born FROM entry WHERE kept = 'git'"
        return [(_entry(row[:8]), row[8]) for row in self._database.execute(query)]

    def take_over(self, entry: Entry, born: int, content: bytes) -> None:
        copied = replace(entry, digest=digest_of(content), kept="copy")
        self._database.execute(
            "UPDATE entry SET digest = ?, kept = 'copy' WHERE path = ? AND born = ?",
            (bytes.fromhex(copied.digest), stored_path(entry.path), born),
        )
        self._keep(copied, content)

    def copy(self, digest: Digest) -> bytes | None:
        row = self._database.execute("SELECT content FROM copy WHERE digest = ?", (bytes.fromhex(digest),)).fetchone()
        try:
            return None if row is None else zlib.decompress(row[0])
        except zlib.error as error:
            raise SpoiledError(str(error)) from error

    def copied(self) -> list[Entry]:
        rows = self._database.execute(f"SELECT {_COLUMNS} FROM entry WHERE kept = 'copy' AND died = {_FOREVER}")
        return [_entry(row) for row in rows]

    def copied_bytes(self, generation: int = _FOREVER - 1) -> int:
        query = "SELECT COALESCE(SUM(size), 0) FROM entry WHERE kept = 'copy' AND born <= ? AND died > ?"
        return self._database.execute(query, (generation, generation)).fetchone()[0]

    def leave_to_git(self, paths: Iterable[str]) -> None:
        self._database.executemany(
            f"UPDATE entry SET kept = 'git' WHERE path = ? AND died = {_FOREVER}",
            ((stored_path(path),) for path in paths),
        )
        self._drop_copies()

    def forget_before(self, generation: int) -> None:
        # Both conditions, so that the index `entry_died` is used.
        if self._database.execute(f"DELETE FROM entry WHERE died <= ? AND died < {_FOREVER}", (generation,)).rowcount:
            self._drop_copies()

    def _drop_copies(self) -> None:
        self._database.execute(
            "DELETE FROM copy WHERE NOT EXISTS (SELECT 1 FROM entry WHERE kept = 'copy' AND entry.digest = copy.digest)"
        )

    def _one(self, path: str, where: str, *values: int) -> Entry | None:
        row = self._database.execute(
            f"SELECT {_COLUMNS} FROM entry WHERE path = ? AND {where}", (stored_path(path), *values)
        ).fetchone()
        return None if row is None else _entry(row)


def _entry(row: tuple[str | bytes, bytes, int, bytes, bytes, Kept, str | None, int]) -> Entry:
    path, signature, is_racy, digest, identifier, kept, extras, links = row
    try:
        return Entry(
            path=path_of(path),
            signature=_unpacked(signature),
            is_racy=bool(is_racy),
            digest=digest.hex(),
            object=identifier.hex(),
            kept=kept,
            extras=_extras(extras),
            links=links,
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise SpoiledError(str(error)) from error


def stored_path(path: str) -> str | bytes:
    if not path.isascii():
        try:
            path.encode()
        except UnicodeEncodeError:
            return os.fsencode(path)
    return path


def path_of(path: str | bytes) -> str:
    return path if isinstance(path, str) else os.fsdecode(path)


def _packed(extras: FileExtras | None) -> str | None:
    if extras is None or extras == _USUAL:
        return None if extras is None else ""
    return json.dumps([extras.owner, extras.attributes])


def _extras(packed: str | None) -> FileExtras | None:
    if not packed:
        return None if packed is None else _USUAL
    (user, group), attributes = json.loads(packed)
    return FileExtras(owner=(user, group), attributes=tuple((name, value) for name, value in attributes))


def _unpacked(signature: bytes) -> Signature:
    try:
        changed, modified, size, inode, mode = _SIGNATURE.unpack(signature)
    except (TypeError, struct.error) as error:
        raise SpoiledError(str(error)) from error
    return changed, modified, size, inode, mode


_NUMBERS = 2**52
"""The largest integer that every reader of JSON keeps exactly."""
_STALE_NS = 14 * 86_400 * 10**9
"""How long the snapshot of a dead process is kept, in case its session is opened again."""
SNAPSHOT_SCHEMA = """
CREATE TABLE snapshot (
  number INTEGER PRIMARY KEY AUTOINCREMENT, generation INTEGER NOT NULL, last_generation INTEGER,
  process INTEGER NOT NULL, process_started REAL NOT NULL,
  begun_ns INTEGER NOT NULL, ended_ns INTEGER, is_released INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE written (path TEXT NOT NULL, digest TEXT NOT NULL, mode INTEGER NOT NULL, at_ns INTEGER NOT NULL);
"""
_NEWEST = "(SELECT generation FROM state)"
_SPAN = f"number, generation, COALESCE(last_generation, {_NEWEST}), begun_ns, COALESCE(ended_ns, ?)"


class CommandSpan(Struct, frozen=True):
    """When a command ran, by the clock and by generations. While it runs, its end is the present time."""

    number: int
    generation: int
    last_generation: int
    begun_ns: int
    ended_ns: int


class SnapshotRows:
    def __init__(self, database: sqlite3.Connection, entries: EntryTable) -> None:
        self._database = database
        self._entries = entries

    def pin(self) -> int:
        """Return the snapshot's number. It is random: a rebuilt file must not reuse a number that is in a journal."""
        number = secrets.randbelow(_NUMBERS) + 1
        self._database.execute(
            "INSERT INTO snapshot (number, generation, process, process_started, begun_ns) "
            f"VALUES (?, {_NEWEST}, ?, ?, ?)",
            (number, os.getpid(), _own_start(os.getpid()), time.time_ns()),
        )
        return number

    def span(self, number: int) -> CommandSpan | None:
        """Return when a snapshot's command ran; None if the snapshot was released."""
        row = self._database.execute(
            f"SELECT {_SPAN} FROM snapshot WHERE number = ? AND is_released = 0", (time.time_ns(), number)
        ).fetchone()
        return None if row is None else CommandSpan(*row)

    def close_span(self, number: int) -> None:
        self._database.execute(
            f"UPDATE snapshot SET ended_ns = ?, last_generation = {_NEWEST} WHERE number = ? AND ended_ns IS NULL",
            (time.time_ns(), number),
        )

    def move(self, numbers: Iterable[int], to: int) -> list[int]:
        """Move snapshots to the last report about `to`. Return the numbers of new rows with their former spans.

        Older snapshots need these rows to know which commands ran at that time.
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
        rows = self._database.execute(
            f"SELECT {_SPAN}, ended_ns IS NOT NULL, process, process_started FROM snapshot "
            "WHERE number <> ? AND begun_ns < ? AND (ended_ns IS NULL OR ended_ns > ?)",
            (time.time_ns(), span.number, span.ended_ns, span.begun_ns),
        ).fetchall()
        return [
            CommandSpan(*known)
            for *known, has_ended, process, started in rows
            if has_ended or _is_alive(process, started)
        ]

    def release(self, number: int) -> None:
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

    def note_written(self, images: Mapping[str, FileImage | None]) -> None:
        now = time.time_ns()
        self._database.executemany(
            "INSERT INTO written VALUES (?, ?, ?, ?)",
            ((stored_path(path), *as_note(image), now) for path, image in images.items()),
        )

    def written_since(self, at_ns: int) -> dict[str, set[tuple[str, int]]]:
        """Return the writes by path, as pairs of digest (empty for a removed file) and mode."""
        found: dict[str, set[tuple[str, int]]] = {}
        for path, digest, mode in self._database.execute(
            "SELECT path, digest, mode FROM written WHERE at_ns >= ?", (at_ns,)
        ):
            found.setdefault(path_of(path), set()).add((digest, mode))
        return found

    def _sweep(self) -> None:
        oldest, since_ns = self._database.execute(
            f"SELECT COALESCE(MIN(generation), {_NEWEST}), COALESCE(MIN(begun_ns), ?) FROM snapshot "
            "WHERE is_released = 0",
            (time.time_ns(),),
        ).fetchone()
        self._database.execute("DELETE FROM snapshot WHERE is_released = 1 AND ended_ns < ?", (since_ns,))
        self._database.execute("DELETE FROM written WHERE at_ns < ?", (since_ns,))
        self._entries.forget_before(oldest)


@cache
def _own_start(process: int) -> float:
    """A fork has another process id, so it computes its own time."""
    return _started(process) or 0.0


def _started(process: int) -> float | None:
    """Return when a process was started, 0 if that is not known, and `None` if there is no such process."""
    import psutil  # slow, and nothing asks before the first command

    try:
        return psutil.Process(process).create_time()
    except psutil.NoSuchProcess:
        return None
    except psutil.Error:
        return 0.0


def _is_alive(process: int, started: float) -> bool:
    """Whether this process still runs. A later process with the same id does not count."""
    now = _started(process)
    return now is not None and abs(now - started) < 1
