"""Which generations are still needed, and who was at work when: the commands, and the application itself."""

# ruff: noqa: S608 -- only constants of this module are put into statements; values are always bound.

import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache

from msgspec import Struct

from desktop_agent.core.capture.entries import as_note
from desktop_agent.core.capture.entry_table import EntryTable, path_of, stored_path
from desktop_agent.core.protocol.model import FileImage

_NUMBERS = 2**52
"""The largest integer that every reader of JSON keeps exactly."""
_STALE_NS = 14 * 86_400 * 10**9
"""How long the snapshot of a dead process waits for its session to be opened again."""
SNAPSHOT_SCHEMA = """
CREATE TABLE snapshot (
  number INTEGER PRIMARY KEY AUTOINCREMENT, generation INTEGER NOT NULL, last_generation INTEGER,
  process INTEGER NOT NULL, process_started REAL NOT NULL,
  begun_ns INTEGER NOT NULL, ended_ns INTEGER, is_released INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE written (path TEXT NOT NULL, digest TEXT NOT NULL, mode INTEGER NOT NULL, at_ns INTEGER NOT NULL);
"""
_NEWEST = "(SELECT generation FROM state)"
_SPAN = f"number, generation, COALESCE(last_generation, {_NEWEST}), begun_ns, COALESCE(ended_ns, ?)"


class CommandSpan(Struct, frozen=True):
    """When a command ran: by the clock, and by generations. Open ends are those of now."""

    number: int
    generation: int
    last_generation: int
    begun_ns: int
    ended_ns: int


class SnapshotRows:
    """The snapshots of all sessions and processes, and what they announced as written, within one transaction."""

    def __init__(self, database: sqlite3.Connection, entries: EntryTable) -> None:
        self._database = database
        self._entries = entries

    def pin(self) -> int:
        """Make a snapshot of the newest generation and return its number, which is random.

        Journals name it, and the file may be built again, or be replaced by memory for a while. A count could then mean
        another command's snapshot.
        """
        number = secrets.randbelow(_NUMBERS) + 1
        self._database.execute(
            "INSERT INTO snapshot (number, generation, process, process_started, begun_ns) "
            f"VALUES (?, {_NEWEST}, ?, ?, ?)",
            (number, os.getpid(), _own_start(os.getpid()), time.time_ns()),
        )
        return number

    def span(self, number: int) -> CommandSpan | None:
        """Return when the command of a snapshot ran; None when the snapshot is gone."""
        row = self._database.execute(
            f"SELECT {_SPAN} FROM snapshot WHERE number = ? AND is_released = 0", (time.time_ns(), number)
        ).fetchone()
        return None if row is None else CommandSpan(*row)

    def close_span(self, number: int) -> None:
        """Write down that the command of a snapshot has ended, unless that is known."""
        self._database.execute(
            f"UPDATE snapshot SET ended_ns = ?, last_generation = {_NEWEST} WHERE number = ? AND ended_ns IS NULL",
            (time.time_ns(), number),
        )

    def move(self, numbers: Iterable[int], to: int) -> list[int]:
        """Let snapshots begin where the last look at snapshot `to` was; return the numbers of what they were before.

        Those stay for as long as a session asks who was at work at that time.
        """
        until = self._database.execute("SELECT last_generation, ended_ns FROM snapshot WHERE number = ?", (to,))
        row = until.fetchone()
        if row is None or row[0] is None:
            return []
        past: list[int] = []
        for number in numbers:
            cursor = self._database.execute(
                "INSERT INTO snapshot "
                "(generation, last_generation, process, process_started, begun_ns, ended_ns, is_released) "
                "SELECT generation, ?, process, process_started, begun_ns, ?, 1 FROM snapshot WHERE number = ?",
                (*row, number),
            )
            assert cursor.lastrowid is not None
            past.append(cursor.lastrowid)
            self._database.execute(
                "UPDATE snapshot SET generation = ?, begun_ns = ?, last_generation = NULL, ended_ns = NULL "
                "WHERE number = ?",
                (*row, number),
            )
        self._sweep()
        return past

    def overlapping(self, span: CommandSpan) -> list[CommandSpan]:
        """Return the commands of others that ran while this one did."""
        rows = self._database.execute(
            f"SELECT {_SPAN}, ended_ns IS NOT NULL, process, process_started FROM snapshot "
            "WHERE number <> ? AND begun_ns < ? AND (ended_ns IS NULL OR ended_ns > ?)",
            (time.time_ns(), span.number, span.ended_ns, span.begun_ns),
        ).fetchall()
        return [
            CommandSpan(*known)
            for *known, has_ended, process, started in rows
            if has_ended or _is_alive(process, started)
        ]

    def release(self, number: int) -> None:
        """Let go of a snapshot, and of every row, copy and note that no snapshot needs any more."""
        self._database.execute("UPDATE snapshot SET is_released = 1 WHERE number = ?", (number,))
        self.close_span(number)
        stale = self._database.execute(
            "SELECT number, process, process_started FROM snapshot WHERE is_released = 0 AND begun_ns < ?",
            (time.time_ns() - _STALE_NS,),
        ).fetchall()
        for other, process, started in stale:
            if not _is_alive(process, started):
                self._database.execute(
                    "UPDATE snapshot SET is_released = 1, ended_ns = begun_ns WHERE number = ?", (other,)
                )
        self._sweep()

    def note_written(self, images: Mapping[str, FileImage | None]) -> None:
        """Remember what was written by something that is on record elsewhere."""
        now = time.time_ns()
        self._database.executemany(
            "INSERT INTO written VALUES (?, ?, ?, ?)",
            ((stored_path(path), *as_note(image), now) for path, image in images.items()),
        )

    def written_since(self, at_ns: int) -> dict[str, set[tuple[str, int]]]:
        """Return what was noted since then: digest (empty for removed) and mode, by path."""
        found: dict[str, set[tuple[str, int]]] = {}
        for path, digest, mode in self._database.execute(
            "SELECT path, digest, mode FROM written WHERE at_ns >= ?", (at_ns,)
        ):
            found.setdefault(path_of(path), set()).add((digest, mode))
        return found

    def _sweep(self) -> None:
        """Let go of all that no snapshot needs any more."""
        oldest, since_ns = self._database.execute(
            f"SELECT COALESCE(MIN(generation), {_NEWEST}), COALESCE(MIN(begun_ns), ?) FROM snapshot "
            "WHERE is_released = 0",
            (time.time_ns(),),
        ).fetchone()
        self._database.execute("DELETE FROM snapshot WHERE is_released = 1 AND ended_ns < ?", (since_ns,))
        self._database.execute("DELETE FROM written WHERE at_ns < ?", (since_ns,))
        self._entries.forget_before(oldest)


@cache
def _own_start(process: int) -> float:
    """When this process started. Kept by its number, so that a fork asks for itself."""
    return _started(process)


def _started(process: int) -> float:
    import psutil  # slow, and nothing asks before the first command

    with suppress(psutil.Error):
        return psutil.Process(process).create_time()
    return 0.0


def _is_alive(process: int, started: float) -> bool:
    """Whether a process still runs, and is not another one with its number."""
    import psutil  # as above

    return psutil.pid_exists(process) and abs(_started(process) - started) < 1
