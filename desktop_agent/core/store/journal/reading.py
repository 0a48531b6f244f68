"""Reads a journal line by line: each becomes an event, or a damage that says what is wrong with it.

A line that cannot be read is reported with its number and skipped, never a reason to refuse the session.
"""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import is_session_id
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event
from desktop_agent.core.protocol.events import JournalEvent, SessionOpened
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.lines import (
    Line,
    decode_line,
    open_regular,
    read_lines,
)
from desktop_agent.core.store.journal.migrations import migrated
from desktop_agent.core.store.journal.payloads import internalise, may_have_moved


class Damage(Struct, frozen=True):
    """A line that could not be read: its number from 1, and why."""

    line: int
    reason: str


class Readable(NamedTuple):
    """One readable line: its event, and which of its contents are lost."""

    event: JournalEvent
    lost: list[str]


def read_journal(path: Path, blobs: Blobs) -> tuple[list[JournalEvent], list[Damage]]:
    """Return all readable events and what could not be read. Never changes the file.

    Raises `StorageError` only when the file itself cannot be read.
    """
    events: list[JournalEvent] = []
    damages: list[Damage] = []
    for line, found in read_each_line(path, blobs):
        if isinstance(found, Damage):
            damages.append(found)
        else:
            events.append(found.event)
            damages += [Damage(line.number, reason) for reason in found.lost]
    return events, damages


def read_each_line(
    path: Path, blobs: Blobs, start: int = 0, blobs_of: Callable[[Line], Blobs] | None = None
) -> Iterator[tuple[Line, Readable | Damage]]:
    """Yield every line from byte `start` on, with what it says or why it does not count.

    `blobs_of` says which of several `Blobs` has the contents of a line. Raises `StorageError` like `read_journal`.
    """
    is_first = start == 0
    try:
        refuse_links(path)
        with open_regular(path) as file:
            file.seek(start)
            for line in read_lines(file):
                found = read_line(line, blobs_of(line) if blobs_of is not None else blobs)
                if isinstance(found, Readable):
                    found = placed(found, line, path.parent.name, is_first=is_first)
                    is_first = is_first and not isinstance(found, Readable)
                yield line, found
    except OSError as error:
        raise cannot_read(path, error) from error


def read_line(line: Line, blobs: Blobs) -> Readable | Damage:
    """Return what a line says, or why it cannot be read."""
    try:
        fields = migrated(decode_line(line))
        lost: list[str] = []
        if line.content is not None and may_have_moved(line.content):
            fields, lost = internalise(fields, blobs)
        return Readable(decode_event(fields), lost)
    except MalformedLineError as error:
        is_torn = not line.is_ended
        return Damage(line.number, f"cut off in the middle: {error}" if is_torn else str(error))
    except RecursionError:
        return Damage(line.number, "nested too deeply")


def refuse_links(path: Path) -> None:
    """Raise `OSError` when a journal or its folder is a link: it would be read, and written, somewhere else."""
    if path.is_symlink() or path.parent.is_symlink():
        raise OSError(errno.ELOOP, "A session is not opened through a link")


def placed(record: Readable, line: Line, folder: str, *, is_first: bool) -> Readable | Damage:
    """Return the record where it stands. Only the first may say which session it is, and where it works."""
    event = record.event
    if not isinstance(event, SessionOpened):
        return record
    if not is_first:
        return Damage(line.number, "a second session_opened: only the first line may say where to work")
    if is_session_id(folder) and event.session_id != folder:
        reason = f"it names another session, {event.session_id[:40]!r}; the folder's name counts"
        return Readable(replace(event, session_id=folder), [*record.lost, reason])
    return record


def cannot_read(path: Path, error: OSError) -> StorageError:
    """Return what to raise when a journal cannot be read."""
    return StorageError(
        "The session could not be read.", hint="Check the permissions of the data folder.", detail=f"{path}: {error}"
    )
