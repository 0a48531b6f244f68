"""What is known of a journal up to some place in it, and how that is carried on: by folding the next records in."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.context.history import History
from desktop_agent.core.context.history_fold import Beginning, HistoryFold
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import Damage
from desktop_agent.core.store.journal.records import PageSize, Record, YieldGil, merged, read_records
from desktop_agent.core.transcript import JournalPage

WHOLE: Final = Beginning(1, ())
MAX_DAMAGES: Final = 20
"""How many of them are listed one by one."""
ORDINARY: Final = PageSize()
_REFOLD_BYTES: Final = 8 * 2**20

_Reader = Callable[..., Iterator[Record]]
"""`read_records` of one journal: from a byte on, up to another."""


class ReplayState(Struct):
    """The state that a journal comes to, up to `offset`."""

    state: SessionState = field(default_factory=SessionState)
    offset: int = 0
    records: int = 0
    """How many lines there are."""
    events: int = 0
    """How many of them could be read."""
    damages: list[Damage] = field(default_factory=list[Damage])
    """The first of them."""
    damage_count: int = 0
    is_lacking: bool = False
    """Whether a content was missing that may come back: what is known must not be kept then."""
    places: dict[int, int] = field(default_factory=dict[int, int])
    """Where the records begin from which the history may have to be folded again, by number."""
    beginning: Beginning = WHOLE
    """From where the history is to be folded."""

    def _note(self, record: Record) -> None:
        """Count a record, and remember what is wrong with it and where it is."""
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
        """Fold the rest of the journal in, without keeping its entries. Blocks. Raises `StorageError`.

        Its history has no long results afterwards: it only shows from where the real one must be folded.
        """
        journal = partial(read_records, path, blobs, is_thin=True, yield_gil=yield_gil)
        pager = _Pager(self, page_size)
        folded_at = self.offset
        for record in self._fold_rest(journal):
            pager.take(record)
            if isinstance(record.event, ev.Compacted) and self.offset - folded_at > _REFOLD_BYTES:
                # What was summarised need not stay in memory.
                self._fold_history(journal, self.state.history.beginning())
                folded_at = self.offset
        pager.finish()
        self.beginning = self.state.history.beginning()

    def fold_to_end(self, journal: "_Reader") -> None:
        """Fold the rest of the journal in. Blocks. Raises `StorageError`."""
        for _ in self._fold_rest(journal):
            pass

    def _fold_rest(self, journal: "_Reader") -> Iterator[Record]:
        """Fold the rest of the journal in, and yield each record when it is. Raises `StorageError`."""
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
        """Fold up to here what the model sees, from `beginning` on."""
        start = self.places.get(beginning.seq, 0)  # 0 when it is not known, which is always right
        records = journal(start, self.offset)
        self.state.history.fold = folded_history(beginning, records)


def goes_beyond(history: History, event: ev.Event) -> bool:
    """Whether `event` shows again what this history left out: then it must be folded from the first line."""
    match event:
        case ev.CompactionUndone():
            return not history.can_undo_compaction
        case ev.Rewound(turn=turn, scope=scope):
            return scope != "files" and not history.can_rewind_to(turn)
        case _:
            return False


def folded_history(beginning: Beginning, records: Iterable[Record]) -> HistoryFold:
    """Return what the model sees of the records that come from `beginning` on."""
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
        """Take in what the record did to the pages."""
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
        """End the page."""
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
