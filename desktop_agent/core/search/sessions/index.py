"""The index of all sessions: brought up to date with what journals have more than before, and asked.

Several processes may use it: one of them writes at a time, the others wait their turn and then find the work done.
Reading never waits. A damaged index is made anew; one that cannot be written finds nothing, and says so.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import SearchHit, SearchQuery
from desktop_agent.core.search.sessions.answer import Answerer
from desktop_agent.core.search.sessions.database import SearchDatabase, index_file
from desktop_agent.core.search.sessions.intake import SLICE_BYTES, take_in
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.cache_file import CacheFile, is_damage, not_stopped, transaction
from desktop_agent.core.store.journal.journal_mark import JOURNAL_NAME, journal_states

_MOST_GONE = 50_000
"""Pieces without a session before the index is made anew, if they are more than the others."""


class SessionSearch:
    """The search through the sessions in one folder. All methods block and may be called from any thread."""

    def __init__(self, sessions: Path, blobs: Blobs, cache: Path) -> None:
        """Touches no disk. `cache` is the folder for what can be made again."""
        self._sessions = sessions
        self._blobs = blobs
        self._file = index_file(cache)

    # -- keeping up --

    @property
    def is_current(self) -> bool:
        """Whether everything that stands in the journals is found. False when that is unknown."""
        try:
            states = journal_states(self._sessions)
            with self._file.newest().opened_to_read() as connection:
                known = SearchDatabase(connection).states() if connection else {}
        except (sqlite3.Error, OSError, StorageError):
            return False
        return {name: state for name, (state, _) in known.items()} == states

    def update(self, is_stopped: Callable[[], bool] = not_stopped) -> None:
        """Index what is new, the newest sessions first, until it is done or stopped.

        An index that cannot be written is made in a spare place. Raises `StorageError` if that fails, too.
        """
        try:
            self._update_when_free(self._file, is_stopped)
            self._file.discard_spare()
        except (sqlite3.Error, OSError) as error:
            if not is_stopped():
                self._update_spare(error, is_stopped)

    def _update_spare(self, first: Exception, is_stopped: Callable[[], bool]) -> None:
        try:
            if (spare := self._file.spare()) is None:
                raise first
            self._update_when_free(spare, is_stopped)
        except (sqlite3.Error, OSError) as error:
            if not is_stopped():
                raise StorageError(
                    "The search could not take in what is new.",
                    hint="Free some disk space, or check the permissions of the cache folder.",
                    detail=str(error),
                ) from error

    def _update_when_free(self, file: CacheFile, is_stopped: Callable[[], bool]) -> None:
        with file.writing(is_stopped) as may_write:
            if not may_write:
                return
            try:
                is_worn = self._update(file, is_stopped)
            except sqlite3.Error as error:
                if is_stopped() or not is_damage(error):
                    raise
                is_worn = True
            if is_worn:
                file.discard()
                self._update(file, is_stopped)

    def _update(self, file: CacheFile, is_stopped: Callable[[], bool]) -> bool:
        """Take in what is new; return whether too much of the index is about nothing any more."""
        states = journal_states(self._sessions)
        with file.opened(is_stopped) as connection:
            database = SearchDatabase(connection)
            known = database.states()
            gone = known.keys() - states.keys()
            with transaction(connection):
                for name in gone:
                    database.forget_named(name)
            new_bytes = {
                name: max(1, state[0] - known[name][1] if name in known else state[0])
                for name, state in states.items()
                if name not in known or known[name][0] != state
            }
            for batch in _batches(new_bytes):
                pending = batch
                while pending and not is_stopped():
                    with transaction(connection):
                        pending = [name for name in pending if not self._take_in(database, name)]
            if is_stopped():
                return False
            if new_bytes:
                database.tidy() if known else database.settle()
            return bool(gone) and database.is_worn(_MOST_GONE)

    def _take_in(self, database: SearchDatabase, name: SessionId) -> bool:
        return take_in(database, self._sessions / name / JOURNAL_NAME, name, self._blobs)

    # -- answering --

    def ask(self, query: SearchQuery, limit: int = 50, is_stopped: Callable[[], bool] = not_stopped) -> list[SearchHit]:
        """Return the newest hits, at most `limit`; none when there is no index, or while a damaged one is made anew."""
        try:
            with self._file.newest().opened_to_read(is_stopped) as connection:
                answerer = Answerer(self._sessions, self._blobs, query)
                return answerer.hits(SearchDatabase(connection), limit) if connection else []
        except (sqlite3.Error, OSError):
            return []


def _batches(new_bytes: Mapping[SessionId, int]) -> Iterator[Sequence[SessionId]]:
    """Yield the sessions in groups of so many bytes, the newest group first: that is what is looked for.

    Within a group the oldest comes first, so that the index grows at its end.
    """
    batch: list[SessionId] = []
    size = 0
    for name in sorted(new_bytes, reverse=True):
        batch.append(name)
        size += new_bytes[name]
        if size >= SLICE_BYTES:
            yield batch[::-1]
            batch, size = [], 0
    if batch:
        yield batch[::-1]
