"""Reopens a session quickly: what its snapshot does not have is folded from the journal (ADR 11).

`ReplayState` folds a journal on from the end of a snapshot; a snapshot is stored beside the journal, in sections. For a
long journal, `resume_process` makes one first, in another process. A snapshot is never the source of truth: if anything
is wrong with it, the journal alone gives the same state.
"""

import asyncio
import logging
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Final, Generic, TypeVar, cast, get_type_hints

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.context.history import History
from desktop_agent.core.context.history_fold import Beginning, HistoryFold
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import decode_event, encode, encode_event
from desktop_agent.core.protocol.model import (
    ApprovalRequest,
    JsonObject,
    ModelRef,
    OutsideFile,
    RefChange,
    Rule,
    ToolUseBlock,
    Uncaptured,
)
from desktop_agent.core.session.session_state import SessionState, SpendingState
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import Damage, cannot_read
from desktop_agent.core.store.journal.records import (
    PageSize,
    Record,
    Yielder,
    YieldGil,
    merged,
    read_page,
    read_records,
)
from desktop_agent.core.store.journal.snapshot import (
    SNAPSHOT_NAME,
    Section,
    extent_of,
    read_extent,
    read_sections,
    write_snapshot,
)
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.worker_process import NO_WINDOW, module_command
from desktop_agent.core.transcript import (
    ChangeRecord,
    ChangeState,
    ContextState,
    Destroyed,
    JournalPage,
    SessionInfo,
    Transcript,
    Turned,
    TurnState,
    UndoEntry,
    UndoStep,
)

WHOLE: Final = Beginning(1, ())
MAX_DAMAGES: Final = 20
"""How many damages are listed one by one."""
ORDINARY: Final = PageSize()
_REFOLD_BYTES: Final = 8 * 2**20

_Reader = Callable[..., Iterator[Record]]
"""`read_records` of one journal, from one byte offset to another."""


class ReplayState(Struct):
    """The state that results from a journal up to `offset`."""

    state: SessionState = field(default_factory=SessionState)
    offset: int = 0
    records: int = 0
    """How many lines there are."""
    events: int = 0
    """How many of them could be read."""
    damages: list[Damage] = field(default_factory=list[Damage])
    """The first of them, at most `MAX_DAMAGES`."""
    damage_count: int = 0
    is_lacking: bool = False
    """Whether content was missing that can come back: this state must then not be stored."""
    places: dict[int, int] = field(default_factory=dict[int, int])
    """By number, the offsets of the records from which the history may have to be folded again."""
    beginning: Beginning = WHOLE
    """Where folding the history begins."""

    def _note(self, record: Record) -> None:
        """Count a record, and note its damage and its offset."""
        self.offset = record.end
        self.records += 1
        self.events += record.event is not None
        self.damage_count += len(record.problems)
        self.is_lacking |= bool(record.problems) and not isinstance(record.event, ev.SessionOpened | None)
        room = MAX_DAMAGES - len(self.damages)
        self.damages += [Damage(self.records, problem) for problem in record.problems[:room]]
        if isinstance(record.event, ev.PromptSubmitted | ev.Compacted):
            self.places[record.event.seq] = record.start

    def carry_on(self, path: Path, blobs: Blobs, *, yield_gil: YieldGil, page_size: PageSize = ORDINARY) -> None:
        """Fold the rest of the journal without its entries and long results. Blocks. Raises `StorageError`."""
        journal = partial(read_records, path, blobs, is_thin=True, yield_gil=yield_gil)
        pager = _Pager(self, page_size)
        folded_at = self.offset
        for record in self.fold_rest(journal):
            pager.take(record)
            if isinstance(record.event, ev.Compacted) and self.offset - folded_at > _REFOLD_BYTES:
                # What was summarised need not stay in memory.
                self._fold_history(journal, self.state.history.beginning())
                folded_at = self.offset
        pager.finish()
        self.beginning = self.state.history.beginning()

    def fold_rest(self, journal: "_Reader") -> Iterator[Record]:
        """Fold the rest of the journal in, and yield each record when it is. Blocks. Raises `StorageError`."""
        if self.offset:
            self._fold_history(journal, self.beginning)
        for record in journal(self.offset):
            self._note(record)
            if record.event is not None:
                is_beyond = goes_beyond(self.state.history, record.event)
                self.state.apply(record.event)
                if is_beyond:
                    self._fold_history(journal, WHOLE)
            yield record

    def _fold_history(self, journal: "_Reader", beginning: Beginning) -> None:
        """Fold what the model sees up to here, starting at `beginning`."""
        start = self.places.get(beginning.seq, 0)  # 0 when it is not known, which is always right
        records = journal(start, self.offset)
        self.state.history.fold = folded_history(beginning, records)


def goes_beyond(history: History, event: ev.Event) -> bool:
    """Whether `event` restores what this history left out, so that it must be folded from the first line."""
    match event:
        case ev.CompactionUndone():
            return not history.can_undo_compaction
        case ev.Rewound(turn=turn, scope=scope):
            return scope != "files" and not history.can_rewind_to(turn)
        case _:
            return False


def folded_history(beginning: Beginning, records: Iterable[Record]) -> HistoryFold:
    """Return the history of the records from `beginning` on."""
    fold = HistoryFold(is_whole=beginning.seq <= 1)
    for event in beginning.events:
        fold.apply(event)
    for record in records:
        if record.event is not None:
            fold.apply(record.event)
    return fold


class _Pager:
    """Turns entries into pages while records are folded in."""

    def __init__(self, known: ReplayState, size: PageSize) -> None:
        self._known = known
        self._size = size
        self._transcript = known.state.transcript
        self._records = 0
        self._page = self._next_page()
        self._may_join = bool(self._transcript.pages)

    def take(self, record: Record) -> None:
        transcript = self._transcript
        for number in transcript.paged.late:
            page = transcript.pages[number]
            transcript.pages[number] = replace(page, late=(*page.late, record.start))
        transcript.paged.late.clear()
        self._records += 1
        self._page = replace(self._page, end=record.end)
        if self._records >= self._size.records or self._page.end - self._page.start >= self._size.length:
            self.finish()

    def finish(self) -> None:
        if self._records:
            transcript = self._transcript
            transcript.page_out(self._page)
            if self._may_join:
                *_, before, last = transcript.pages
                if last.end - before.start <= self._size.length:
                    transcript.paged.join_last_pages(merged(before, last))
            self._may_join = False
        self._records = 0
        self._page = self._next_page()

    def _next_page(self) -> JournalPage:
        known = self._known
        transcript = known.state.transcript
        return JournalPage(
            start=known.offset,
            end=known.offset,
            first_seq=transcript.session.last_seq + 1,
            first_turn=transcript.turn,
            entries=0,
            characters=0,
        )


T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

_PIECE: Final = 100
_LIVE: Final = {"jobs", "rules", "activity", "use"}
"""Parts of the state that only a running session has."""
_GROWING: Final = {
    "changes",
    "kept",
    "prompts",
    "undos",
    "steps",
    "turned",
    "uncaptured",
    "destroyed",
    "put_back",
    "numbers",
    "twice",
}

_FOLDS: Final = {"session": SessionInfo, "turns": TurnState, "changed": ChangeState, "context": ContextState}
"""What a transcript has besides its entries. No two of these have a field of the same name."""
_SMALL: Final = [
    (fold, name, kind)
    for fold, kind in _FOLDS.items()
    for name in kind.__struct_fields__
    if name not in _LIVE | _GROWING
]


@dataclass(frozen=True, slots=True)
class _Series(Generic[T]):
    """A part of the state that grows with a session."""

    kind: type[list[T]]
    items: Callable[[ReplayState], Iterable[T]]
    put: Callable[[ReplayState, list[T]], object]

    def pieces(self, known: ReplayState) -> Iterator[object]:
        items = iter(self.items(known))
        while piece := list(islice(items, _PIECE)):
            yield to_builtins(piece)

    def add(self, known: ReplayState, piece: object) -> None:
        """Restore a piece. Raises `ValueError`."""
        self.put(known, convert(piece, learned(self.kind)))


def _listed(kind: type[list[T]], of: Callable[[ReplayState], list[T]]) -> _Series[T]:
    return _Series(kind, of, lambda known, found: of(known).extend(found))


def _mapped(kind: type[list[tuple[K, V]]], of: Callable[[ReplayState], dict[K, V]]) -> _Series[tuple[K, V]]:
    return _Series(kind, lambda known: of(known).items(), lambda known, found: of(known).update(found))


class _Rest(Struct, frozen=True):
    """The parts of the state that stay small."""

    records: int
    events: int
    damages: list[Damage]
    damage_count: int
    beginning: int
    rules: list[Rule]
    turn: int | None
    model: ModelRef | None
    requests: int
    since: datetime | None
    seen_at: datetime | None
    calls: list[ToolUseBlock]
    started: set[CallId]
    asked: list[ApprovalRequest]
    acted: set[CallId]
    spending: SpendingState


def sections_of(known: ReplayState) -> Iterator[Section]:
    """Yield the state as sections, for `write_snapshot`."""
    transcript = known.state.transcript
    yield "head", {name: to_builtins(getattr(getattr(transcript, fold), name)) for fold, name, _ in _SMALL}
    unfinished = known.state.unfinished
    rest = _Rest(
        records=known.records,
        events=known.events,
        damages=known.damages,
        damage_count=known.damage_count,
        beginning=known.beginning.seq,
        rules=list(known.state.rules.values()),
        turn=unfinished.turn,
        model=unfinished.model,
        requests=unfinished.requests,
        since=unfinished.since,
        seen_at=unfinished.seen_at,
        calls=list(unfinished.calls.values()),
        started=unfinished.started,
        asked=list(unfinished.asked.values()),
        acted=unfinished.acted,
        spending=known.state.spending,
    )
    yield "rest", to_builtins(rest)
    if unfinished.prepared is not None:
        yield "prepared", encode_event(unfinished.prepared)
    for event in unfinished.jobs.values():
        yield "job", encode_event(event)
    for event in known.beginning.events:
        yield "beginning", encode_event(event)
    for name, series in _SERIES.items():
        for piece in series.pieces(known):
            yield name, piece


def known_of(sections: Iterable[Section], offset: int, yield_gil: Callable[[], None]) -> ReplayState:
    """Return the state that `sections_of` was given; it is valid up to `offset`. Raises `ValueError` for other
    sections.
    """
    known = ReplayState(offset=offset)
    for name, value in sections:
        match name:
            case "head":
                _put_head(known.state.transcript, cast("JsonObject", value))
            case "rest":
                _put_rest(known, convert(value, learned(_Rest)))
            case "prepared":
                event = decode_event(cast("JsonObject", value))
                known.state.unfinished.prepared = event if isinstance(event, ev.ChangesPrepared) else None
            case "job":
                event = cast("ev.ChangesPrepared", decode_event(cast("JsonObject", value)))
                known.state.unfinished.jobs[event.call_id] = event
            case "beginning":
                event = cast("ev.KnownEvent", decode_event(cast("JsonObject", value)))
                known.beginning = known.beginning._replace(events=(*known.beginning.events, event))
            case _ if name in _SERIES:
                _SERIES[name].add(known, value)
            case _:
                raise ValueError(f"an unknown section: {name}")
        yield_gil()
    return known


def _put_head(transcript: Transcript, head: JsonObject) -> None:
    for fold, name, kind in _SMALL:
        if name in head:
            setattr(getattr(transcript, fold), name, convert(head[name], learned(_kinds(kind)[name])))


@cache
def _kinds(fold: type) -> dict[str, type]:
    return get_type_hints(fold)


def _put_rest(known: ReplayState, rest: _Rest) -> None:
    known.records, known.events = rest.records, rest.events
    known.damages, known.damage_count = rest.damages, rest.damage_count
    known.beginning = Beginning(rest.beginning, ())
    known.state.spending = rest.spending
    known.state.rules = {rule.id: rule for rule in rest.rules}
    unfinished = known.state.unfinished
    unfinished.turn, unfinished.model, unfinished.requests = rest.turn, rest.model, rest.requests
    unfinished.since, unfinished.seen_at = rest.since, rest.seen_at
    unfinished.calls = {block.id: block for block in rest.calls}
    unfinished.asked = {request.call_id: request for request in rest.asked}
    unfinished.started, unfinished.acted = rest.started, rest.acted


def _put_pages(known: ReplayState, pages: list[JournalPage]) -> None:
    for page in pages:
        known.state.transcript.paged.add_page(page)


def _put_back(fields: JsonObject) -> RefChange | OutsideFile:
    return convert(fields, learned(RefChange if "name" in fields else OutsideFile))


_SERIES: Final = cast(
    "dict[str, _Series[object]]",
    {
        "changes": _Series(
            list[ChangeRecord],
            lambda known: known.state.transcript.changes.values(),
            lambda known, found: known.state.transcript.changes.update((item.change.id, item) for item in found),
        ),
        "kept": _mapped(list[tuple[str, set[str]]], lambda known: known.state.transcript.changed.kept),
        "prompts": _mapped(list[tuple[int, str]], lambda known: known.state.transcript.turns.prompts),
        "undos": _listed(list[UndoEntry], lambda known: known.state.transcript.changed.undos),
        "steps": _listed(list[UndoStep], lambda known: known.state.transcript.changed.steps),
        "turned": _listed(list[Turned], lambda known: known.state.transcript.changed.turned),
        "uncaptured": _listed(list[tuple[int, Uncaptured]], lambda known: known.state.transcript.changed.uncaptured),
        "destroyed": _mapped(list[tuple[CallId, Destroyed]], lambda known: known.state.transcript.changed.destroyed),
        "put_back": _Series(
            list[tuple[CallId, JsonObject]],
            lambda known: ((call, encode(one)) for call, one in known.state.transcript.changed.put_back),
            lambda known, found: known.state.transcript.changed.put_back.update(
                (call, _put_back(one)) for call, one in found
            ),
        ),
        "numbers": _mapped(list[tuple[int, int]], lambda known: known.state.transcript.changed.numbers),
        "twice": _mapped(list[tuple[str, int]], lambda known: known.state.transcript.changed.twice),
        "reads": _mapped(list[tuple[str, str | None]], lambda known: known.state.reads.seen),
        "pages": _Series(list[JournalPage], lambda known: known.state.transcript.pages, _put_pages),
        "places": _mapped(list[tuple[int, int]], lambda known: known.places),
    },
)


_log = logging.getLogger(__name__)


def load(journal: Path, snapshot: Path, yield_gil: YieldGil) -> ReplayState:
    """Return the state in the snapshot of the journal; an empty state if the snapshot is unusable."""
    offset = read_extent(snapshot, journal)
    if offset is None:
        return ReplayState()
    try:
        return known_of(read_sections(snapshot, offset), offset, yield_gil)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        _log.info("The snapshot of a session is of no use and is made again: %s", type(error).__name__)
        return ReplayState()


def renew_snapshot(journal: Path, blobs: Blobs, snapshot: Path, *, yield_gil: YieldGil) -> None:
    """Write a snapshot of the whole journal. Blocks. Raises `OSError`, `StorageError`, or `ValueError`."""
    known = load(journal, journal.with_name(SNAPSHOT_NAME), yield_gil)
    known.carry_on(journal, blobs, yield_gil=yield_gil)
    if known.is_lacking:
        raise ValueError("contents are missing")
    write_snapshot(snapshot, extent_of(journal, known.offset), sections_of(known))


_SNAPSHOT_PROCESS: Final = "desktop_agent.core.session.resume_process"

LONG_BYTES: Final = 4 * 2**20
"""The longest part of a journal that is folded in a thread; a longer one is folded in another process, into
a snapshot.
"""
WORTH_BYTES: Final = 2**20
"""A journal shorter than this has no snapshot: folding it is as quick."""
FRESH_BYTES: Final = 2**18
"""A snapshot is renewed when the journal has grown by more than this since."""
SHOWN_ENTRIES: Final = 40
"""How many entries at the end are loaded from the start."""


async def resume_beside(journal: Path, blobs: Blobs) -> ReplayState:
    """Return the state of a session without blocking the event loop. Raises `StorageError`.

    For a long journal, another process makes the snapshot first; cancelling this ends it.
    """
    try:
        is_long = await asyncio.to_thread(bytes_to_fold, journal) > LONG_BYTES
    except OSError as error:
        raise cannot_read(journal, error) from error
    if is_long:
        await _make_snapshot(journal, blobs)
    return await asyncio.to_thread(resume, journal, blobs, yield_gil=Yielder())


def start_snapshot(journal: Path, blobs: Path, snapshot: Path) -> subprocess.Popen[bytes]:
    """Start `resume_process`, which exits with 0 when there is a snapshot. Raises `OSError` when no process can be
    started.
    """
    return subprocess.Popen(  # noqa: S603 - our own module
        module_command(_SNAPSHOT_PROCESS, *map(str, (journal, blobs, snapshot))),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_environment(os.environ),
        creationflags=NO_WINDOW,
    )


async def _make_snapshot(journal: Path, blobs: Blobs) -> None:
    """Let another process make a snapshot. If that fails, resuming is slower."""
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
    """Return how many bytes of the journal no snapshot covers. Blocks. Raises `OSError`."""
    return journal.stat().st_size - (read_extent(journal.with_name(SNAPSHOT_NAME), journal) or 0)


def resume(journal: Path, blobs: Blobs, *, yield_gil: YieldGil) -> ReplayState:
    """Return the state of a session. Blocks. Raises `StorageError` when the journal cannot be read."""
    known = load(journal, journal.with_name(SNAPSHOT_NAME), yield_gil)
    for _ in known.fold_rest(partial(read_records, journal, blobs, yield_gil=yield_gil)):
        pass
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
    """Fold into `state` what its history left out of the journal. Blocks. Raises `StorageError`."""
    if not state.history.fold.is_whole:
        state.history.fold = folded_history(WHOLE, read_records(journal, blobs, yield_gil=yield_gil))


def close_with_snapshot(journal: Path, blobs: Blobs) -> None:
    """Write a snapshot of a closing session, if that is worthwhile and quick. Blocks; raises nothing."""
    try:
        came = bytes_to_fold(journal)
        if journal.stat().st_size >= WORTH_BYTES and FRESH_BYTES <= came <= LONG_BYTES:
            renew_snapshot(journal, blobs, journal.with_name(SNAPSHOT_NAME), yield_gil=Yielder())
    except (OSError, StorageError, ValueError) as error:  # a cache is not worth an error
        _log.warning("No snapshot of a session could be written: %s", error)
