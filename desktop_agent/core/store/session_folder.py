"""The folder of a session: one writer at a time, and new sessions created atomically."""

import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from desktop_agent.core.base.errors import SessionBusyError, StorageError, is_disk_full
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.system.staged_file import TEMPORARY_MARK, is_left_over, sync_folders

if sys.platform != "win32":
    import fcntl

LOCK_NAME = "lock"

_PATIENCE_S = 0.2
"""Longer than others hold a lock when they only check whether the session is locked."""


class SessionLock:
    def __init__(self, session_folder: Path, *, patience_s: float = _PATIENCE_S) -> None:
        """Raises `SessionBusyError` if another process has the lock, and `StorageError` if locking is impossible."""
        from filelock import FileLock, Timeout  # slow to import, and the session list does not need it

        # The lock may be taken and released in different threads, because the event loop uses a pool.
        self._lock = FileLock(session_folder / LOCK_NAME, thread_local=False, mode=PRIVATE_FILE)
        try:
            self._lock.acquire(timeout=patience_s, poll_interval=0.01)
        except Timeout as error:
            raise SessionBusyError(
                "This session is open in another window or process.", hint="Close it there, then open it here."
            ) from error
        except OSError as error:
            raise StorageError(
                "The disk is full: the session cannot be opened for writing."
                if is_disk_full(error)
                else "The session cannot be opened for writing.",
                hint="Free some disk space, or check the permissions of the data folder.",
                detail=f"{session_folder / LOCK_NAME}: {error}",
            ) from error

    def release(self) -> None:
        self._lock.release()


def is_locked(session_folder: Path) -> bool:
    """Whether a process writes the session. The check does not disturb it, and leaves nothing in the folder."""
    lock = session_folder / LOCK_NAME
    if not lock.is_file():
        return False
    if (is_held := _is_held(lock)) is not None:
        return is_held
    try:
        SessionLock(session_folder, patience_s=0).release()
    except SessionBusyError:
        return True
    except StorageError:
        return False  # a folder that cannot be written to has no writer
    return False


def _is_held(lock: Path) -> bool | None:
    """Whether another process has the lock; None if unknown. `filelock` is avoided: its import takes 10 ms."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so that two checks do not collide
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False


_ABANDONED = timedelta(days=1)


@contextmanager
def new_session_folder(sessions: Path, session_id: SessionId, now: datetime) -> Generator[Path]:
    """Yield an empty folder that becomes the session at the end, or is removed if the block raises. Blocks."""
    make_private_folder(sessions)
    for path in sessions.iterdir():
        with suppress(OSError):  # another process removes it at the same time
            if is_left_over(path) and path.is_dir() and path.stat().st_mtime < (now - _ABANDONED).timestamp():
                shutil.rmtree(path, ignore_errors=True)
    folder = sessions / f"{TEMPORARY_MARK}{session_id}.tmp"
    folder.mkdir(mode=0o700)
    try:
        yield folder
        sync_folders([folder])
        folder.rename(sessions / session_id)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    sync_folders([sessions])
