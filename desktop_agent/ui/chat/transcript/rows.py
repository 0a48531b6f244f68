"""The entries of a transcript as rows with heights: exact for those that were on screen, estimated for the others."""

from collections.abc import Sequence
from typing import cast

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
    """Rows and their heights, kept in step with the entries by patches. A height includes the gap below the row."""

    def __init__(self) -> None:
        self.heights = Heights()
        self._rows: list[EntryRow] = []
        self._width = 0
        self._letter_width = 1.0
        self._gap = Space.ENTRY
        self._letters_per_line = _letters_per_line(0, 1.0)
        """How many fit in a line."""
        self._plan: EntryRow | None = None
        """The row with the newest plan."""
        self._superseded: EntryRow | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> EntryRow:
        return self._rows[index]

    def reset(self, entries: Sequence[Entry]) -> None:
        """Start anew with these entries."""
        self._rows = _rows_of(entries)
        self._plan = None
        for row in filter(_is_plan, self._rows):
            self._take_plan(row)
        self._superseded = None
        self.measure(self._width, None)

    def exchange(self, entries: Sequence[Entry]) -> list[EntryRow]:
        """Start anew with these entries, which end as those before do. Return the rows that are no more.

        The rows of the same end stay, with their widgets and heights.
        """
        before = self._rows
        kept = _same_at_end([row.entry for row in before], entries)
        stay, gone = before[len(before) - kept :], before[: len(before) - kept]
        heights = [self.heights[row.index] for row in stay]
        first = len(entries) - kept
        self._rows = _rows_of(entries[:first])
        for index, row in enumerate(stay, start=first):
            row.entry, row.index, row.page = entries[index], index, None
        self._rows += stay
        self._plan = self._superseded = None
        for row in filter(_is_plan, self._rows):
            row.is_superseded = False
            self._take_plan(row)
        self._superseded = None
        self.heights.replace(0, [*map(self.estimate, self._rows[:first]), *heights])
        return gone

    def number_pages(self, transcript: Transcript) -> None:
        """Take in to which pages the rows of those that are loaded belong."""
        for number in transcript.paged.loaded_pages:
            for index in transcript.paged.span_of_page(number):
                self._rows[index].page = number

    def measure(self, width: int, styles: TextStyles | None) -> None:
        """Estimate all heights for a new width or font."""
        self._width = width
        if styles is not None:
            self._letter_width = styles.text_width
            self._gap = styles.entry_gap
        self._letters_per_line = _letters_per_line(width, self._letter_width)
        for row in self._rows:
            row.height_hint = 0
        self.heights.replace(0, map(self.estimate, self._rows))

    def apply(  # noqa: C901 - one closed vocabulary
        self, entries: Sequence[Entry], patches: Sequence[Patch]
    ) -> list[EntryRow]:
        """Follow these patches, after which the entries are `entries`. Return the rows that are no more."""
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
                    self._rows[patch.index].is_dirty = True
                    if patch.kind == "update" and _is_plan(self._rows[patch.index]):
                        self._take_plan(self._rows[patch.index])
                case "expand":
                    removed += self._expand(patch, entries)
                case "collapse":
                    removed += self._collapse(patch, entries)
                case "changes" | "status":
                    pass
        if removed:
            for index, row in enumerate(self._rows):
                row.index = index
        for row in added:
            if row.index < len(self._rows) and self._rows[row.index] is row:
                row.entry = entries[row.index]
                self.heights.set(row.index, self.estimate(row))
        return removed

    def _expand(self, patch: Patch, entries: Sequence[Entry]) -> list[EntryRow]:
        """Put the rows of a page in the place of the one that stood for it."""
        start, gone = patch.index, self._rows[patch.index]
        rows = [
            EntryRow(entry, index, gone.page)
            for index, entry in enumerate(entries[start : start + patch.count], start=start)
        ]
        self._rows[start : start + 1] = rows
        for index in range(start + len(rows), len(self._rows)):
            self._rows[index].index = index
        for row in filter(_is_plan, rows):
            self._place_plan(row)
        self.heights.splice(start, 1, map(self.estimate, rows))
        return [gone]

    def _collapse(self, patch: Patch, entries: Sequence[Entry]) -> list[EntryRow]:
        """Let one row stand for a page again, as high as the page was."""
        start, end = patch.index, patch.index + patch.count
        gone = self._rows[start:end]
        row = EntryRow(entries[start], start, gone[0].page if gone else None)
        row.height_hint = self.heights.top(end) - self.heights.top(start)
        self._rows[start:end] = [row]
        if self._plan in gone:
            self._plan = None
        self.heights.splice(start, patch.count, (row.height_hint,))
        return gone

    def supersede(self) -> EntryRow | None:
        """Return the row whose plan became an older one by the last patches, if any."""
        superseded, self._superseded = self._superseded, None
        return superseded

    def _take_plan(self, row: EntryRow) -> None:
        if self._plan is not None and self._plan is not row and self._plan.index < row.index:
            self._plan.is_superseded = self._plan.is_dirty = True
            self._superseded = self._plan
        self._plan = row

    def _place_plan(self, row: EntryRow) -> None:
        """Take in a plan that may be older than the newest."""
        if self._plan is None or self._plan.index < row.index:
            self._take_plan(row)
        else:
            row.is_superseded = True

    def estimate(self, row: EntryRow) -> int:
        """Return about how high a row is, from nothing but the length of its text."""
        entry = row.entry
        if isinstance(entry, PageEntry):  # of which a long session has thousands
            row.height_hint = row.height_hint or self._estimate_page(entry)
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

    def _estimate_page(self, entry: PageEntry) -> int:
        lines = int(entry.characters / self._letters_per_line * _LINE)
        return lines + max(_LEAST_ENTRIES, entry.entries) * (_LINE + self._gap)

    def _estimate_text(self, text: str, width: int) -> int:
        letters = _letters_per_line(width, self._letter_width)
        return int(len(text) / letters * _LINE) + text.count("\n") * _BLOCK_GAP + _LINE


def _rows_of(entries: Sequence[Entry]) -> list[EntryRow]:
    return [
        EntryRow(entry, index, entry.number if isinstance(entry, PageEntry) else None)
        for index, entry in enumerate(entries)
    ]


def _letters_per_line(width: int, letter_width: float) -> float:
    """Return about how many letters fit in a line."""
    return max(20.0, width / letter_width)


def _same_at_end(first: Sequence[Entry], second: Sequence[Entry]) -> int:
    """Return how many entries at the end of both are the same."""
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
