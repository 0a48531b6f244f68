"""A cache in one SQLite file, which can be deleted, damaged or used by other processes at any time."""

import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.paths import place_of_spare_cache, spare_cache
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_file, make_private_folder

_BUSY_S = 10
_READER_BUSY_S = 2
_LOCK_POLL_S = 0.05
_LONGEST_STEP_S = 0.5
_INTERRUPT_AFTER = 50_000
"""After how many instructions of SQLite's virtual machine to check whether to stop: a few milliseconds."""

_DAMAGE = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def not_stopped() -> bool:
    return False


def is_damage(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def is_lock(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_usable(path: Path) -> bool:
    """A locked database counts as usable. Does not wait; writes nothing."""
    try:
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        return is_lock(error)  # in use
    return True


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Commit everything the block writes, or nothing if it raises. Other writers wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


class CacheFile(Struct, frozen=True):
    """A cache in a SQLite file, with its version and tables. All methods block."""

    path: Path
    version: int
    """A file of another version is emptied when it is opened for writing."""
    schema: tuple[str, ...]
    tables: tuple[str, ...]
    """The tables of every version, in an order in which they can be dropped."""
    is_spare: bool = False
    journal: Literal["WAL", "TRUNCATE"] = "WAL"
    """`TRUNCATE` suits a file with few concurrent readers: a write waits for the disk half as often."""
    synchronous: Literal["NORMAL", "OFF"] = "NORMAL"
    """`OFF` suits a file whose loss in a power failure costs less than waiting for the disk."""

    def connect(
        self, is_stopped: Callable[[], bool] = not_stopped, *, busy_s: float = _BUSY_S, is_shared: bool = False
    ) -> sqlite3.Connection:
        """Open the file for writing, and create it if necessary. `is_shared`: several threads may use the connection.

        Raises `OSError` or `sqlite3.Error`: `interrupted` if `is_stopped` returns True, `locked` after `busy_s`.
        """
        make_private_folder(self.path.parent)
        make_private_file(self.path)
        until = time.monotonic() + busy_s
        while True:  # in steps, because SQLite cannot be stopped while it waits for a lock
            try:
                return self._connected(is_stopped, busy_s, is_shared=is_shared)
            except sqlite3.OperationalError as error:
                if not is_lock(error) or is_stopped() or time.monotonic() >= until:
                    raise

    def _connected(self, is_stopped: Callable[[], bool], busy_s: float, *, is_shared: bool) -> sqlite3.Connection:
        step_s = min(busy_s, _LONGEST_STEP_S)
        connection = sqlite3.connect(self.path, timeout=step_s, isolation_level=None, check_same_thread=not is_shared)
        try:
            connection.set_progress_handler(is_stopped, _INTERRUPT_AFTER)
            connection.execute(f"PRAGMA journal_mode = {self.journal}")
            connection.execute(f"PRAGMA synchronous = {self.synchronous}")
            self.prepare(connection)
            connection.execute(f"PRAGMA busy_timeout = {round(busy_s * 1000)}")
        except BaseException:
            connection.close()
            raise
        return connection

    def spare(self) -> "CacheFile | None":
        """A substitute among the system's temporary files; None if that is impossible or this is a spare."""
        folder = spare_cache(self.path.parent)
        return replace(self, path=folder / self.path.name, is_spare=True) if folder and not self.is_spare else None

    def discard_spare(self) -> None:
        """Delete the spare file. Call this after the file that it replaced works again."""
        with suppress(OSError):
            replace(self, path=place_of_spare_cache(self.path.parent) / self.path.name).discard()

    def newest(self) -> "CacheFile":
        try:
            place = place_of_spare_cache(self.path.parent) / self.path.name
            if not place.exists() or (self.path.exists() and self.path.stat().st_mtime > place.stat().st_mtime):
                return self
        except OSError:
            return self
        return self.spare() or self

    def in_memory(self) -> sqlite3.Connection:
        return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    @contextmanager
    def opened_to_read(
        self, is_stopped: Callable[[], bool] = not_stopped, *, busy_s: float = _READER_BUSY_S
    ) -> Generator[sqlite3.Connection | None]:
        """Yield None if there is nothing to read. Raises like `connect`."""
        # If the file is empty, its writer is about to begin. Even a reader's short lock would block it.
        if not self.path.exists() or self.path.stat().st_size == 0:
            yield None
            return
        with closing(sqlite3.connect(self.path, timeout=busy_s, isolation_level=None)) as connection:
            connection.set_progress_handler(is_stopped, _INTERRUPT_AFTER)
            yield connection if self._is_ready(connection) else None

    @contextmanager
    def writing(self, is_stopped: Callable[[], bool], on_wait: Callable[[], None] | None = None) -> Generator[bool]:
        """Hold the writer lock for longer than a transaction. Yield False if stopped while waiting for the lock."""
        from filelock import FileLock, Timeout  # slow to import, and readers do not need it

        make_private_folder(self.path.parent)
        lock = FileLock(f"{self.path}.lock", mode=PRIVATE_FILE)
        while not is_stopped():
            try:
                lock.acquire(timeout=_LOCK_POLL_S, poll_interval=_LOCK_POLL_S / 2)
                break
            except Timeout:
                if on_wait is not None:
                    on_wait()
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def update(
        self,
        write: Callable[["CacheFile"], bool],
        is_stopped: Callable[[], bool],
        on_wait: Callable[[], None] | None = None,
    ) -> "CacheFile":
        """Wait for the writer lock, and let `write` update the file. Return the file that was updated.

        `write` returns whether the file is worn. A damaged or worn file is rewritten. If the file cannot be written,
        a spare file is updated instead. Raises `OSError` and `sqlite3.Error`.
        """
        try:
            self._update(write, is_stopped, on_wait)
        except (OSError, sqlite3.Error):
            if is_stopped() or (spare := self.spare()) is None:
                raise
            spare._update(write, is_stopped, on_wait)
            return spare
        return self

    def _update(
        self, write: Callable[["CacheFile"], bool], is_stopped: Callable[[], bool], on_wait: Callable[[], None] | None
    ) -> None:
        with self.writing(is_stopped, on_wait) as may_write:
            if not may_write:
                return
            try:
                is_worn = write(self)
            except sqlite3.Error as error:
                if is_stopped():
                    return
                if not is_damage(error):
                    raise
                is_worn = True
            if is_worn:
                self.discard()
                write(self)

    def discard(self) -> None:
        """A process that has the file open continues with the deleted file."""
        for ending in ("", "-wal", "-shm"):
            Path(f"{self.path}{ending}").unlink(missing_ok=True)

    def _is_ready(self, connection: sqlite3.Connection) -> bool:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return version == self.version

    def prepare(self, connection: sqlite3.Connection) -> None:
        if self._is_ready(connection):
            return
        with transaction(connection):
            if self._is_ready(connection):  # another process was quicker
                return
            for table in self.tables:
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in self.schema:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {self.version}")
