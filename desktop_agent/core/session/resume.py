"""Reopens a session quickly: the part of the journal after the snapshot is folded (ADR 11).

For a long journal, another process (`main`) makes a snapshot first, because folding rarely frees the interpreter lock.
"""

import asyncio
import gc
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import GenericAlias
from typing import Final, cast, get_args, get_origin, get_type_hints

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.context.history import History
from desktop_agent.core.context.history_fold import Beginning, HistoryFold
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.session.recorder import SessionState
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import Damage, reading
from desktop_agent.core.store.journal.records import (
    PageSize,
    Record,
    Yielder,
    YieldGil,
    merged,
    read_page,
    read_records,
)
from desktop_agent.core.store.journal.snapshot import SNAPSHOT_NAME, Section, read_extent, read_sections, write_snapshot
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.worker_process import NO_WINDOW, ignore_interrupts, module_command
from desktop_agent.core.transcript import JournalPage, Transcript

WHOLE: Final = Beginning(1, ())
MAX_DAMAGES: Final = 20
ORDINARY: Final = PageSize()
_REFOLD_BYTES: Final = 8 * 2**20

_Reader = Callable[..., Iterator[Record]]
"""`read_records` for one journal. Its arguments are the byte offsets from which and up to which to read."""


class ReplayState(Struct):
    """The state that results from the first `offset` bytes of a journal."""

    state: SessionState = field(default_factory=SessionState)
    offset: int = 0
    records: int = 0
    events: int = 0
    damages: list[Damage] = field(default_factory=list[Damage])
    """The first damages found, at most `MAX_DAMAGES`."""
    damage_count: int = 0
    is_lacking: bool = False
    """Whether content was missing that may come back. Such a state must not be stored."""
    places: dict[int, int] = field(default_factory=dict[int, int])
    """The offset of each record from which the history may be folded again, by the record's number."""
    beginning: Beginning = WHOLE

    def _note(self, record: Record) -> None:
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
        """Fold the rest of the journal, but not its entries and long results. Blocks. Raises `StorageError`."""
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
        """Fold the rest of the journal; yield each record after it is folded. Blocks. Raises `StorageError`."""
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
        start = self.places.get(beginning.seq, 0)  # 0 when it is not known, which is always right
        self.state.history.fold = folded_history(beginning, journal(start, self.offset))


def goes_beyond(history: History, event: ev.Event) -> bool:
    """Whether `event` brings back content that `history` omits, so that the whole journal must be folded."""
    match event:
        case ev.CompactionUndone():
            return not history.can_undo_compaction
        case ev.Rewound(turn=turn, scope=scope):
            return scope != "files" and not history.can_rewind_to(turn)
        case _:
            return False


def folded_history(beginning: Beginning, records: Iterable[Record]) -> HistoryFold:
    fold = HistoryFold(is_whole=beginning.seq <= 1)
    for event in beginning.events:
        fold.apply(event)
    for record in records:
        if record.event is not None:
            fold.apply(record.event)
    return fold


class _Pager:
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
        return JournalPage(start=self._known.offset, end=self._known.offset)


_PIECE: Final = 100
_NOT_SAVED: Final = {
    *("replay.state", "replay.offset", "replay.is_lacking"),
    *("session.jobs", "session.rules", "turns.activity", "context.use"),  # which only a running session has
    *("state.transcript", "state.history", "state.unfinished", "state.reads", "state.spending"),
}


def _parts_of(known: ReplayState) -> dict[str, Struct]:
    """Return all saved parts. The history is not saved, because it is folded from the journal again."""
    state, transcript = known.state, known.state.transcript
    return {
        "replay": known, "session": transcript.session, "turns": transcript.turns, "changed": transcript.changed,
        "context": transcript.context, "unfinished": state.unfinished, "reads": state.reads,
        "spending": state.spending, "state": state,
    }  # fmt: skip


def sections_of(known: ReplayState) -> Iterator[Section]:
    for name, part in _parts_of(known).items():
        for field_name in part.__struct_fields__:
            section, value = f"{name}.{field_name}", getattr(part, field_name)
            if section in _NOT_SAVED:
                continue
            if isinstance(value, dict):
                yield from _pieces(section, cast("dict[object, object]", value).items())
            elif isinstance(value, list | set):
                yield from _pieces(section, cast("Iterable[object]", value))
            else:
                yield section, to_builtins(value)
    yield from _pieces("pages", known.state.transcript.pages)


def _pieces(section: str, items: Iterable[object]) -> Iterator[Section]:
    rest = iter(items)
    while piece := list(islice(rest, _PIECE)):
        yield section, to_builtins(piece)


def known_of(sections: Iterable[Section], offset: int, yield_gil: Callable[[], None]) -> ReplayState:
    """Return the state up to `offset` from the sections. Raises `ValueError` or `KeyError`."""
    known = ReplayState(offset=offset)
    parts = _parts_of(known)
    for section, value in sections:
        if section == "pages":
            for page in convert(value, learned(list[JournalPage])):
                known.state.transcript.paged.add_page(page)
        else:
            name, _, field_name = section.partition(".")
            _restore(parts[name], field_name, value)
        yield_gil()
    return known


def _restore(part: Struct, name: str, value: object) -> None:
    kind = _kinds(type(part))[name]
    origin = get_origin(kind)
    if origin is dict:
        pairs = GenericAlias(list, (GenericAlias(tuple, get_args(kind)),))
        getattr(part, name).update(convert(value, learned(pairs)))
    elif origin is list:
        getattr(part, name).extend(convert(value, learned(kind)))
    elif origin is set:
        getattr(part, name).update(convert(value, learned(kind)))
    else:
        setattr(part, name, convert(value, learned(kind)))


_kinds: Callable[[type], dict[str, type]] = cache(get_type_hints)

_log = logging.getLogger(__name__)


def load(journal: Path, snapshot: Path, yield_gil: YieldGil) -> ReplayState:
    offset = read_extent(snapshot, journal)
    if offset is None:
        return ReplayState()
    try:
        return known_of(read_sections(snapshot, offset), offset, yield_gil)
    except (OSError, ValueError, TypeError, KeyError) as error:
        _log.info("The snapshot of a session is of no use and is made again: %s", type(error).__name__)
        return ReplayState()


def renew_snapshot(journal: Path, blobs: Blobs, snapshot: Path, *, yield_gil: YieldGil) -> None:
    """Write a snapshot of the whole journal. Blocks. Raises `OSError`, `StorageError`, or `ValueError`."""
    known = load(journal, journal.with_name(SNAPSHOT_NAME), yield_gil)
    known.carry_on(journal, blobs, yield_gil=yield_gil)
    if known.is_lacking:
        raise ValueError("contents are missing")
    write_snapshot(snapshot, journal, known.offset, sections_of(known))


_MODULE: Final = "desktop_agent.core.session.resume"

LONG_BYTES: Final = 4 * 2**20
"""The most bytes of a journal that are folded in a thread. For more, another process makes a snapshot first."""
WORTH_BYTES: Final = 2**20
"""A shorter journal has no snapshot, because folding it is as quick."""
FRESH_BYTES: Final = 2**18
"""A snapshot is renewed when the journal has grown by more than this many bytes since."""
SHOWN_ENTRIES: Final = 40


async def resume_beside(journal: Path, blobs: Blobs) -> ReplayState:
    """Return the state of a session without blocking the event loop. Raises `StorageError`.

    For a long journal, another process makes the snapshot first; cancelling ends that process.
    """
    with reading(journal):
        is_long = await asyncio.to_thread(bytes_to_fold, journal) > LONG_BYTES
    if is_long:
        await _make_snapshot(journal, blobs)
    return await asyncio.to_thread(resume, journal, blobs, yield_gil=Yielder())


def start_snapshot(journal: Path, blobs: Path, snapshot: Path) -> subprocess.Popen[bytes]:
    """Start a process that runs `main`; its exit code is 0 if it made a snapshot. Raises `OSError`."""
    return subprocess.Popen(  # noqa: S603 - our own module
        module_command(_MODULE, *map(str, (journal, blobs, snapshot))),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_environment(os.environ),
        creationflags=NO_WINDOW,
    )


async def _make_snapshot(journal: Path, blobs: Blobs) -> None:
    """Let another process make the snapshot. If it fails, resuming only takes longer."""
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
    return journal.stat().st_size - (read_extent(journal.with_name(SNAPSHOT_NAME), journal) or 0)


def resume(journal: Path, blobs: Blobs, *, yield_gil: YieldGil) -> ReplayState:
    """Return the state of a session. Blocks. Raises `StorageError` when the journal cannot be read."""
    known = load(journal, journal.with_name(SNAPSHOT_NAME), yield_gil)
    for _ in known.fold_rest(partial(read_records, journal, blobs, yield_gil=yield_gil)):
        pass
    return known


def show_end(transcript: Transcript, journal: Path, blobs: Blobs, *, yield_gil: YieldGil) -> None:
    number = len(transcript.pages)
    shown = len(transcript.entries) - number
    while number and shown < SHOWN_ENTRIES:
        number -= 1
        page = read_page(journal, blobs, transcript.pages[number], yield_gil=yield_gil)
        shown += len(page.entries)
        transcript.expand(number, page)


def read_whole_history(state: SessionState, journal: Path, blobs: Blobs, *, yield_gil: YieldGil) -> None:
    """Fold the omitted part of the journal into `state`'s history. Blocks. Raises `StorageError`."""
    if not state.history.fold.is_whole:
        state.history.fold = folded_history(WHOLE, read_records(journal, blobs, yield_gil=yield_gil))


def close_with_snapshot(journal: Path, blobs: Blobs) -> None:
    """Write a snapshot when a session closes, if that is worthwhile and quick. Blocks; raises nothing."""
    try:
        came = bytes_to_fold(journal)
        if journal.stat().st_size >= WORTH_BYTES and FRESH_BYTES <= came <= LONG_BYTES:
            renew_snapshot(journal, blobs, journal.with_name(SNAPSHOT_NAME), yield_gil=Yielder())
    except (OSError, StorageError, ValueError) as error:  # a cache is not worth an error
        _log.warning("No snapshot of a session could be written: %s", error)


def main(arguments: list[str]) -> int:
    ignore_interrupts()
    if sys.platform != "win32":
        os.nice(5)  # the user reads the end of the conversation meanwhile
    gc.disable()  # what is read leaves no cycles
    journal, blobs, snapshot = map(Path, arguments)
    try:
        renew_snapshot(journal, Blobs(blobs), snapshot, yield_gil=lambda: None)  # there is no other thread
    except (OSError, StorageError, ValueError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
