"""The digest of a journal: its entry in the session list and its cost, without decoding every line."""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing, suppress
from datetime import date
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import DecodeError, Struct, convert, to_builtins
from msgspec.json import Decoder
from msgspec.json import encode as encode_json
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event
from desktop_agent.core.protocol.events import ApprovalRequested, ApprovalResolved, JournalEvent, Notice
from desktop_agent.core.protocol.model import Allowed, DayAllowance, SessionSummary, Spending, Usage
from desktop_agent.core.protocol.model.sessions import COST_DIGITS
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.cache_file import CacheFile, is_damage, is_lock, not_stopped, transaction
from desktop_agent.core.store.journal.journal_reader import internalise
from desktop_agent.core.store.journal.journal_scan import (
    JournalMark,
    Reported,
    fields_of,
    goes_on,
    head_of,
    mark_at,
    moment_of,
    open_journal,
    reported_in,
    state_of,
    whole_lines,
)
from desktop_agent.core.transcript import SessionInfo

_Key = tuple[bytes, str, str]
"""The date in bytes, the provider and the model; provider and model are empty if no record says who answered."""


class SpendingSums:
    def __init__(self, known: SessionSummary | None) -> None:
        self._before = known.usage if known is not None else Usage()
        self._known = known.spending if known is not None else ()
        self._sums: dict[_Key, _Sum] = {}

    def add(self, at: bytes, reported: Reported) -> None:
        day = at[:10] if at.endswith(b"Z") else moment_of(at.decode()).date().isoformat().encode()
        model, usage = reported.model, reported.usage
        key = (day, model.provider, model.model) if model is not None else (day, "", "")
        if (one := self._sums.get(key)) is None:
            self._sums[key] = one = _Sum()
        # Added in place, which is faster than adding `Usage` objects: there may be many requests.
        one.requests += 1
        one.input += usage.input_tokens
        one.output += usage.output_tokens
        one.read += usage.cache_read_tokens
        one.written += usage.cache_write_tokens
        one.searches += usage.web_searches
        if usage.cost_usd is not None:
            one.priced += 1
            one.cost_usd += usage.cost_usd
            one.unpriced += usage.unpriced_tokens
        else:
            one.unpriced += usage.context_tokens

    def pay_elsewhere(self) -> None:
        """Do not count the costs so far as this session's: another session, from which it was copied, paid for them."""
        self._before = self.total().paid_elsewhere()
        self._known = ()
        self._sums.clear()

    def total(self) -> Usage:
        return sum((one.usage() for one in self._sums.values()), self._before)

    def by_day_and_model(self) -> tuple[Spending, ...]:
        """Return the spending by day and model, without requests whose model was not recorded."""
        new = [
            Spending(
                day=moment_of(day.decode()).date(),
                provider=provider,
                model=model,
                requests=one.requests,
                usage=one.usage(),
            )
            for (day, provider, model), one in self._sums.items()
            if provider
        ]
        return merged([*self._known, *new])


def merged(spending: Iterable[Spending]) -> tuple[Spending, ...]:
    sums: dict[tuple[date, str, str], Spending] = {}
    for one in spending:
        key = (one.day, one.provider, one.model)
        if (sum_of := sums.get(key)) is None:
            sums[key] = one
        else:
            sums[key] = replace(one, requests=sum_of.requests + one.requests, usage=sum_of.usage + one.usage)
    return tuple(sums[key] for key in sorted(sums))


def usage_on(day: date, sessions: Iterable[SessionSummary]) -> Usage:
    return sum((one.usage for session in sessions for one in session.spending if one.day == day), Usage())


def until_usd_on(day: date, sessions: Iterable[SessionSummary]) -> float:
    """The highest limit that the user allowed on that day for all sessions together; 0 if none was allowed."""
    allowed = (session.allowance for session in sessions)
    return max((one.until_usd for one in allowed if one is not None and one.day == day), default=0.0)


class _Sum(Struct):
    requests: int = 0
    input: int = 0
    output: int = 0
    read: int = 0
    written: int = 0
    searches: int = 0
    priced: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def usage(self) -> Usage:
        return Usage(
            input_tokens=self.input,
            output_tokens=self.output,
            cache_read_tokens=self.read,
            cache_write_tokens=self.written,
            web_searches=self.searches,
            cost_usd=round(self.cost_usd, COST_DIGITS) if self.priced else None,
            unpriced_tokens=self.unpriced if self.priced else 0,
        )


_SCHEMA = (
    """CREATE TABLE session (
      id TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, read_bytes INTEGER NOT NULL,
      witness BLOB NOT NULL, summary TEXT NOT NULL) WITHOUT ROWID""",
)
_ALL = "SELECT id, size, mtime_ns, read_bytes, witness, summary FROM session"
_BUSY_S = 1.0
_LOCKED_S = 30.0
"""How long a locked file is left alone. Otherwise, the session list would wait at every read."""

_BATCH = 100

Known = TypeVar("Known")
Known_co = TypeVar("Known_co", covariant=True)
_Row = tuple[str, int, int, int, bytes, str]


class Noted(NamedTuple, Generic[Known]):
    mark: JournalMark
    known: Known


class JournalFold(Protocol[Known_co]):
    def take(self, line: bytes) -> None: ...

    def result(self, size_bytes: int) -> Known_co: ...


def fold_journal(
    path: Path,
    noted: Noted[Known] | None,
    begin: Callable[[Known | None], JournalFold[Known]],
    is_stopped: Callable[[], bool] = not_stopped,
) -> Noted[Known] | None:
    """Fold a journal, from where `noted` ends if that is still valid; None if it is unreadable, or if stopped."""
    try:
        with open_journal(path) as file:
            state = state_of(os.fstat(file.fileno()))
            before = noted if noted is not None and goes_on(file, noted.mark) else None
            fold = begin(before.known if before is not None else None)
            place = before.mark.read_bytes if before is not None else 0
            for _, end, line in whole_lines(file, place):
                fold.take(line)
                place = end
                if is_stopped():
                    return None
            return Noted(mark_at(file, state, place), fold.result(state[0]))
    except OSError:
        return None


class JournalCache(Generic[Known]):
    """Caches a struct for each session's journal. Methods block; a problem with the file never raises.

    Values that cannot be written stay in memory, so that a read-only disk does not slow the list down every time.
    """

    def __init__(self, path: Path, version: int, decoder: Decoder[Known]) -> None:
        """`decoder` reads the stored values. A file of another `version` is rebuilt."""
        self._file = CacheFile(path, version, _SCHEMA, ("session",))
        self._decoder = decoder
        self._unsaved: dict[SessionId, Noted[Known]] = {}
        self._locked_until = 0.0

    def all(self) -> dict[SessionId, Noted[Known]]:
        rows = (self._noted(row) for row in self._rows(_ALL))
        return {**{item[0]: item[1] for item in rows if item is not None}, **self._unsaved}

    def get(self, session_id: SessionId) -> Noted[Known] | None:
        if unsaved := self._unsaved.get(session_id):
            return unsaved
        rows = self._rows(f"{_ALL} WHERE id = ?", session_id)
        found = self._noted(rows[0]) if rows else None
        return found[1] if found is not None else None

    def keep(self, noted: Mapping[SessionId, Noted[Known]], gone: Collection[SessionId] = ()) -> None:
        for name in gone:
            self._unsaved.pop(name, None)
        self._unsaved.update(noted)
        if (not self._unsaved and not gone) or time.monotonic() < self._locked_until:
            return
        with suppress(OSError):
            try:
                self._write(gone)
            except sqlite3.Error as error:
                if is_damage(error):
                    self._file.discard()
                    with suppress(sqlite3.Error):
                        self._write(gone)

    def look_at(
        self,
        names: Iterable[SessionId],
        known: Mapping[SessionId, Noted[Known]],
        read: Callable[[SessionId, Noted[Known] | None], Noted[Known] | None],
    ) -> dict[SessionId, Noted[Known]]:
        """Return the result of `read` for each name that has one. Saves them in batches."""
        seen: dict[SessionId, Noted[Known]] = {}
        unsaved: dict[SessionId, Noted[Known]] = {}
        for name in names:
            if (noted := read(name, known.get(name))) is None:
                continue
            seen[name] = unsaved[name] = noted
            if len(unsaved) == _BATCH:
                self.keep(unsaved)
                unsaved = {}
        self.keep(unsaved)
        return seen

    def _write(self, gone: Collection[SessionId]) -> None:
        unsaved = dict(self._unsaved)  # a copy, because another thread may add values meanwhile
        rows = [_row(name, entry) for name, entry in unsaved.items()]
        with closing(self._file.connect(busy_s=_BUSY_S)) as connection, transaction(connection):
            connection.executemany("DELETE FROM session WHERE id = ?", [(name,) for name in gone])
            connection.executemany("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?)", rows)
        for name, entry in unsaved.items():
            if self._unsaved.get(name) is entry:  # unless another thread has replaced it
                self._unsaved.pop(name, None)

    def _rows(self, statement: str, *values: str) -> list[_Row]:
        if time.monotonic() < self._locked_until:
            return []
        try:
            with self._file.opened_to_read(busy_s=_BUSY_S) as connection:
                return connection.execute(statement, values).fetchall() if connection else []
        except sqlite3.Error as error:
            if is_lock(error):
                self._locked_until = time.monotonic() + _LOCKED_S
            if is_damage(error):
                with suppress(OSError):
                    self._file.discard()
        except OSError:
            pass
        return []

    def _noted(self, row: _Row) -> tuple[SessionId, Noted[Known]] | None:
        session_id, size, mtime_ns, read_bytes, witness, text = row
        try:
            return session_id, Noted(JournalMark((size, mtime_ns), read_bytes, witness), self._read(text))
        except (ValueError, TypeError):
            return None

    def _read(self, text: str) -> Known:
        """Reverse `_written`. Raises `ValueError`."""
        try:
            return self._decoder.decode(text)
        except DecodeError:  # an escaped surrogate too
            return convert(json.loads(text), learned(self._decoder.type), str_keys=True)


def _row(session_id: SessionId, noted: Noted[Known]) -> _Row:
    mark = noted.mark
    return session_id, *mark.state, mark.read_bytes, mark.witness, _written(noted.known)


def _written(known: object) -> str:
    try:
        return encode_json(known).decode()
    except UnicodeEncodeError:  # a lone surrogate, as in a title: SQLite needs it escaped
        return json.dumps(to_builtins(known, str_keys=True))


_ASKS_FOR_A_DAY = b"day_usd"
_FILING = frozenset({b"session_renamed", b"session_pinned", b"session_archived"})
_TURNS = frozenset({b"turn_started", b"turn_ended"})
_ABOUT_THE_SESSION = _FILING | {b"session_opened", b"session_forked", b"agent_session_opened", b"rewound"}
_QUESTIONS = {b"approval_requested": 1, b"approval_resolved": -1}
_COUNTED = {b"usage_reported", *_QUESTIONS}
_TELLING = _ABOUT_THE_SESSION | _TURNS | _COUNTED | {b"prompt_submitted", b"notice"}

_SHARED = (
    "title", "workspace", "is_title_given", "is_pinned", "is_archived", "forked_from", "purpose", "task", "worktree",
    "agent_sessions",
)  # fmt: skip

JournalSummary = Noted[SessionSummary | None]
"""What is known of a journal; `None` if it has no readable line."""


def summarise(path: Path, session_id: SessionId, blobs: Blobs, known: JournalSummary | None) -> JournalSummary | None:
    return fold_journal(path, known, lambda before: _Fold(session_id, blobs, before))


class _Fold:
    def __init__(self, session_id: SessionId, blobs: Blobs, known: SessionSummary | None) -> None:
        self._id = session_id
        self._blobs = blobs
        self._session = SessionInfo()
        self._at = self._active_at = b""
        self._turn = 0
        self._spending = SpendingSums(known)
        self._allowance: DayAllowance | None = None
        self._asked: DayAllowance | None = None
        self._asks = 0
        self._failure = ""
        if known is None:
            return
        shared = {name: getattr(known, name) for name in _SHARED}
        self._session = SessionInfo(opened_at=known.created_at, **shared)
        self._at, self._active_at = (one.isoformat().encode() for one in (known.updated_at, known.active_at))
        self._turn = known.turns
        self._asks, self._failure = known.asks, known.failure
        self._allowance, self._asked = known.allowance, known.asked_allowance

    def take(self, line: bytes) -> None:
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
            self._asks, self._asked = 0, None
            has_failed = kind == b"turn_ended" and b'_error"' in line
            self._failure = (self._failure or "error") if has_failed else ""
        if kind == b"turn_started":
            self._turn = head.turn
        elif kind == b"notice" and b'"error"' in line and isinstance(event := self._event(line), Notice):
            if event.level == "error" and event.turn is not None:
                self._failure = event.code
        elif kind in _QUESTIONS:
            self._asks = max(0, self._asks + _QUESTIONS[kind])
            self._note_allowance(line)
        elif kind == b"usage_reported":
            self._add_usage(head.at, line)
        elif kind == b"session_forked":
            self._spending.pay_elsewhere()
            self._allowance = self._asked = None  # given for the source session
        is_about = kind in _ABOUT_THE_SESSION or (kind == b"prompt_submitted" and not self._session.title)
        if is_about and (event := self._event(line)) is not None:
            self._session.apply(event)

    def _add_usage(self, at: bytes, line: bytes) -> None:
        is_parents = self._session.task is not None and self._turn <= 1
        if not is_parents and (reported := reported_in(line)) is not None:
            self._spending.add(at, reported)

    def _event(self, line: bytes) -> JournalEvent | None:
        try:
            return decode_event(internalise(fields_of(line), self._blobs)[0])
        except (MalformedLineError, StorageError, RecursionError):
            return None

    def _note_allowance(self, line: bytes) -> None:
        if self._asked is None and _ASKS_FOR_A_DAY not in line:
            return  # skips decoding nearly all requests, which can be long
        match self._event(line):
            case ApprovalRequested(request=request) if request.spending and request.spending.limit == "day_usd":
                day, until_usd = request.spending.day, request.spending.until_usd
                self._asked = DayAllowance(day=day, until_usd=until_usd, call_id=request.call_id)
            case ApprovalResolved(call_id=call_id, decision=decision) if self._asked and call_id == self._asked.call_id:
                self._allowance = replace(self._asked, call_id="") if isinstance(decision, Allowed) else self._allowance
                self._asked = None
            case _:
                pass

    def result(self, size_bytes: int) -> SessionSummary | None:
        """A turn without an end was cut off: the session is idle, or still asks its question."""
        if not self._at:
            return None
        session = self._session
        return SessionSummary(
            id=self._id,
            created_at=session.opened_at,
            updated_at=moment_of(self._at.decode()),
            active_at=moment_of((self._active_at or self._at).decode()),
            state="waiting" if self._asks else "idle",
            turns=self._turn,
            size_bytes=size_bytes,
            usage=self._spending.total(),
            spending=self._spending.by_day_and_model(),
            allowance=self._allowance,
            asked_allowance=self._asked,
            asks=self._asks,
            failure=self._failure,
            **{name: getattr(session, name) for name in _SHARED},
        )
