"""Notes about a session that no process has open: its title, and whether it is pinned or put away.

The session is held for writing for a moment. Nothing of it is recovered or concluded, no model is built, and what a
crash left is there for the next opening; only a torn last line is moved aside, as always before something is appended.
"""

from datetime import datetime
from pathlib import Path

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.events import SessionArchived, SessionPinned, SessionRenamed
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal
from desktop_agent.core.store.journal.lines import open_regular, read_lines
from desktop_agent.core.store.journal.reading import Damage, read_line
from desktop_agent.core.store.lock import SessionLock

Filing = SessionRenamed | SessionArchived | SessionPinned

_TAIL_BYTES = 256 * 1024


def file_session(path: Path, filing: Filing, now: datetime, blobs: Blobs) -> None:
    """Append `filing` to the journal at `path`, durably. Blocks.

    Raises `SessionBusyError` when the session is open somewhere, and `StorageError`.
    """
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
    """The number of the last record: from the end of the file, or all of it when that says nothing."""
    try:
        size = path.stat().st_size
        found = 0
        for start in (max(0, size - _TAIL_BYTES), 0):
            with open_regular(path) as file:
                file.seek(start)
                if start:
                    file.readline(_TAIL_BYTES)  # the rest of a line
                for line in read_lines(file):
                    record = read_line(line, blobs)
                    found = found if isinstance(record, Damage) else max(found, record.event.seq)
            if found:
                return found
    except OSError as error:
        raise StorageError("The session could not be read.", detail=f"{path}: {error}") from error
    return 0
