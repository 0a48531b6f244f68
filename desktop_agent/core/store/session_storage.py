"""A session on disk while it is open: its lock and its journal."""

from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.session_folder import SessionLock
from desktop_agent.core.store.session_upkeep import discard_session


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
