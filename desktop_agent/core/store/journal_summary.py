"""A summary of a journal: what the session list shows of it, without decoding all of it.

Only the few lines that tell about the session itself are decoded, and folded like everywhere else. Of all others, their
beginning says what they are.
"""

import os
from pathlib import Path

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_mark import (
    fields_of,
    goes_on,
    mark_at,
    moment_of,
    open_journal,
    state_of,
    whole_lines,
)
from desktop_agent.core.store.journal.line_heads import head_of, reported_in
from desktop_agent.core.store.journal.payloads import internalise
from desktop_agent.core.store.journal_cache import Noted
from desktop_agent.core.store.spending import DayAllowances, SpendingSums
from desktop_agent.core.transcript import SessionInfo

_FILING = frozenset({b"session_renamed", b"session_pinned", b"session_archived"})
"""What puts a session in order does not use it."""
_TURNS = frozenset({b"turn_started", b"turn_ended"})
"""No question outlives its turn."""
_ABOUT_THE_SESSION = _FILING | {b"session_opened", b"session_forked"}
_COUNTED = frozenset({b"approval_requested", b"approval_resolved", b"usage_reported"})
_TELLING = _ABOUT_THE_SESSION | _TURNS | _COUNTED | {b"prompt_submitted"}
"""All others, which are most lines, only say that something was done."""


JournalSummary = Noted[SessionSummary | None]
"""What is known of a journal; None when it has no line that can be read."""


def summarise(path: Path, session_id: SessionId, blobs: Blobs, known: JournalSummary | None) -> JournalSummary | None:
    """Look at a journal, and only at what is new since `known` where that still holds. None when it cannot be read."""
    try:
        with open_journal(path) as file:
            state = state_of(os.fstat(file.fileno()))
            start = known.mark.read_bytes if known is not None and goes_on(file, known.mark) else 0
            fold = _Fold(session_id, blobs, known.known if known is not None and start else None)
            place = start
            for _, end, line in whole_lines(file, start):
                fold.take(line)
                place = end
            return Noted(mark_at(file, state, place), fold.summary(state[0]))
    except OSError:
        return None


class _Fold:
    """The lines so far."""

    def __init__(self, session_id: SessionId, blobs: Blobs, known: SessionSummary | None) -> None:
        self._id = session_id
        self._blobs = blobs
        self._session = SessionInfo()
        self._at = self._active_at = b""
        self._turn = 0
        self._spending = SpendingSums(known)
        self._allowances = DayAllowances(known)
        self._asks = 0
        if known is not None:
            self._go_on_from(known)

    def _go_on_from(self, known: SessionSummary) -> None:
        self._session = SessionInfo(
            title=known.title,
            workspace=known.workspace,
            opened_at=known.created_at,
            is_title_given=known.is_title_given,
            is_pinned=known.is_pinned,
            is_archived=known.is_archived,
            forked_from=known.forked_from,
            purpose=known.purpose,
        )
        self._at, self._active_at = (one.isoformat().encode() for one in (known.updated_at, known.active_at))
        self._turn = known.turns
        self._asks = known.asks

    def take(self, line: bytes) -> None:
        """Fold in a line; one that cannot be read is none."""
        head = head_of(line)
        if head is None:
            return
        self._at = head.at
        kind = head.kind
        if kind not in _TELLING:
            self._active_at = head.at
            return
        if kind not in _FILING:
            self._active_at = head.at
        if kind in _TURNS:
            self._asks = 0
            self._allowances.end_turn()
        if kind == b"turn_started":
            self._turn = head.turn
        elif kind == b"approval_requested":
            self._asks += 1
            self._allowances.ask(line)
        elif kind == b"approval_resolved":
            self._asks = max(0, self._asks - 1)
            self._allowances.answer(line)
        elif kind == b"usage_reported" and (reported := reported_in(line)) is not None:
            self._spending.add(head.at, reported)
        elif kind == b"session_forked":
            self._spending.pay_elsewhere()
            self._allowances.clear()
        if kind in _ABOUT_THE_SESSION or (kind == b"prompt_submitted" and not self._session.title):
            self._apply(line)

    def _apply(self, line: bytes) -> None:
        try:
            self._session.apply(decode_event(internalise(fields_of(line), self._blobs)[0]))
        except (MalformedLineError, StorageError, RecursionError):
            return

    def summary(self, size_bytes: int) -> SessionSummary | None:
        """Return what the lines come to. What stands there as running was cut off: it is idle, unless it asks."""
        if not self._at:
            return None
        session = self._session
        return SessionSummary(
            id=self._id,
            title=session.title,
            workspace=session.workspace,
            created_at=session.opened_at,
            updated_at=moment_of(self._at.decode()),
            active_at=moment_of((self._active_at or self._at).decode()),
            state="waiting" if self._asks else "idle",
            turns=self._turn,
            size_bytes=size_bytes,
            usage=self._spending.total(),
            spending=self._spending.by_day_and_model(),
            allowance=self._allowances.given,
            asked_allowance=self._allowances.asked,
            is_title_given=session.is_title_given,
            is_pinned=session.is_pinned,
            is_archived=session.is_archived,
            forked_from=session.forked_from,
            purpose=session.purpose,
            asks=self._asks,
        )
