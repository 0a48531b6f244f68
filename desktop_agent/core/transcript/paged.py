"""The entries of a transcript, of which whole pages can stay on disk.

A page that is not loaded is one `PageEntry`. Later events about its entries are collected in `late`.
"""

from collections.abc import Callable
from copy import copy
from typing import Literal, Self, TypeVar

from msgspec import Struct, field, structs

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.transcript.entries import (
    CompactionEntry,
    Entry,
    Fold,
    JournalPage,
    PageEntry,
    SpendingEntry,
    TextEntry,
    ToolEntry,
)


class Patch(Struct, frozen=True):
    """A change of the transcript. `kind` says what changed.

    `append` and `remove`: the entry at `index`. `update`: redraw it. `text` and `output`: only `text` was added to it.
    `changes`: the recorded changes or their state. `status`: everything outside the entries. `expand` and `collapse`:
    the page at `index` became its `count` entries, or the reverse.
    """

    kind: Literal["append", "remove", "update", "text", "output", "changes", "status", "expand", "collapse"]
    index: int = -1
    text: str = ""
    count: int = 0


STATUS = Patch("status")
CHANGES = Patch("changes")

LateEvent = (
    ev.ToolCallFinished
    | ev.SubagentStarted
    | ev.SubagentEnded
    | ev.UsageReported
    | ev.ApprovalRequested
    | ev.ApprovalResolved
    | ev.ChangesRecorded
    | ev.SummaryEdited
    | ev.CompactionUndone
)


E = TypeVar("E", SpendingEntry, CompactionEntry)


class _Loaded(Struct, frozen=True):
    count: int
    tools: dict[CallId, int]


class PagedEntries(Fold):
    entries: list[Entry] = field(default_factory=list[Entry])
    pages: list[JournalPage] = field(default_factory=list[JournalPage])
    late: dict[int, list[LateEvent]] = field(default_factory=dict[int, list[LateEvent]])
    """For each page, the events about its entries that came after the table of pages was made."""
    _loaded: dict[int, _Loaded] = field(default_factory=dict[int, _Loaded])
    base: int = 0
    _tools: dict[CallId, int] = field(default_factory=dict[CallId, int])
    """The position of each call among the live entries."""
    _paged_tools: dict[CallId, int] = field(default_factory=dict[CallId, int])
    _paged_compactions: dict[str, int] = field(default_factory=dict[str, int])
    _questions: set[CallId] = field(default_factory=set[CallId])

    def tool_entry(self, call_id: CallId) -> ToolEntry | None:
        return self.locate(call_id)[1]

    @property
    def call_ids(self) -> set[CallId]:
        return {*self._paged_tools, *self._tools, *self._questions}

    def tool_of(self, call_id: CallId) -> str | None:
        number = self.page_of_call(call_id)
        if number is not None:
            return self.pages[number].calls[call_id]
        entry = self.tool_entry(call_id)
        return entry.call.name if entry is not None else None

    def is_question(self, call_id: CallId) -> bool:
        return call_id in self._questions

    def page_of_call(self, call_id: CallId) -> int | None:
        return None if call_id in self._tools else self._paged_tools.get(call_id)

    def page_start(self, number: int) -> int:
        loaded = (known.count - 1 for at, known in self._loaded.items() if at < number)
        return number + sum(loaded)

    def span_of_page(self, number: int) -> range:
        start, known = self.page_start(number), self._loaded.get(number)
        return range(start, start + (known.count if known is not None else 1))

    def is_loaded(self, number: int) -> bool:
        return number in self._loaded

    @property
    def loaded_pages(self) -> list[int]:
        return sorted(self._loaded)

    @property
    def live(self) -> list[Entry]:
        return self.entries[self.base :]

    def add_page(self, page: JournalPage) -> None:
        number = len(self.pages)
        self.pages.append(page)
        self.entries.insert(self.base, _placeholder(number, page))
        self.base += 1
        self._paged_tools.update(dict.fromkeys(page.calls, number))
        self._paged_compactions.update(dict.fromkeys(page.compactions, number))
        self._questions.update(call_id for call_id, tool in page.calls.items() if not tool)

    def page_out(self, page: JournalPage) -> None:
        """Replace all live entries by a placeholder for `page`, which gets the ids of their calls and summaries."""
        calls, live = {call_id: self.tool_of(call_id) or "" for call_id in self._tools}, self.live
        calls |= {entry.request.call_id: "" for entry in live if isinstance(entry, SpendingEntry)}
        compactions = tuple(entry.event.compaction_id for entry in live if isinstance(entry, CompactionEntry))
        del self.entries[self.base :]
        self._tools.clear()
        self.add_page(
            structs.replace(
                page,
                entries=len(live),
                characters=sum(map(_shown_characters, live)),
                calls=calls,
                compactions=compactions,
            )
        )

    def join_last_pages(self, page: JournalPage) -> None:
        """Join the last two pages into one, `page`. Neither may be loaded."""
        number = len(self.pages) - 2
        self.pages[number:] = [page]
        del self.entries[self.base - 1]
        self.base -= 1
        self.entries[self.base - 1] = _placeholder(number, page)
        self._paged_tools.update(dict.fromkeys(page.calls, number))
        self._paged_compactions.update(dict.fromkeys(page.compactions, number))

    def collapse(self, number: int) -> list[Patch]:
        known = self._loaded.get(number)
        if known is None:
            return []
        start = self.page_start(number)
        del self._loaded[number]
        self.entries[start : start + known.count] = [_placeholder(number, self.pages[number])]
        self.base += 1 - known.count
        return [Patch("collapse", start, count=known.count)]

    def copy(self) -> Self:
        late = {number: list(events) for number, events in self.late.items()}
        return structs.replace(super().copy(), late=late, entries=[_copied(entry) for entry in self.entries])

    def put_in(self, number: int, page: "PagedEntries") -> Patch:
        start = self.page_start(number)
        self._loaded[number] = _Loaded(len(page.entries), dict(page._tools))
        self.entries[start : start + 1] = page.entries
        self.base += len(page.entries) - 1
        return Patch("expand", start, count=len(page.entries))

    def append(self, entry: Entry) -> Patch:
        if isinstance(entry, ToolEntry):
            _, same_id = self.locate(entry.call.id)
            if same_id is not None:  # what is known by this id is about the later call from now on
                same_id.is_recovered = False
            self._tools[entry.call.id] = len(self.entries) - self.base
        elif isinstance(entry, SpendingEntry):
            self._questions.add(entry.request.call_id)
        self.entries.append(entry)
        return Patch("append", len(self.entries) - 1)

    def remove(self, index: int) -> Patch:
        del self.entries[index]
        at = index - self.base
        self._tools = {call_id: other - (other > at) for call_id, other in self._tools.items() if other != at}
        return Patch("remove", index)

    def locate(self, call_id: CallId, event: LateEvent | None = None) -> tuple[int, ToolEntry | None]:
        """Return the index of a call, and its entry if loaded. An `event` about a call on a page is kept for it."""
        index = self._tools.get(call_id)
        if index is not None:
            index += self.base
        elif (number := self._paged_tools.get(call_id)) is not None:
            if event is not None:
                self.late.setdefault(number, []).append(event)
            if (known := self._loaded.get(number)) is not None and call_id in known.tools:
                index = self.page_start(number) + known.tools[call_id]
        entry = self.entries[index] if index is not None else None
        return (index or 0, entry) if isinstance(entry, ToolEntry) else (-1, None)

    def locate_question(self, event: ev.ApprovalResolved) -> tuple[int, SpendingEntry | None]:
        page = self._paged_tools.get(event.call_id)
        return self._last(SpendingEntry, lambda entry: entry.request.call_id == event.call_id, page, event)

    def locate_compaction(self, event: ev.SummaryEdited | ev.CompactionUndone) -> tuple[int, CompactionEntry | None]:
        wanted, page = event.compaction_id, self._paged_compactions.get(event.compaction_id)
        return self._last(CompactionEntry, lambda entry: entry.event.compaction_id == wanted, page, event)

    def _last(
        self, kind: type[E], is_wanted: Callable[[E], bool], page: int | None, event: LateEvent
    ) -> tuple[int, E | None]:
        """Return the index and entry of the last one, if loaded. An `event` about one on a page is kept for it."""
        for index in range(len(self.entries) - 1, self.base - 1, -1):
            if isinstance(entry := self.entries[index], kind) and is_wanted(entry):
                return index, entry
        if page is not None:
            self.late.setdefault(page, []).append(event)
            for index in reversed(self.span_of_page(page)):
                if isinstance(entry := self.entries[index], kind) and is_wanted(entry):
                    return index, entry
        return -1, None


def _copied(entry: Entry) -> Entry:
    return structs.replace(entry, chunks=list(entry.chunks)) if isinstance(entry, TextEntry) else copy(entry)


def _placeholder(number: int, page: JournalPage) -> PageEntry:
    return PageEntry(number=number, entries=page.entries, characters=page.characters)


def _shown_characters(entry: Entry) -> int:
    match entry:
        case ev.PromptSubmitted(text=text) | ev.Steered(text=text):
            return len(text)
        case TextEntry(kind="text", chunks=chunks):
            return sum(map(len, chunks))
        case ev.CommandRun(output=output):
            return len(output)
        case _:
            return 0
