"""Reads what all sessions used, from what is cached of their journals and from what is new in them."""

import os
from collections.abc import Callable
from pathlib import Path

from msgspec.json import Decoder

from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.store.cache_file import not_stopped
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.journal_mark import (
    JOURNAL_NAME,
    goes_on,
    journal_states,
    mark_at,
    open_journal,
    state_of,
    whole_lines,
)
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.store.journal_cache import JournalCache, Noted
from desktop_agent.core.usage.journal_usage import JournalUsage, UsageFold
from desktop_agent.core.usage.uses import SessionFigures

_VERSION = 1
"""Of what a `JournalUsage` in the cache means."""
_BATCH = 100
"""Journals whose use is written at once: what a stop loses."""

Progress = Callable[[int, int], None]
"""Called with how many of how many journals are read."""


class UsageReader:
    """Reads the sessions of one data folder, where the list of them has looked. Blocks; for one thread at a time."""

    def __init__(self, catalog: Catalog, sessions: Path, cache: Path) -> None:
        """Touches no disk. `sessions` is the folder of journals, `cache` the one for what can be made again."""
        self._catalog = catalog
        self._sessions = sessions
        self._cache = JournalCache(cache / "usage.sqlite3", _VERSION, Decoder(learned(JournalUsage)))

    @classmethod
    def of(cls, paths: AppPaths, catalog: Catalog) -> "UsageReader":
        """The sessions in the folders of a user."""
        return cls(catalog, paths.sessions, paths.cache)

    def read(
        self, *, progress: Progress = lambda done, total: None, is_stopped: Callable[[], bool] = not_stopped
    ) -> tuple[SessionFigures, ...]:
        """Return what each session used, as far as it can be read; what was read until a stop, after one.

        What was spent is what the list of sessions says, so that it is the same everywhere. Other threads run now and
        then meanwhile. Raises `StorageError` when the folder of the sessions cannot be read.
        """
        states = journal_states(self._sessions)
        known = self._cache.all()
        stale = [name for name, state in states.items() if name not in known or known[name].mark.state != state]
        unsaved: dict[str, Noted[JournalUsage]] = {}
        for done, name in enumerate(stale):
            progress(done, len(stale))
            if is_stopped():
                break
            if (noted := read_usage(self._sessions / name / JOURNAL_NAME, known.get(name), is_stopped)) is not None:
                known[name] = unsaved[name] = noted
            if len(unsaved) == _BATCH:
                self._cache.keep(unsaved)
                unsaved = {}
        self._cache.keep(unsaved, known.keys() - states.keys())
        return self._joined(known)

    def _joined(self, known: dict[str, Noted[JournalUsage]]) -> tuple[SessionFigures, ...]:
        nothing = JournalUsage()
        found: list[SessionFigures] = []
        for summary in self._catalog.summaries():
            usage = known[summary.id].known if summary.id in known else nothing
            found.append(
                SessionFigures(
                    workspace=summary.workspace, spending=summary.spending, tools=usage.tools, models=usage.models
                )
            )
        return tuple(found)


def read_usage(
    path: Path, known: Noted[JournalUsage] | None, is_stopped: Callable[[], bool] = not_stopped
) -> Noted[JournalUsage] | None:
    """Fold a journal, and only what is new since `known` where that still holds.

    None when it cannot be read, or when stopped before its end.
    """
    yield_gil = Yielder()
    try:
        with open_journal(path) as file:
            state = state_of(os.fstat(file.fileno()))
            is_known = known is not None and goes_on(file, known.mark)
            place = known.mark.read_bytes if known is not None and is_known else 0
            fold = UsageFold(known.known if known is not None and is_known else JournalUsage())
            for _, end, line in whole_lines(file, place):
                if is_stopped():
                    return None
                fold.take(line)
                place = end
                yield_gil()
            return Noted(mark_at(file, state, place), fold.usage())
    except OSError:
        return None
