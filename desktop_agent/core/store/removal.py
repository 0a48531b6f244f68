"""Removing a session: at once for everybody, then file by file.

The folder is renamed to a name of the trash, within the folder of the sessions, so that a crash leaves either a whole
session or none. What a crash left of the rest is removed by `empty_trash`, with the next tidying. Blobs that no session
needs any more go with the next collection; files of the workspace are not touched.
"""

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.collect import SessionUse, report_storage
from desktop_agent.core.store.journal.journal_mark import JOURNAL_NAME
from desktop_agent.core.store.lock import SessionLock
from desktop_agent.core.system.staged_file import TEMPORARY_MARK, sync_folders

NEVER_WRITTEN = (
    "Nothing of this session was ever written: the application ended, or the disk was full, while it was being created."
)
"""Of a session whose journal is empty."""

_TRASH = f"{TEMPORARY_MARK}trash-"


def session_use(sessions: Path, session_id: SessionId, blobs: Blobs) -> SessionUse:
    """Return what a session takes of the disk. Reads the journals of all sessions. Raises `StorageError`.

    What removing it makes free besides its folder, its `own_bytes`, is free after a day.
    """
    uses = (use for use in report_storage(blobs, sessions).sessions if use.name == session_id)
    return next(uses, SessionUse(session_id, 0, 0, 0))


def remove_session(folder: Path) -> None:
    """Remove the session in `folder`, with everything in it. Blocks.

    Raises `SessionBusyError` when it is open somewhere, and `StorageError`; then all of it is still there.
    """
    trash = folder.with_name(f"{_TRASH}{secrets.token_hex(8)}.tmp")
    lock = SessionLock(folder)
    try:
        if os.name == "nt":  # a folder in which a file is open cannot be renamed there
            lock.release()
        folder.rename(trash)
        sync_folders([folder.parent])
    except OSError as error:
        raise StorageError(
            "The session could not be deleted.", hint="Check the permissions of the data folder.", detail=str(error)
        ) from error
    finally:
        lock.release()
    shutil.rmtree(trash, ignore_errors=True)


def discard_session(folder: Path) -> None:
    """Remove a session that was never written and is not open anywhere. Blocks; raises nothing.

    If it cannot be removed, `verify` reports it, and its repair tries again.
    """
    with suppress(OSError):
        if (folder / JOURNAL_NAME).stat().st_size == 0:
            shutil.rmtree(folder)


def empty_trash(sessions: Path) -> int:
    """Remove what a crash left of deleted sessions; return of how many. What cannot be removed now is for later."""
    found = [path for path in sessions.glob(f"{_TRASH}*.tmp") if path.is_dir() and not path.is_symlink()]
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return len(found)
