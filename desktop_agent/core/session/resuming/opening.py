"""Opening a session again: its state, quickly. What a snapshot does not know is folded from the journal.

Nothing here is the truth: whatever is wrong with a snapshot, the journal alone gives the same state.
"""

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Final

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.session.resuming.process import start_snapshot
from desktop_agent.core.session.resuming.replay_state import WHOLE, ReplayState, folded_history
from desktop_agent.core.session.resuming.snapshots import load, renew_snapshot
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import cannot_read
from desktop_agent.core.store.journal.records import Yielder, YieldGil, read_page, read_records
from desktop_agent.core.store.journal.snapshot import SNAPSHOT_NAME, read_extent
from desktop_agent.core.transcript import Transcript

LONG_BYTES: Final = 4 * 2**20
"""How much of a journal is folded in a thread; more of it is folded in a process of its own, into a snapshot."""
WORTH_BYTES: Final = 2**20
"""A journal shorter than this has no snapshot: folding it is as quick."""
FRESH_BYTES: Final = 2**18
"""A snapshot is made again when more than this came since."""
SHOWN_ENTRIES: Final = 40
"""How many entries at the end are there from the beginning."""

_log = logging.getLogger(__name__)


async def resume_beside(journal: Path, blobs: Blobs) -> ReplayState:
    """Return the state of a session, without keeping the event loop waiting. Raises `StorageError`.

    Of a long journal without a snapshot, a process makes one first. Cancelled, that is ended.
    """
    try:
        is_long = await asyncio.to_thread(bytes_to_fold, journal) > LONG_BYTES
    except OSError as error:
        raise cannot_read(journal, error) from error
    if is_long:
        await _make_snapshot(journal, blobs)
    return await asyncio.to_thread(resume, journal, blobs, yield_gil=Yielder())


async def _make_snapshot(journal: Path, blobs: Blobs) -> None:
    """Let a process make a snapshot. If that is not possible, it is slower without."""
    try:
        process = await asyncio.to_thread(start_snapshot, journal, blobs.folder, journal.with_name(SNAPSHOT_NAME))
    except OSError:
        return
    try:
        await asyncio.to_thread(process.wait)
    except BaseException:
        process.kill()
        raise


def bytes_to_fold(journal: Path) -> int:
    """Return how much of the journal no snapshot knows. Blocks. Raises `OSError`."""
    return journal.stat().st_size - (read_extent(journal.with_name(SNAPSHOT_NAME), journal) or 0)


def resume(journal: Path, blobs: Blobs, *, yield_gil: YieldGil) -> ReplayState:
    """Return the state of a session. Blocks. Raises `StorageError` when the journal cannot be read."""
    known = load(journal, journal.with_name(SNAPSHOT_NAME), yield_gil)
    known.fold_to_end(partial(read_records, journal, blobs, yield_gil=yield_gil))
    return known


def show_end(transcript: Transcript, journal: Path, blobs: Blobs, *, yield_gil: YieldGil) -> None:
    """Load the last pages, so that there is something to read. Blocks. Raises `StorageError`."""
    number = len(transcript.pages)
    shown = len(transcript.entries) - number
    while number and shown < SHOWN_ENTRIES:
        number -= 1
        page = read_page(journal, blobs, transcript.pages[number], yield_gil=yield_gil)
        shown += len(page.entries)
        transcript.expand(number, page)


def read_whole_history(state: SessionState, journal: Path, blobs: Blobs, *, yield_gil: YieldGil) -> None:
    """See that nothing is missing from what `state` knows the model to see. Blocks. Raises `StorageError`."""
    if not state.history.fold.is_whole:
        state.history.fold = folded_history(WHOLE, read_records(journal, blobs, yield_gil=yield_gil))


def close_with_snapshot(journal: Path, blobs: Blobs) -> None:
    """Write a snapshot of a session that closes, if that pays and is done in a moment. Blocks; raises nothing."""
    try:
        came = bytes_to_fold(journal)
        if journal.stat().st_size >= WORTH_BYTES and FRESH_BYTES <= came <= LONG_BYTES:
            renew_snapshot(journal, blobs, journal.with_name(SNAPSHOT_NAME), yield_gil=Yielder())
    except (OSError, StorageError, ValueError) as error:  # a cache is not worth an error
        _log.warning("No snapshot of a session could be written: %s", error)
