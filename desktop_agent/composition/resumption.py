"""Resumes a session from its journal: locks it, reads it, and says which records were lost."""

import asyncio
from pathlib import Path

from msgspec import Struct

from desktop_agent.composition.session_plan import SessionStorage
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.session.resume import ReplayState, resume_beside, show_end
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.store.session_upkeep import NEVER_WRITTEN
from desktop_agent.core.transcript import Transcript


class Resumption(Struct, frozen=True):
    """A session as it was left, held for writing."""

    storage: SessionStorage
    state: SessionState
    transcript: Transcript
    """A copy for the front end, with the end of a long session in it."""
    notices: tuple[ev.Notice, ...]
    """What of it could not be read."""


async def take_up(session_id: SessionId, catalog: Catalog, blobs: Blobs) -> Resumption:
    """Lock a session and read it. Raises `SessionNotFoundError`, `SessionBusyError` or `StorageError`."""
    storage, torn = await asyncio.to_thread(SessionStorage.open, session_id, catalog, blobs)
    try:
        path = catalog.journal_path(session_id)
        resumed = await resume_beside(path, blobs)
        state = _checked(resumed)
        transcript = await asyncio.to_thread(_for_front, state, path, blobs)
    except BaseException:
        storage.close()
        raise
    return Resumption(storage, state, transcript, _damage_notices(torn, resumed))


def _for_front(state: SessionState, path: Path, blobs: Blobs) -> Transcript:
    transcript = state.transcript.copy()
    show_end(transcript, path, blobs, yield_gil=Yielder())
    return transcript


def _checked(resumed: ReplayState) -> SessionState:
    """Return the state that a journal comes to.

    Raises `StorageError` when it does not say where to work: only the first line does, and nothing is guessed.
    """
    if not resumed.events:
        raise StorageError(
            NEVER_WRITTEN,
            hint="Start a new one. `desktop-agent sessions verify --repair` removes this one.",
        )
    state = resumed.state
    if not Path(state.transcript.session.workspace).is_absolute():
        raise StorageError(
            "The session cannot be continued: the line of its journal that names its folder cannot be read.",
            hint="What was said and changed can still be shown. To go on, start a new session in the folder.",
        )
    return state


def _damage_notices(torn: Path | None, resumed: ReplayState) -> tuple[ev.Notice, ...]:
    notices: list[ev.Notice] = []
    if torn is not None:
        notices.append(
            ev.Notice(
                level="warning",
                code="torn_journal",
                title="The last record of this session was cut off when the application ended.",
                hint="Everything before it is here. What was left of it was kept.",
                detail=str(torn),
            )
        )
    if resumed.damages:
        listed = "\n".join(f"line {damage.line}: {damage.reason}" for damage in resumed.damages)
        notices.append(
            ev.Notice(
                level="warning",
                code="damaged_journal",
                title=f"{resumed.damage_count} records of this session could not be read and were left out.",
                detail=listed,
            )
        )
    return tuple(notices)
