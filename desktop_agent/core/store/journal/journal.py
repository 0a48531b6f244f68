"""The journal: one JSON object per line, appended and never rewritten. It *is* the session.

After a failed `fsync`, the next can succeed without writing the data (https://lwn.net/Articles/752063/), so lines that
may not be on the disk are written again.
"""

import errno
import json
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic_core import PydanticSerializationError, to_json

from desktop_agent.core.base.errors import StorageError, is_disk_full
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.codec import MalformedLineError, encode_event
from desktop_agent.core.protocol.events import FORMAT_VERSION, JournalEvent
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal import lines
from desktop_agent.core.store.journal.journal_reader import externalise, refuse_links
from desktop_agent.core.store.journal.journal_scan import JOURNAL_NAME as JOURNAL_NAME
from desktop_agent.core.store.journal.lines import MAX_LINE_BYTES, decode
from desktop_agent.core.system.private_files import make_private_folder
from desktop_agent.core.system.staged_file import (
    BLOCK_BYTES,
    O_BINARY,
    O_CLOEXEC,
    O_NOFOLLOW,
    StagedFile,
    close,
    free_path,
    read_all,
    sync_folders,
    write_all,
)

_VERSION = regex(rb'\n\{"v":(\d{1,9}),')
_HEAD_BYTES = 64
_END_BYTES = 2**18
_MAX_WAITING_BYTES = 8 * 2**20
_O_SAFE = O_BINARY | O_NOFOLLOW | O_CLOEXEC


class Journal:
    """One per session and process. All methods block, so the session calls them in a thread."""

    def __init__(self, path: Path, descriptor: int, status: os.stat_result, blobs: Blobs) -> None:
        """Take over `descriptor`, open for appending to a synced file with this `status`."""
        self._path = path
        self._descriptor = descriptor
        self._size = status.st_size
        self._blobs = blobs
        self._has_name = status.st_nlink > 0  # some file systems do not count hard links
        self._has_place = self._is_at_its_place(status)  # some file systems have no stable inode numbers
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._is_sound = True

    @classmethod
    def create(cls, path: Path, blobs: Blobs) -> "Journal":
        """Create a journal. Raises `StorageError` if the file exists or cannot be made."""
        with _writing(path):
            make_private_folder(path.parent)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | _O_SAFE, 0o600)
            try:
                sync_folders((path.parent, path.parent.parent))
                return cls(path, descriptor, os.fstat(descriptor), blobs)
            except OSError:
                close(descriptor)
                with suppress(OSError):  # an empty journal would be a session that never was
                    path.unlink()
                    path.parent.rmdir()
                raise

    @classmethod
    def open(cls, path: Path, blobs: Blobs) -> "tuple[Journal, Path | None]":
        """A torn last line is moved to a file, whose path is also returned. Raises `StorageError`.

        A journal that a newer version has written to is refused and not touched: what this version does not know
        could change what its own records mean.
        """
        with _writing(path):
            refuse_links(path)
            if _is_of_newer_version(path):
                raise StorageError(
                    "A newer version of Desktop Agent has written to this session, so it was left as it is.",
                    hint="Update Desktop Agent to go on with it.",
                )
            torn = _mend_tail(path)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | _O_SAFE)
            try:
                os.fsync(descriptor)  # lines of a killed process may not be on the disk yet
                return cls(path, descriptor, os.fstat(descriptor), blobs), torn
            except OSError:
                close(descriptor)
                raise

    def append(self, event: JournalEvent, *, is_durable: bool) -> None:
        """Append an event. `is_durable` waits for the disk. On `StorageError`, the journal is unchanged."""
        line = self._encode(event)
        with _writing(self._path):
            self._check()
            try:
                self._make_sound()
                write_all(self._descriptor, line)
                if is_durable or self._waiting_bytes + len(line) > _MAX_WAITING_BYTES:
                    os.fsync(self._descriptor)
                    self._forget_waiting()
                else:
                    self._waiting.append(line)
                    self._waiting_bytes += len(line)
            except OSError:
                self._is_sound = False
                self._cut_back()
                raise
        self._size += len(line)

    def close(self) -> None:
        """Safe to call twice."""
        if self._descriptor < 0:
            return
        try:
            with _writing(self._path):
                self._make_sound()
                os.fsync(self._descriptor)
        finally:
            descriptor, self._descriptor = self._descriptor, -1
            close(descriptor)

    def _encode(self, event: JournalEvent) -> bytes:
        try:
            return encode_line(externalise(encode_event(event), self._blobs))
        except (ValueError, RecursionError) as error:
            raise StorageError(
                "An event cannot be recorded, so the agent stopped.",
                hint="Continue with another prompt.",
                detail=f"{event.type}: {error}",
            ) from error

    def _check(self) -> None:
        status = os.fstat(self._descriptor)
        if self._has_name and status.st_nlink == 0:  # new lines would be lost with the process
            raise FileNotFoundError(errno.ENOENT, "The journal was deleted while it was in use")
        if self._has_place and not self._is_at_its_place(status):  # blobs would be stored in another place
            raise FileNotFoundError(errno.ENOENT, "The journal was moved away while it was in use")
        if self._is_sound and status.st_size != self._size:
            raise OSError(errno.EBUSY, "The journal was changed by another program; open the session again")

    def _is_at_its_place(self, status: os.stat_result) -> bool:
        try:
            return os.path.samestat(self._path.stat(), status)
        except FileNotFoundError:
            return False

    def _make_sound(self) -> None:
        if self._is_sound:
            return
        descriptor = os.open(self._path, os.O_RDWR | _O_SAFE)  # the old one reports a failed sync only once
        try:
            if not os.path.samestat(os.fstat(descriptor), os.fstat(self._descriptor)):
                raise FileNotFoundError(errno.ENOENT, "The journal was replaced while it was in use")
            start = self._size - self._waiting_bytes
            if os.fstat(descriptor).st_size < self._size:
                raise OSError(errno.EIO, "The journal lost what was written to it")
            os.ftruncate(descriptor, self._size)
            os.lseek(descriptor, start, os.SEEK_SET)
            write_all(descriptor, b"".join(self._waiting))
            os.fsync(descriptor)
        finally:
            close(descriptor)
        self._forget_waiting()
        self._is_sound = True

    def _forget_waiting(self) -> None:
        self._waiting.clear()
        self._waiting_bytes = 0

    def _cut_back(self) -> None:
        """Remove an incomplete line. If that fails, it is removed before the next record or at the next opening."""
        with suppress(OSError):
            if os.fstat(self._descriptor).st_size > self._size:
                os.ftruncate(self._descriptor, self._size)


def _is_of_newer_version(path: Path) -> bool:
    """Whether the first line or one of the last ones is. A version goes on in its own format with each opening."""
    with lines.open_regular(path) as file:
        head = file.read(_HEAD_BYTES)
        file.seek(max(0, file.seek(0, os.SEEK_END) - _END_BYTES))
        versions = _VERSION.findall(b"\n" + head) + _VERSION.findall(file.read())
    return any(int(version) > FORMAT_VERSION for version in versions)


def _mend_tail(path: Path) -> Path | None:
    descriptor = os.open(path, os.O_RDWR | _O_SAFE)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        start = _last_line_start(descriptor, size)
        if start == size:
            return None
        kept = None
        if _is_whole(descriptor, start, size):
            os.lseek(descriptor, size, os.SEEK_SET)
            write_all(descriptor, b"\n")
        else:
            kept = _keep(path, descriptor, start)
            os.ftruncate(descriptor, start)
        os.fsync(descriptor)
        return kept
    finally:
        close(descriptor)


def _is_whole(descriptor: int, start: int, size: int) -> bool:
    if size - start > MAX_LINE_BYTES:
        return False
    os.lseek(descriptor, start, os.SEEK_SET)
    try:
        decode(read_all(descriptor))
    except MalformedLineError:
        return False
    return True


def _keep(path: Path, descriptor: int, start: int) -> Path:
    kept = free_path(path.parent, f"{path.name}.{start}", ".torn")  # a later record may be cut off at the same place
    os.lseek(descriptor, start, os.SEEK_SET)
    with StagedFile(path.parent) as draft:
        while block := os.read(descriptor, BLOCK_BYTES):
            draft.write(block)
        draft.sync()
        draft.place(kept)
    sync_folders((path.parent,))
    return kept


def _last_line_start(descriptor: int, size: int) -> int:
    position = size
    while position > 0:
        length = min(BLOCK_BYTES, position)
        os.lseek(descriptor, position - length, os.SEEK_SET)
        newline = os.read(descriptor, length).rfind(b"\n")
        if newline >= 0:
            return position - length + newline + 1
        position -= length
    return 0


@contextmanager
def _writing(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        title = "The session could not be written, so the agent stopped."
        hint = "Free some disk space, or check the permissions of the data folder; then go on."
        if is_disk_full(error):
            title = "The disk is full: the session could not be written, so the agent stopped."
            hint = "Free some disk space, then go on."
        elif error.errno == errno.ENOENT:
            hint = "Its file or the data folder was moved or deleted: put it back, then go on."
        raise StorageError(title, hint=hint, detail=f"{path}: {error}") from error


_NOT_FINITE = (b"NaN", b"Infinity")


def encode_line(fields: JsonObject) -> bytes:
    """Return the fields as a line. Raises `ValueError` for values that no reader would accept, such as NaN."""
    try:
        line = to_json(fields)
    except PydanticSerializationError:
        # A lone surrogate has no UTF-8 form; escaped it is valid JSON and comes back the same.
        line = _encoded_slowly(fields)
    else:
        if any(name in line for name in _NOT_FINITE):  # probably inside a text, but checking would cost more
            line = _encoded_slowly(fields)
    if len(line) > lines.MAX_LINE_BYTES:
        raise ValueError(f"a record of {len(line)} bytes is too long")
    return line + b"\n"


def _encoded_slowly(fields: JsonObject) -> bytes:
    try:
        return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
