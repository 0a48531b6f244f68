"""A summary of a journal: what the session list shows of it, without decoding all of it.

Only the few lines that tell about the session itself are decoded, and folded like everywhere else. Of
all others, their beginning says what they are: that is how this application writes them. A line that begins
otherwise is decoded to see.
"""

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event
from desktop_agent.core.protocol.model import SessionSummary, Usage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_mark import (
    JournalMark,
    fields_of,
    goes_on,
    mark_at,
    moment_of,
    open_journal,
    state_of,
    whole_lines,
)
from desktop_agent.core.store.journal.payloads import internalise
from desktop_agent.core.transcript import SessionInfo

_HEAD = re.compile(rb'\{"v":\d+,"seq":\d+,"at":"([0-9T:.Z+-]{19,40})","type":"([a-z_]+)"(?:,"turn":(\d{1,18}))?')
_TOKENS = re.compile(
    rb'"usage":\{"input_tokens":(\d{1,18}),"output_tokens":(\d{1,18}),"cache_read_tokens":(\d{1,18}),"cache_write_tokens":(\d{1,18})[,}]'
)
_FILING = frozenset({b"session_renamed", b"session_pinned", b"session_archived"})
"""What puts a session in order does not use it."""
_TURNS = frozenset({b"turn_started", b"turn_ended"})
"""No question outlives its turn."""
_ABOUT_THE_SESSION = _FILING | {b"session_opened", b"session_forked"}


class JournalSummary(NamedTuple):
    """What is known of a journal."""

    mark: JournalMark
    summary: SessionSummary | None
    """None when it has no line that can be read."""


def summarise(path: Path, session_id: SessionId, blobs: Blobs, known: JournalSummary | None) -> JournalSummary | None:
    """Look at a journal, and only at what is new since `known` where that still holds. None when it cannot be read."""
    try:
        with open_journal(path) as file:
            state = state_of(os.fstat(file.fileno()))
            start = known.mark.read_bytes if known is not None and goes_on(file, known.mark) else 0
            fold = _Fold(session_id, blobs, known.summary if known is not None and start else None)
            place = start
            for _, end, line in whole_lines(file, start):
                fold.take(line)
                place = end
            return JournalSummary(mark_at(file, state, place), fold.summary(state[0]))
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
        self._usage = (0, 0, 0, 0)
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
        self._at, self._active_at = known.updated_at.isoformat().encode(), known.active_at.isoformat().encode()
        self._turn = known.turns
        self._asks = known.asks
        usage = known.usage
        self._usage = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)

    def take(self, line: bytes) -> None:
        """Fold in a line; one that cannot be read is none."""
        head = _HEAD.match(line) or _HEAD.match(_as_written(line))
        if head is None:
            return
        at, kind, turn = head.groups()
        self._at = at
        if kind not in _FILING:
            self._active_at = at
        if kind in _TURNS:
            self._asks = 0
        if kind == b"turn_started":
            self._turn = int(turn or 0)
        elif kind == b"approval_requested":
            self._asks += 1
        elif kind == b"approval_resolved":
            self._asks = max(0, self._asks - 1)
        elif kind == b"usage_reported":
            self._add_usage(line)
        elif kind in _ABOUT_THE_SESSION or (kind == b"prompt_submitted" and not self._session.title):
            self._apply(line)

    def _add_usage(self, line: bytes) -> None:
        if found := _TOKENS.search(line) or _TOKENS.search(_as_written(line)):
            first, second, third, fourth = self._usage
            self._usage = first + int(found[1]), second + int(found[2]), third + int(found[3]), fourth + int(found[4])

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
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens = self._usage
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
            usage=Usage(
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                cache_read_tokens=cache_read_tokens,
                cache_write_tokens=cache_write_tokens,
            ),
            is_title_given=session.is_title_given,
            is_pinned=session.is_pinned,
            is_archived=session.is_archived,
            forked_from=session.forked_from,
            purpose=session.purpose,
            asks=self._asks,
        )


def _as_written(line: bytes) -> bytes:
    """Return a line that another program wrote as we write it; nothing of one that is none."""
    fields = fields_of(line)
    head = {key: fields[key] for key in ("v", "seq", "at", "type", "turn") if key in fields}
    try:
        return json.dumps(head | fields, separators=(",", ":")).encode()
    except RecursionError:
        return b""
