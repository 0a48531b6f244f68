"""Takes what is new in one journal into the index, a bounded part at a time."""

import os
from pathlib import Path

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.search.sessions.database import IndexedJournal, SearchDatabase, number_of, storable
from desktop_agent.core.search.sessions.pieces import PieceReader, UnansweredCall, call_id_of
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_mark import (
    JournalMark,
    goes_on,
    mark_at,
    moment_of,
    open_journal,
    state_of,
    whole_lines,
)

SLICE_BYTES = 4 * 1024 * 1024
"""Of a journal, in one transaction: what a stop loses."""

_NOTHING_YET = JournalMark((0, 0))
_CUT = (-1, 0)
"""The state of a journal of which only a part is in the index: it never is current."""


def take_in(database: SearchDatabase, path: Path, session_id: SessionId, blobs: Blobs) -> bool:
    """Take in the next part of a journal; return whether it was the last one. Needs a transaction."""
    try:
        with open_journal(path) as file:
            known = database.session(session_id)
            if known is not None and not goes_on(file, known.mark):
                database.forget(known.id)
                known = None
            known = known or IndexedJournal(database.begin(session_id), _NOTHING_YET, "", {})
            state = state_of(os.fstat(file.fileno()))
            writer = _Writer(database, known, blobs)
            start = place = known.mark.read_bytes
            for begin, place, line in whole_lines(file, start):
                writer.take(begin, line)
                if place - start >= SLICE_BYTES:
                    writer.finish(mark_at(file, _CUT, place))
                    return False
            writer.finish(mark_at(file, state, place))
    except OSError:  # deleted meanwhile, or not for us to read
        pass
    return True


class _Writer:
    """Writes the pieces of one journal."""

    def __init__(self, database: SearchDatabase, known: IndexedJournal, blobs: Blobs) -> None:
        self._database = database
        self._session = known.id
        self._workspace = known.workspace
        self._folder = database.folder(known.workspace)
        self._reader = PieceReader(blobs, known.calls)

    def take(self, place: int, line: bytes) -> None:
        """Add the pieces of a line."""
        fields = self._reader.fields(line)
        if fields.get("type") == "session_opened":
            self._workspace = storable(str(fields.get("workspace", "")))
            self._folder = self._database.folder(self._workspace)
            return
        call = self._reader.calls.get(call_id_of(fields), UnansweredCall("", "", ""))
        number = number_of(moment_of(fields.get("at")))
        for nth, piece in enumerate(self._reader.pieces(fields)):
            number = self._database.add(self._session, number, (place, nth), piece, call.title, self._folder) + 1

    def finish(self, mark: JournalMark) -> None:
        """Remember how far that was."""
        self._database.keep(IndexedJournal(self._session, mark, self._workspace, self._reader.calls))
