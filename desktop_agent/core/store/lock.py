"""One writer per session: a lock that the operating system releases when its process dies, however it dies."""

from pathlib import Path

from filelock import FileLock, Timeout

from desktop_agent.core.errors import SessionBusyError


class SessionLock:
    """The right to write one session. Held from construction until `release`."""

    def __init__(self, session_folder: Path) -> None:
        """Take the lock. Raises `SessionBusyError` when another process, or another window, holds it."""
        # Taken in one thread and released in another is normal here: the event loop hands blocking work to threads.
        self._lock = FileLock(session_folder / "lock", thread_local=False)
        try:
            self._lock.acquire(blocking=False)
        except Timeout as error:
            raise SessionBusyError(
                "This session is open in another window or process.", hint="Close it there, then open it here."
            ) from error

    def release(self) -> None:
        """Let go. Safe to call twice."""
        self._lock.release()
