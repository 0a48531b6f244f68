"""The journal: one JSON object a line, appended and never rewritten. It *is* the session.

A record is one `write` of a whole line. What a killed process or a full disk left half-written is found when the file
is opened for writing: a last line without its newline is completed if it is whole, and otherwise moved to a `.torn`
file beside the journal. A line that cannot be read is reported with its number and skipped, never a reason to refuse
the session.
"""

import errno
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from desktop_agent.core.codec import MalformedLineError, decode_event, encode_event
from desktop_agent.core.errors import StorageError
from desktop_agent.core.events import JournalEvent
from desktop_agent.core.model import JsonObject
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal_mark import JOURNAL_NAME as JOURNAL_NAME
from desktop_agent.core.store.payloads import externalise, internalise

_TAIL_BLOCK_BYTES = 65_536
_O_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that could not be read: its number from 1, and why."""

    line: int
    reason: str


class Journal:
    """The writing end. One per session and process; all methods block, so the session calls them in a thread."""

    def __init__(self, path: Path, descriptor: int, size: int, blobs: Blobs) -> None:
        self._path = path
        self._descriptor = descriptor
        self._size = size
        self._blobs = blobs
        self._has_name = _has_name(descriptor)

    @classmethod
    def create(cls, path: Path, blobs: Blobs) -> "Journal":
        """Start a new journal. Raises `StorageError` when the file exists or cannot be made."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | _O_BINARY, 0o600)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return cls(path, descriptor, 0, blobs)

    @classmethod
    def open(cls, path: Path, blobs: Blobs) -> "tuple[Journal, Path | None]":
        """Open for appending and mend a torn tail; also return where the torn bytes were kept, if there were any."""
        try:
            torn = _mend_tail(path)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | _O_BINARY)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return cls(path, descriptor, os.fstat(descriptor).st_size, blobs), torn

    def append(self, event: JournalEvent, *, is_durable: bool) -> None:
        """Write one record; `is_durable` also waits for the disk.

        Raises `StorageError` with the journal as it was before: a part of a line is cut off again.
        """
        fields = externalise(encode_event(event), self._blobs)
        line = _encode_line(fields)
        try:
            if self._has_name and not _has_name(self._descriptor):
                raise FileNotFoundError(errno.ENOENT, "The journal was deleted while it was in use")
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            if is_durable:
                os.fsync(self._descriptor)
        except OSError as error:
            self._cut_back()
            raise _cannot_write(self._path, error) from error
        self._size += len(line)

    def close(self) -> None:
        """Make everything durable and let go of the file. Safe to call twice."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            os.fsync(descriptor)
        except OSError as error:
            raise _cannot_write(self._path, error) from error
        finally:
            os.close(descriptor)

    def _cut_back(self) -> None:
        """Remove a partly written line. If even that fails, the next open mends it."""
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            return


def read_journal(path: Path, blobs: Blobs) -> tuple[list[JournalEvent], list[Damage]]:
    """Return all readable events and what could not be read. Never changes the file.

    Raises `StorageError` only when the file itself cannot be read.
    """
    events: list[JournalEvent] = []
    damages: list[Damage] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    fields, lost = internalise(_decode_line(line), blobs)
                    events.append(decode_event(fields))
                    damages += [Damage(number, reason) for reason in lost]
                except MalformedLineError as error:
                    damages.append(Damage(number, str(error)))
    except OSError as error:
        raise StorageError(
            "The session could not be read.",
            hint="Check the permissions of the data folder.",
            detail=f"{path}: {error}",
        ) from error
    return events, damages


def _encode_line(fields: JsonObject) -> bytes:
    try:
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form; escaped it is valid JSON and comes back the same.
        return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _decode_line(line: bytes) -> JsonObject:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MalformedLineError(f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise MalformedLineError("not a JSON object")
    return cast("JsonObject", fields)


def _mend_tail(path: Path) -> Path | None:
    """End the file with a newline, moving a broken last line away. Returns where it went."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        start = _last_line_start(file, size)
        file.seek(start)
        tail = file.read()
        if not tail:
            return None
        kept = None
        try:
            _decode_line(tail)
            file.write(b"\n")
        except MalformedLineError:
            kept = path.with_name(f"{path.name}.{start}.torn")
            kept.write_bytes(tail)
            file.truncate(start)
        file.flush()
        os.fsync(file.fileno())
        return kept


def _last_line_start(file: BinaryIO, size: int) -> int:
    """Return where the part after the last newline starts; `size` when the file ends with one."""
    position = size
    while position > 0:
        length = min(_TAIL_BLOCK_BYTES, position)
        file.seek(position - length)
        newline = file.read(length).rfind(b"\n")
        if newline >= 0:
            return position - length + newline + 1
        position -= length
    return 0


def _has_name(descriptor: int) -> bool:
    """Whether the open file is still in a folder. What is written to one that is not would be gone with the process."""
    return os.fstat(descriptor).st_nlink > 0


def _cannot_write(path: Path, error: OSError) -> StorageError:
    return StorageError(
        "The session could not be written, so the agent stopped.",
        hint="Free some disk space, or check the permissions of the data folder; then go on.",
        detail=f"{path}: {error}",
    )
