"""The entries of a transcript as rows with heights, and the reading position in them.

Heights are exact for rows that were on screen, and estimated for others.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from desktop_agent.core.protocol.events import CommandRun, PromptSubmitted, Rewound, SessionForked, Steered, TurnEnded
from desktop_agent.core.transcript import (
    CompactionEntry,
    Entry,
    NoticeEntry,
    PageEntry,
    Patch,
    SpendingEntry,
    TextEntry,
    ToolEntry,
    Transcript,
    UndoEntry,
)
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.text.column import Heights
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space

_FOLDED = 28
_CARD = 34
_CARD_WITH_OUTPUT = 200
_NOTICE = 76
_APPROVAL = 170
_QUESTION = 90
_LINE = 20
_DIFF_LINE = 18
_DIFF_LINES = 12
_PICTURE = 280
_BUBBLE = 18
_BLOCK_GAP = 8
_PROMPT_SHARE = 0.75
_LEAST_ENTRIES = 4


class EntryRows:
    """The rows of a transcript. A row's height includes the gap below it."""

    def __init__(self) -> None:
        self.heights = Heights()
        self._rows: list[EntryRow] = []
        self._width = 0
        self._letter_width = 1.0
        self._gap = Space.ENTRY
        self._plan: EntryRow | None = None
        self.changed: dict[EntryRow, None] = {}
        """The rows whose entries the last patches changed or whose plans they superseded."""

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> EntryRow:
        return self._rows[index]

    def __iter__(self) -> Iterator[EntryRow]:
        return iter(self._rows)

    def reset(self, entries: Sequence[Entry]) -> None:
        self._rows = _rows_of(entries)
        self._find_plan()
        self.measure(self._width, None)

    def exchange(self, entries: Sequence[Entry]) -> list[EntryRow]:
        """Show `entries`, of which the last are the same as now and keep their widgets. Return the removed rows."""
        before = self._rows
        kept = _same_at_end([row.entry for row in before], entries)
        stay, gone = before[len(before) - kept :], before[: len(before) - kept]
        heights = [self.heights[row.index] for row in stay]
        first = len(entries) - kept
        self._rows = _rows_of(entries[:first])
        for index, row in enumerate(stay, start=first):
            row.entry, row.index, row.page = entries[index], index, None
        self._rows += stay
        self._find_plan()
        self.heights.replace(0, [*map(self.estimate, self._rows[:first]), *heights])
        return gone

    def number_pages(self, transcript: Transcript) -> None:
        for number in transcript.paged.loaded_pages:
            for index in transcript.paged.span_of_page(number):
                self._rows[index].page = number

    def measure(self, width: int, styles: TextStyles | None) -> None:
        self._width = width
        if styles is not None:
            self._letter_width = styles.text_width
            self._gap = styles.entry_gap
        for row in self._rows:
            row.height_hint = 0
        self.heights.replace(0, map(self.estimate, self._rows))

    def apply(  # noqa: C901 - one closed vocabulary
        self, entries: Sequence[Entry], patches: Sequence[Patch]
    ) -> list[EntryRow]:
        """Apply patches. `entries` are those after the patches. Return the removed rows."""
        self.changed.clear()
        if not entries:
            removed, self._rows = self._rows, []
            self.heights.replace(0, ())
            return removed
        removed: list[EntryRow] = []
        added: list[EntryRow] = []
        for patch in patches:
            match patch.kind:
                case "append":
                    added.append(EntryRow(entries[-1], patch.index))
                    self._rows.append(added[-1])
                    self.heights.splice(patch.index, 0, (0,))
                case "remove":
                    removed.append(self._rows.pop(patch.index))
                    self.heights.splice(patch.index, 1, ())
                case "update" | "text" | "output":
                    row = self._rows[patch.index]
                    self.changed[row] = None
                    if patch.kind == "update" and _is_plan(row):
                        self._take_plan(row)
                case "expand":
                    removed += self._expand(patch, entries)
                case "collapse":
                    removed += self._collapse(patch, entries)
                case "changes" | "status":
                    pass
        if removed:
            self._number_from(0)
            for row in removed:
                self.changed.pop(row, None)
        for row in added:
            if row.index < len(self._rows) and self._rows[row.index] is row:
                row.entry = entries[row.index]
                self.heights.set(row.index, self.estimate(row))
        return removed

    def _number_from(self, start: int) -> None:
        for index in range(start, len(self._rows)):
            self._rows[index].index = index

    def _expand(self, patch: Patch, entries: Sequence[Entry]) -> list[EntryRow]:
        start, gone = patch.index, self._rows[patch.index]
        rows = [
            EntryRow(entry, index, gone.page)
            for index, entry in enumerate(entries[start : start + patch.count], start=start)
        ]
        self._rows[start : start + 1] = rows
        self._number_from(start + len(rows))
        for row in filter(_is_plan, rows):
            if self._plan is None or self._plan.index < row.index:
                self._take_plan(row)
            else:
                row.is_superseded = True
        self.heights.splice(start, 1, map(self.estimate, rows))
        return [gone]

    def _collapse(self, patch: Patch, entries: Sequence[Entry]) -> list[EntryRow]:
        start, end = patch.index, patch.index + patch.count
        gone = self._rows[start:end]
        row = EntryRow(entries[start], start, gone[0].page if gone else None)
        row.height_hint = self.heights.top(end) - self.heights.top(start)
        self._rows[start:end] = [row]
        if self._plan in gone:
            self._plan = None
        self.heights.splice(start, patch.count, (row.height_hint,))
        return gone

    def _find_plan(self) -> None:
        self._plan = None
        for row in filter(_is_plan, self._rows):
            row.is_superseded = False
            self._take_plan(row)
        self.changed.clear()

    def _take_plan(self, row: EntryRow) -> None:
        if self._plan is not None and self._plan is not row and self._plan.index < row.index:
            self._plan.is_superseded = True
            self.changed[self._plan] = None
        self._plan = row

    def estimate(self, row: EntryRow) -> int:
        entry = row.entry
        if isinstance(entry, PageEntry):  # a long session has thousands
            if not row.height_hint:
                lines = int(entry.characters / self._letters_in(self._width) * _LINE)
                row.height_hint = lines + max(_LEAST_ENTRIES, entry.entries) * (_LINE + self._gap)
            return row.height_hint
        match entry:
            case TextEntry(kind="text"):
                height = self._estimate_text(entry.text, self._width)
            case TextEntry():
                height = _FOLDED + (self._estimate_text(entry.text, self._width) if row.is_unfolded else 0)
            case PromptSubmitted() | Steered():
                height = _BUBBLE + self._estimate_text(entry.text, int(self._width * _PROMPT_SHARE))
            case ToolEntry():
                height = _estimate_card(row, entry)
            case SpendingEntry():
                height = _QUESTION if entry.is_waiting else _LINE
            case NoticeEntry():
                height = _NOTICE
            case CommandRun():
                height = _LINE + self._estimate_text(entry.output, self._width)
            case UndoEntry() | Rewound() | CompactionEntry() | SessionForked() | TurnEnded():
                height = _LINE
        return height + self._gap

    def _estimate_text(self, text: str, width: int) -> int:
        return int(len(text) / self._letters_in(width) * _LINE) + text.count("\n") * _BLOCK_GAP + _LINE

    def _letters_in(self, width: int) -> float:
        return max(20.0, width / self._letter_width)


def _rows_of(entries: Sequence[Entry]) -> list[EntryRow]:
    return [
        EntryRow(entry, index, entry.number if isinstance(entry, PageEntry) else None)
        for index, entry in enumerate(entries)
    ]


def _same_at_end(first: Sequence[Entry], second: Sequence[Entry]) -> int:
    pairs = zip(reversed(first), reversed(second), strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))


def _is_plan(row: EntryRow) -> bool:
    entry = row.entry
    return isinstance(entry, ToolEntry) and entry.result is not None and "todos" in entry.result.metadata


def _estimate_card(row: EntryRow, entry: ToolEntry) -> int:
    if entry.is_waiting:
        return _APPROVAL
    if row.is_unfolded is False:
        return _CARD
    result = entry.result
    if result is not None and result.images:
        return _PICTURE
    if result is not None and isinstance(todos := result.metadata.get("todos"), list):
        return _CARD if row.is_superseded else _CARD + _LINE * len(cast("list[object]", todos)) + Space.L
    if entry.output_tail or (result is not None and result.is_error):
        return _CARD_WITH_OUTPUT
    changed = sum(change.added + change.removed for change in entry.changes[:1])
    return _CARD + min(_DIFF_LINES, changed + 4) * _DIFF_LINE + Space.L if changed else _CARD


class Anchor(NamedTuple):
    row: EntryRow
    block: int
    """The block in the row; -1 for the row itself."""
    distance: int


class PagePlace(NamedTuple):
    row: int
    distance: int
    height: int


class ReadingPlace:
    """Keeps the reading position by an anchor. Without one, the scroll value stays, unless the end is followed."""

    def __init__(self, rows: EntryRows) -> None:
        self._rows = rows
        self._anchor: Anchor | None = None
        self.is_following = True

    def row_top(self, row: EntryRow) -> int:
        return Space.XL + self._rows.heights.top(row.index)

    def row_at(self, y: int) -> EntryRow | None:
        index = self._rows.heights.at(y - Space.XL)
        return self._rows[index] if index >= 0 else None

    def follow_end(self) -> None:
        self.is_following = True
        self._anchor = None

    def take(self, y: int) -> None:
        row = self.row_at(y)
        if row is None:
            self._anchor = None
            return
        distance, widget = y - self.row_top(row), row.widget
        self._anchor = Anchor(row, -1, distance)
        if widget is not None and widget.is_column_shown and widget.column.text.blocks:
            self._anchor = Anchor(row, *widget.column.anchor(distance - widget.column_origin.y()))

    def forget(self, row: EntryRow) -> None:
        if self._anchor is not None and self._anchor.row is row:
            self._anchor = None

    def value(self, shown: int, maximum: int) -> int:
        """Return the scroll value that keeps the reading position, at most `maximum`. `shown` is the current value."""
        if self.is_following:
            return maximum
        if self._anchor is None:
            return min(shown, maximum)
        row, block, distance = self._anchor
        y = self.row_top(row) + distance
        if block >= 0 and row.widget is not None:
            y += row.widget.column_origin.y() + row.widget.column.top(block)
        return max(0, min(y, maximum))

    def from_end(self) -> tuple[int, int, int] | None:
        """Return the anchor's row counted from the end, its block and its distance; `None` while following the end."""
        if self.is_following or self._anchor is None:
            return None
        return len(self._rows) - self._anchor.row.index, self._anchor.block, self._anchor.distance

    def put_on(self, row: EntryRow, block: int, distance: int) -> None:
        self.is_following = False
        self._anchor = Anchor(row, block, distance)

    def hold(self, index: int) -> PagePlace | None:
        """Return the position in the page at `index`, for `put_back` once the page's rows are loaded."""
        row = self._rows[index]
        if self._anchor is None or self._anchor.row is not row:
            return None
        return PagePlace(index, self._anchor.distance, self._rows.heights[index])

    def put_back(self, place: PagePlace, count: int, view_height: int) -> None:
        """Restore the reading position: at the row after the page if it was visible, otherwise within the page."""
        heights, end = self._rows.heights, place.row + count
        is_end_in_view = place.height - place.distance < view_height
        if is_end_in_view and end < len(self._rows):
            self._anchor = Anchor(self._rows[end], -1, place.distance - place.height)
            return
        top, height = heights.top(place.row), heights.top(end) - heights.top(place.row)
        inside = height * place.distance // max(1, place.height)
        self.take(Space.XL + top + inside)


class KeptPlace(NamedTuple):
    """A reading position for the reopened session. `distance` is from the block's top to the view's top edge."""

    entry: int
    """The entry, counted from the beginning of the session, whichever pages are loaded."""
    block: int
    """The block in the entry; -1 for the entry itself."""
    distance: int


class FoundEntry(NamedTuple):
    row: int
    """The index of its row, or of the row of the page that it is on."""
    page: int | None
    """The page that must be loaded before the entry can be shown; None if it is loaded."""
    share: float


def entry_number(transcript: Transcript, index: int) -> int:
    """Return the number of the entry at `index`, counted from the beginning of the session."""
    paged, before = transcript.paged, 0
    for number, page in enumerate(paged.pages):
        span = paged.span_of_page(number)
        if index < span.stop:
            return before + index - span.start
        before += page.entries
    return before + index - paged.base


def find_entry(transcript: Transcript, entry: int) -> FoundEntry | None:
    paged, before = transcript.paged, 0
    for number, page in enumerate(paged.pages):
        if entry < before + page.entries:
            span, inside = paged.span_of_page(number), entry - before
            if paged.is_loaded(number):
                return FoundEntry(min(span.start + inside, span.stop - 1), None, 0.0)
            return FoundEntry(span.start, number, inside / page.entries)
        before += page.entries
    index = paged.base + entry - before
    return FoundEntry(index, None, 0.0) if index < len(paged.entries) else None
