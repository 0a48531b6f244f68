"""The snapshot of a session: what a journal came to, kept beside it so that opening folds only the rest.

Nothing here is the truth: whatever is wrong with a snapshot, the journal alone gives the same state.
"""

import logging
from pathlib import Path

from desktop_agent.core.session.resuming.replay_state import ReplayState
from desktop_agent.core.session.resuming.sections import known_of, sections_of
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.records import YieldGil
from desktop_agent.core.store.journal.snapshot import (
    SNAPSHOT_NAME,
    extent_of,
    read_extent,
    read_sections,
    write_snapshot,
)

_log = logging.getLogger(__name__)


def load(journal: Path, snapshot: Path, yield_gil: YieldGil) -> ReplayState:
    """Return what the snapshot knows of the journal; nothing, when it is of no use."""
    offset = read_extent(snapshot, journal)
    if offset is None:
        return ReplayState()
    try:
        return known_of(read_sections(snapshot, offset), offset, yield_gil)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        _log.info("The snapshot of a session is of no use and is made again: %s", type(error).__name__)
        return ReplayState()


def renew_snapshot(journal: Path, blobs: Blobs, snapshot: Path, *, yield_gil: YieldGil) -> None:
    """Write a snapshot of all there is. Blocks. Raises `OSError`, `StorageError`, or `ValueError`."""
    known = load(journal, journal.with_name(SNAPSHOT_NAME), yield_gil)
    known.carry_on(journal, blobs, yield_gil=yield_gil)
    if known.is_lacking:
        raise ValueError("contents are missing")
    write_snapshot(snapshot, extent_of(journal, known.offset), sections_of(known))
