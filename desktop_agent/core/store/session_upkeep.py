"""Stored sessions as a whole: opened, with their lock and journal; else forked, renamed, pinned, archived, removed."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError, UsageError, storage_error
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event, encode_event
from desktop_agent.core.protocol.events import SessionArchived, SessionPinned, SessionRenamed
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.collect import SessionUse, report_storage
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal, encode_line
from desktop_agent.core.store.journal.journal_reader import externalise, internalise, refuse_links
from desktop_agent.core.store.journal.lines import decode_line, open_regular, read_lines
from desktop_agent.core.store.journal.records import read_last_records
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.session_folder import SessionLock, new_session_folder
from desktop_agent.core.system.staged_file import TEMPORARY_MARK, sync_folders
from desktop_agent.core.transcript import SessionInfo

_NOT_COPIED = frozenset({"session_opened", "session_archived", "session_pinned", "queued", "unqueued"})


class Fork(Struct, frozen=True, kw_only=True):
    session_id: SessionId
    app_version: str
    at: datetime
    before_turn: int | None = None
    """The first turn that is left out; `None` copies all finished turns."""


class _Extent(Struct):
    blobs: Blobs
    end: int = 0
    opened: ev.SessionOpened | None = None
    header: SessionInfo = field(default_factory=SessionInfo)
    """Only the title of the source's session is used."""
    begun: int | None = None
    """The offset at which the unfinished turn begins."""
    prepared: int | None = None
    """The offset at which an unfinished undo or redo begins."""

    def take(self, fields: JsonObject, offset: int, length: int) -> None:
        match fields.get("type"):
            case "prompt_submitted":
                self.begun = offset
                if not self.header.title:
                    self._apply(fields)
            case "turn_ended":
                self.begun = None
            case "session_opened" if self.end == 0:  # only the first line names the workspace
                self._apply(fields)
            case "session_renamed":
                self._apply(fields)
            case "changes_prepared" if self.begun is None:
                self.prepared = offset
            case "changes_recorded" | "changes_undone" | "changes_redone":
                self.prepared = None
            case _:
                pass
        self.end = offset + length

    @property
    def whole(self) -> int:
        return min(at for at in (self.end, self.begun, self.prepared) if at is not None)

    def _apply(self, fields: JsonObject) -> None:
        with suppress(MalformedLineError):
            event = decode_event(internalise(fields, self.blobs)[0])
            self.header.apply(event)
            if isinstance(event, ev.SessionOpened):
                self.opened = event


def fork_journal(source: Path, sessions: Path, fork: Fork, blobs: Blobs) -> None:
    """Create the session `fork` from the journal `source`, which may be running. Blocks; memory is bounded by one line.

    An unfinished turn, queued prompts and open questions are left out. Raises `UsageError` if there is no such turn,
    and `StorageError`; no session is created then.
    """
    hint = "Free some disk space, or check the permissions of the data folder."
    with storage_error("The conversation could not be copied.", hint=hint):
        refuse_links(source)
        with open_regular(source) as file:
            extent = _extent(file, fork.before_turn, blobs)
            with new_session_folder(sessions, fork.session_id, fork.at) as folder:
                _write_copy(file, folder / JOURNAL_NAME, extent, fork, blobs)


def _extent(file: BinaryIO, before_turn: int | None, blobs: Blobs) -> _Extent:
    extent = _Extent(blobs)
    for offset, length, fields in _records(file):
        if before_turn is not None and fields.get("type") == "prompt_submitted" and fields.get("turn") == before_turn:
            return extent
        extent.take(fields, offset, length)
    if before_turn is not None:
        raise UsageError(f"There is no turn {before_turn} in this session.")
    return extent


def _write_copy(file: BinaryIO, target: Path, extent: _Extent, fork: Fork, blobs: Blobs) -> None:
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
        if extent.opened is None:
            raise StorageError("The conversation cannot be copied: the first line of its journal cannot be read.")
        opened = replace(extent.opened, session_id=fork.session_id, app_version=fork.app_version, seq=1)
        copy.write(_encoded(encode_event(opened)))
        number = 1
        for offset, _, fields in _records(file):
            if offset >= extent.whole:
                break
            if fields.get("type") in _NOT_COPIED:
                continue
            number += 1
            copy.write(_encoded(fields | {"seq": number}))
        forked = ev.SessionForked(
            seq=number + 1,
            at=fork.at,
            source=extent.opened.session_id,
            title=extent.header.title,
            before_turn=fork.before_turn,
        )
        copy.write(_encoded(externalise(encode_event(forked), blobs)))
        copy.flush()
        os.fsync(copy.fileno())


def _records(file: BinaryIO) -> Iterator[tuple[int, int, JsonObject]]:
    file.seek(0)
    for line in read_lines(file):
        if line.is_ended:
            with suppress(MalformedLineError, RecursionError):
                fields = decode_line(line)
                if isinstance(fields.get("type"), str):
                    yield line.offset, line.size, fields


def _encoded(fields: JsonObject) -> bytes:
    try:
        return encode_line(fields)
    except ValueError as error:  # the new record number can make the line too long
        raise StorageError("The conversation cannot be copied.", detail=str(error)) from error


Filing = SessionRenamed | SessionArchived | SessionPinned

_TAIL_BYTES = 256 * 1024


def file_session(path: Path, filing: Filing, now: datetime, blobs: Blobs) -> None:
    """Rename, pin or archive. Blocks. Raises `StorageError`, and `SessionBusyError` if it is open elsewhere."""
    lock = SessionLock(path.parent)
    try:
        journal, _ = Journal.open(path, blobs)
        try:
            journal.append(filing.stamped(_last_seq(path, blobs) + 1, now), is_durable=True)
        finally:
            journal.close()
    finally:
        lock.release()


def _last_seq(path: Path, blobs: Blobs) -> int:
    for max_bytes in (_TAIL_BYTES, sys.maxsize):
        records = read_last_records(path, blobs, count=sys.maxsize, max_bytes=max_bytes, yield_gil=lambda: None)
        if found := max((record.event.seq for record in records if record.event is not None), default=0):
            return found
    return 0


NEVER_WRITTEN = "This session was never saved: the application ended, or the disk was full, while it was being created."

_TRASH = f"{TEMPORARY_MARK}trash-"


def session_use(sessions: Path, session_id: SessionId, blobs: Blobs) -> SessionUse:
    """Return the space that a session uses. Deleting it frees `own_bytes` a day later. Raises `StorageError`."""
    uses = (use for use in report_storage(blobs, sessions).sessions if use.name == session_id)
    return next(uses, SessionUse(session_id, 0, 0, 0))


def remove_session(folder: Path) -> None:
    """Remove the session in `folder`. Blocks. Raises `SessionBusyError` and `StorageError`; then nothing was removed.

    The folder is renamed first, so that a crash leaves either a whole session or none.
    """
    trash = folder.with_name(f"{_TRASH}{secrets.token_hex(8)}.tmp")
    lock = SessionLock(folder)
    try:
        with storage_error("The session could not be deleted.", hint="Check the permissions of the data folder."):
            if os.name == "nt":  # a folder in which a file is open cannot be renamed there
                lock.release()
            folder.rename(trash)
            sync_folders([folder.parent])
    finally:
        lock.release()
    shutil.rmtree(trash, ignore_errors=True)


def discard_session(folder: Path) -> None:
    """Remove a session that was never written. Blocks; never raises."""
    with suppress(OSError):
        if (folder / JOURNAL_NAME).stat().st_size == 0:
            shutil.rmtree(folder)


def empty_trash(sessions: Path) -> int:
    found = [path for path in sessions.glob(f"{_TRASH}*.tmp") if path.is_dir() and not path.is_symlink()]
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return len(found)


class SessionStorage(Struct, frozen=True):
    session_id: SessionId
    lock: SessionLock
    journal: Journal

    @classmethod
    def create(cls, session_id: SessionId, catalog: SessionCatalog, blobs: Blobs) -> "SessionStorage":
        """Create a session on disk. Blocks. Raises `StorageError`."""
        folder = catalog.session_folder(session_id)
        journal = Journal.create(folder / JOURNAL_NAME, blobs)
        try:
            return cls(session_id, SessionLock(folder), journal)
        except BaseException:
            journal.close()
            discard_session(folder)
            raise

    @classmethod
    def open(cls, session_id: SessionId, catalog: SessionCatalog, blobs: Blobs) -> "tuple[SessionStorage, Path | None]":
        """Lock a session and open its journal; also return the file with a torn last record, if any. Blocks."""
        path = catalog.journal_path(session_id)
        lock = SessionLock(path.parent)
        try:
            journal, torn = Journal.open(path, blobs)
        except BaseException:
            lock.release()
            raise
        return cls(session_id, lock, journal), torn

    def close(self) -> None:
        self.journal.close()
        self.lock.release()

    def discard(self, catalog: SessionCatalog) -> None:
        """Close a new session that was never written, and remove it. Blocks."""
        with suppress(StorageError):
            self.journal.close()
        self.lock.release()
        discard_session(catalog.session_folder(self.session_id))
