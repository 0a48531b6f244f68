"""What paths were, and the contents that git does not have: the rows of the baseline that a walk is written down in."""

# ruff: noqa: S608 -- only constants of this module are put into statements; values are always bound.

import json
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.capture.entries import Entry, Kept
from desktop_agent.core.capture.scan import UNKNOWN, USUAL, Known, Signature, as_known
from desktop_agent.core.protocol.model import FileExtras
from desktop_agent.core.system.files import digest_of

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
"""How many values are bound to one statement."""
_COLUMNS = "path, signature, is_racy, digest, object, kept, extras, links"


class SpoiledError(sqlite3.DatabaseError):
    """A row holds something that was never written to it, which SQLite itself does not notice."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    sqlite_errorname = "SQLITE_CORRUPT"


class EntryTable:
    """What every path was from one generation to another, within one transaction."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def known(self) -> Known:
        """Return what is there now, for a walk to compare with."""
        rows = self._database.execute(f"SELECT path, signature, is_racy FROM entry WHERE died = {_FOREVER}")
        return as_known(
            (path, UNKNOWN if is_racy else signature, signature[4])
            for path, signature, is_racy in ((path_of(row[0]), _unpacked(row[1]), row[2]) for row in rows)
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
        """Write down that `path` is gone, or something else, from `generation` on."""
        self._database.execute(
            f"UPDATE entry SET died = ? WHERE path = ? AND died = {_FOREVER}", (generation, stored_path(path))
        )

    def touch(self, entry: Entry) -> None:
        """Write down other times of what is otherwise the same."""
        self._database.execute(
            "UPDATE entry SET signature = ?, is_racy = ?, extras = COALESCE(?, extras), links = ? "
            f"WHERE path = ? AND died = {_FOREVER}",
            (
                _SIGNATURE.pack(*entry.signature), entry.is_racy, _packed(entry.extras), entry.links,
                stored_path(entry.path),
            ),
        )  # fmt: skip

    def fill(self, entry: Entry, content: bytes | None) -> None:
        """Write down the content of a file that had not been read, and has not changed since."""
        self._database.execute(
            f"UPDATE entry SET digest = ?, object = ?, kept = ? WHERE path = ? AND died = {_FOREVER}",
            (bytes.fromhex(entry.digest), bytes.fromhex(entry.object), entry.kept, stored_path(entry.path)),
        )
        self._keep(entry, content)

    def touched_since(self, generation: int) -> list[str]:
        """Return the paths that were written down anew since `generation`, from 1 on, sorted."""
        rows = self._database.execute(
            "SELECT path FROM entry WHERE born > ? AND born > 1 "
            "UNION SELECT path FROM entry WHERE died > ? AND died < ?",
            (generation, generation, _FOREVER),
        )
        return sorted(path_of(row[0]) for row in rows)

    def is_touched_between(self, path: str, first: int, last: int) -> bool:
        """Whether `path` was written down anew after generation `first` and up to `last`."""
        query = "SELECT 1 FROM entry WHERE path = ? AND (born BETWEEN ? AND ? OR died BETWEEN ? AND ?)"
        return (
            self._database.execute(query, (stored_path(path), first + 1, last, first + 1, last)).fetchone() is not None
        )

    def of_sizes(self, sizes: Iterable[int], generation: int) -> list[Entry]:
        """Return the files that had one of these sizes in a generation."""
        wanted, found = sorted(set(sizes)), list[Entry]()
        for start in range(0, len(wanted), _MOST_VALUES):
            some = wanted[start : start + _MOST_VALUES]
            found += self._many(f"size IN ({','.join('?' * len(some))})", generation, some)
        return found

    def in_folder(self, folder: str, sizes: range, generation: int) -> list[Entry]:
        """Return the files directly in a folder whose size in a generation was within `sizes`."""
        begin, end = (f"{folder}/", f"{folder}0") if folder else ("", "\U0010ffff")  # "0" comes right after "/"
        where, values = "path >= ? AND path < ? AND size BETWEEN ? AND ?", (begin, end, sizes.start, sizes.stop - 1)
        found = self._many(where, generation, values)
        return [entry for entry in found if entry.path.rpartition("/")[0] == folder]

    def _many(self, where: str, generation: int, values: Sequence[int | str]) -> list[Entry]:
        query = f"SELECT {_COLUMNS} FROM entry WHERE {where} AND born <= ? AND died > ?"
        return [_entry(row) for row in self._database.execute(query, (*values, generation, generation))]

    def left_with_git(self) -> list[tuple[Entry, int]]:
        """Return the entries that are left to git, each with the generation since when."""
        query = f"SELECT {_COLUMNS}, born FROM entry WHERE kept = 'git'"
        return [(_entry(row[:8]), row[8]) for row in self._database.execute(query)]

    def take_over(self, entry: Entry, born: int, content: bytes) -> None:
        """Keep a copy of what was left to git."""
        copied = replace(entry, digest=digest_of(content), kept="copy")
        self._database.execute(
            "UPDATE entry SET digest = ?, kept = 'copy' WHERE path = ? AND born = ?",
            (bytes.fromhex(copied.digest), stored_path(entry.path), born),
        )
        self._keep(copied, content)

    def copy(self, digest: Digest) -> bytes | None:
        """Return a content of which a copy was kept."""
        row = self._database.execute("SELECT content FROM copy WHERE digest = ?", (bytes.fromhex(digest),)).fetchone()
        try:
            return None if row is None else zlib.decompress(row[0])
        except zlib.error as error:
            raise SpoiledError(str(error)) from error

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
            f"UPDATE entry SET kept = 'git' WHERE path = ? AND died = {_FOREVER}",
            ((stored_path(path),) for path in paths),
        )
        self._drop_copies()

    def forget_before(self, generation: int) -> None:
        """Let go of what had died by this generation, and of the copies that only it had."""
        # Both conditions, so that the index of what has died is used.
        if self._database.execute(f"DELETE FROM entry WHERE died <= ? AND died < {_FOREVER}", (generation,)).rowcount:
            self._drop_copies()

    def _drop_copies(self) -> None:
        """Let go of the copies that no row refers to."""
        self._database.execute(
            "DELETE FROM copy WHERE NOT EXISTS (SELECT 1 FROM entry WHERE kept = 'copy' AND entry.digest = copy.digest)"
        )

    def _one(self, path: str, where: str, *values: int) -> Entry | None:
        row = self._database.execute(
            f"SELECT {_COLUMNS} FROM entry WHERE path = ? AND {where}", (stored_path(path), *values)
        ).fetchone()
        return None if row is None else _entry(row)


def _entry(row: tuple[str | bytes, bytes, int, bytes, bytes, Kept, str | None, int]) -> Entry:
    try:
        return _read_entry(row)
    except (TypeError, ValueError, AttributeError) as error:
        raise SpoiledError(str(error)) from error


def _read_entry(row: tuple[str | bytes, bytes, int, bytes, bytes, Kept, str | None, int]) -> Entry:
    path, signature, is_racy, digest, identifier, kept, extras, links = row
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


def stored_path(path: str) -> str | bytes:
    """Return a path as the database holds it: its bytes where they are no text."""
    if not path.isascii():
        try:
            path.encode()
        except UnicodeEncodeError:
            return os.fsencode(path)
    return path


def path_of(path: str | bytes) -> str:
    """Return the path that the database holds like this."""
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
    try:
        changed, modified, size, inode, mode = _SIGNATURE.unpack(signature)
    except (TypeError, struct.error) as error:
        raise SpoiledError(str(error)) from error
    return changed, modified, size, inode, mode
