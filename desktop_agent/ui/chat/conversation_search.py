"""Finds text in a conversation, row by row, and steps through the matches."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from PySide6.QtCore import QElapsedTimer, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.events import CommandRun, PromptSubmitted, Steered
from desktop_agent.core.transcript import PageEntry, Patch, TextEntry, ToolEntry
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.entries.markdown_entries import READ_S, is_behind, parse_more
from desktop_agent.ui.chat.entries.prompt import read_prompt
from desktop_agent.ui.chat.markdown.parser import LINE_BREAK, References
from desktop_agent.ui.chat.text.column import Slice
from desktop_agent.ui.chat.text.column_text import TextMatch, shown_text
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.widgets.find_bar import FindTarget
from desktop_agent.ui.wording import utf16_length

TITLE = -1
"""The block of a match that is not in an entry's text but, for example, in the title of a tool call."""

_WORD = regex(r"\w+")


class Search:
    def __init__(self, text: str) -> None:
        self.text = text
        self._pattern = re.compile(re.escape(text), re.IGNORECASE)
        self._rarest = max(_WORD.findall(text.lower()), key=len, default="")
        """The longest word of the searched text: entries without it are skipped."""
        self.found: dict[EntryRow, list[TextMatch]] = {}
        self._readings: dict[EntryRow, object] = {}
        self.current: tuple[EntryRow, TextMatch] | None = None

    def read(self, rows: Sequence[EntryRow]) -> Iterator[None]:
        """Search these rows. Yields after each block, so that other work can be done."""
        for row in reversed(rows):
            yield from self.read_row(row)

    def read_row(self, row: EntryRow) -> Iterator[None]:
        """Search a row. Yields after each block, so that other work can be done; then `found` has the row's matches."""
        self.found.pop(row, None)
        reading = self._readings[row] = object()
        is_kept = row.widget is not None or bool(row.loaded)
        is_stream_kept = row.widget is not None or row.stream is not None
        if self._rarest in _source(row).lower():
            matches: list[TextMatch] = []
            yield from _read_markdown(row)
            for found in self._matches(row):
                matches += found
                yield
                if self._readings.get(row) is not reading:
                    return  # the row changed meanwhile, and is being read again
            if matches:
                self.found[row] = matches
        del self._readings[row]
        if not is_stream_kept and row.widget is None:
            row.stream = None
        if not is_kept:
            row.loaded.clear()

    def forget(self, row: EntryRow) -> None:
        self.found.pop(row, None)
        self._readings.pop(row, None)

    @property
    def total(self) -> int:
        return sum(map(len, self.found.values()))

    @property
    def position(self) -> int:
        if self.current is None or self.current[0] not in self.found:
            return 0
        row, match = self.current
        before = sum(len(matches) for other, matches in self.found.items() if other.index < row.index)
        at = _place_of(match, self.found[row])
        return before + at + 1 if at >= 0 else 0

    def step(self, direction: int, origin: int) -> tuple[EntryRow, TextMatch] | None:
        rows = sorted(self.found, key=lambda row: row.index)
        if not rows:
            self.current = None
            return None
        at = -1
        if self.current is not None and self.current[0] in self.found:
            at = _place_of(self.current[1], self.found[self.current[0]])
        if self.current is None or at < 0:
            near = [row for row in rows if row.index <= origin]
            self.current = (near[-1], self.found[near[-1]][-1]) if near else (rows[0], self.found[rows[0]][0])
            return self.current
        row = self.current[0]
        if not 0 <= at + direction < len(self.found[row]):
            row = rows[(rows.index(row) + direction) % len(rows)]
            at = -1 if direction > 0 else len(self.found[row])
        self.current = row, self.found[row][at + direction]
        return self.current

    def _matches(self, row: EntryRow) -> Iterator[list[TextMatch]]:
        entry = row.entry
        title = entry.title if isinstance(entry, ToolEntry) else entry.text if isinstance(entry, CommandRun) else ""
        if title and self._pattern.search(title):
            yield [TextMatch(TITLE, 0, 0)]
        before, unused = "", ""
        for index, (joint, text) in enumerate(_texts(row)):
            shown = text.replace(LINE_BREAK, " ")
            found: list[TextMatch] = []
            if unused and joint is not None:
                found += self._over_cut(index - 1, before, unused, joint.replace("\n", " ") + shown[: len(self.text)])
            end = self._find_in_block(index, shown, found)
            yield found
            before, unused = shown, shown[max(end, len(shown) - len(self.text) + 1) :]

    def _over_cut(self, index: int, text: str, end: str, behind: str) -> Iterator[TextMatch]:
        """Yield matches that begin in `end`, the last part of the `text` of block `index`, and continue in `behind`."""
        for found in self._pattern.finditer(end + behind):
            if found.start() < len(end) < found.end():
                length = utf16_length(text)
                yield TextMatch(index, length - utf16_length(end[found.start() :]), length)

    def _find_in_block(self, index: int, shown: str, matches: list[TextMatch]) -> int:
        """Return the end of the last match."""
        at = position = 0
        for found in self._pattern.finditer(shown):
            start = position + utf16_length(shown[at : found.start()])
            at, position = found.end(), start + utf16_length(found[0])
            matches.append(TextMatch(index, start, position))
        return at


def _place_of(match: TextMatch, matches: Sequence[TextMatch]) -> int:
    at = bisect_left(matches, match)
    return at if at < len(matches) and matches[at] == match else -1


def _source(row: EntryRow) -> str:
    entry = row.entry
    match entry:
        case PromptSubmitted() | Steered() | TextEntry():
            return entry.text
        case ToolEntry():
            return f"{entry.title}\n{family_of(entry).read(row).text}"
        case CommandRun():
            return f"{entry.text}\n{entry.output}"
        case _:
            return ""


def _read_markdown(row: EntryRow) -> Iterator[None]:
    """Parse the markdown of a row that is off screen. A row on screen parses its own markdown."""
    entry = row.entry
    if not isinstance(entry, TextEntry | CommandRun) or (row.widget is not None and row.stream is not None):
        return
    parse_more(row, entry, Slice(READ_S))
    while row.widget is None and is_behind(row, entry):
        yield
        parse_more(row, entry, Slice(READ_S))


def _texts(row: EntryRow) -> Iterator[tuple[str | None, str]]:
    references: References = {}
    match row.entry:
        case PromptSubmitted() | Steered() as entry:
            blocks = read_prompt(entry).blocks
        case TextEntry() | CommandRun():
            assert row.stream is not None
            blocks, references = row.stream.blocks, row.stream.references
        case ToolEntry() as entry:
            blocks, _ = family_of(entry).read(row).blocks()
        case _:
            return
    for block in blocks:
        yield block.joint, shown_text(block, references)


_SLICE_MS = 6


class _Sought(NamedTuple):
    page: int
    direction: int


class Finder(FindTarget):
    pages_sought = Signal(str)  # a search for this text began: pass the pages that may have it to `add_pages`
    page_sought = Signal()  # the search wants to go to another page; see `wanted_pages`

    def __init__(self, layout: RowLayout, viewport: QWidget) -> None:
        super().__init__(layout)
        self._layout = layout
        self._viewport = viewport
        self._search: Search | None = None
        self._candidates: frozenset[int | None] = frozenset()
        self._unread: frozenset[int | None] = frozenset()
        self._sought: _Sought | None = None
        self._steps: Iterator[None] | None = None
        self._timer = one_shot(self, 0, self._continue)
        layout.dropped.connect(self._forget)
        layout.patched.connect(self._on_patched)
        layout.widgets.made.connect(self._decorate)
        layout.widgets.changed.connect(self._on_row_changed)

    @property
    def is_searching(self) -> bool:
        return self._search is not None

    @property
    def is_reading(self) -> bool:
        return self._steps is not None

    def find(self, text: str) -> None:
        if text:
            self._candidates = self._unread = frozenset()
            self._sought = None
            self._search = Search(text)
            self._steps = self._search.read(list(self._layout.rows))
            self._continue()
        else:
            self.clear()
        self.pages_sought.emit(text)

    def clear(self) -> None:
        self._candidates = self._unread = frozenset()
        self._sought = None
        self._search = self._steps = None
        self._timer.stop()
        self._decorate_all()
        self.found.emit(0, 0)

    def step(self, by: int) -> None:
        if self._search is None:
            return
        before = self._search.current
        origin = before[0].index if before is not None else min(self._last_visible(), len(self._layout.rows) - 1)
        target = self._search.step(by, self._last_visible())
        is_near = before is not None and target is not None and target[0] is before[0] and target != before
        to_row = target[0] if target is not None else None
        page = self._page_before(to_row, by, origin) if not is_near else None
        if page is not None:
            self._search.current = before
            self._sought = _Sought(page, by)
            self.page_sought.emit()
            return
        self._sought = None
        if target is not None:
            self._show(*target)
        self._report()

    def pause(self) -> None:
        self._timer.stop()

    def resume(self) -> None:
        if self._steps is not None:
            self._timer.start()

    @property
    def has_unread(self) -> bool:
        return bool(self._unread)

    @property
    def wanted_pages(self) -> tuple[int, ...]:
        return () if self._sought is None else (self._sought.page,)

    def add_pages(self, text: str, numbers: Sequence[int]) -> None:
        if self._search is None or self._search.text != text:
            return
        placeholders = {row.page for row in self._layout.rows if isinstance(row.entry, PageEntry)}
        self._candidates = frozenset(numbers)
        self._unread = self._candidates & placeholders
        if not self.is_reading and not self._search.total:
            self.step(-1)
        self._report()

    def _on_patched(self, patches: Sequence[Patch]) -> None:
        if self._search is None:
            return
        for patch in patches:
            match patch.kind:
                case "collapse":
                    self._unread |= self._candidates & {self._layout.rows[patch.index].page}
                case "expand":
                    self._read_rows(self._search, patch.index, patch.count)
                case _:
                    pass

    def _page_before(self, target: EntryRow | None, direction: int, origin: int) -> int | None:
        """Return the first unread page from row `origin` to `target` in this direction, wrapping around at the end."""
        rows = self._layout.rows
        if direction > 0:
            way = chain(range(origin + 1, len(rows)), range(origin + 1))
        else:
            way = chain(range(origin, -1, -1), range(len(rows) - 1, origin, -1))
        for index in way:
            row = rows[index]
            if row is target and index != origin:
                return None
            if isinstance(row.entry, PageEntry) and row.page in self._unread:
                return row.page
        return None

    def _read_rows(self, search: Search, start: int, count: int) -> None:
        if not count:
            return
        rows = [self._layout.rows[index] for index in range(start, start + count)]
        self._unread -= {rows[0].page}
        self._steps = chain(search.read(rows), self._steps or ())
        self._timer.start()

    def _forget(self, row: EntryRow) -> None:
        if self._search is not None:
            self._search.forget(row)

    def _on_row_changed(self, row: EntryRow) -> None:
        if self._search is not None:
            steps = self._search.read_row(row)
            if self._steps is not None or not _run(steps):
                self._steps = chain(steps, self._steps or ())
                self.resume()
            self._decorate(row)
            self._report()

    def _decorate(self, row: EntryRow) -> None:
        if row.widget is None:
            return
        matches = self._search.found.get(row, []) if self._search is not None else []
        current = self._search.current if self._search is not None else None
        row.widget.show_matches(matches, current[1] if current is not None and current[0] is row else None)

    def _decorate_all(self) -> None:
        for row in list(self._layout.widgets.live):
            self._decorate(row)

    def _continue(self) -> None:
        if self._steps is not None and _run(self._steps):
            self._steps = None
        assert self._search is not None
        sought = self._sought
        if sought is not None and self._steps is None and sought.page not in self._unread:
            self.step(sought.direction)
        elif self._search.current is None and self._search.total and sought is None:
            self.step(1)
        self._decorate_all()
        self._report()
        self.resume()

    def _show(self, row: EntryRow, match: TextMatch) -> None:
        layout = self._layout
        if row.widget is None:
            layout.scroll_to(layout.reading.row_top(row))
        widget = row.widget
        assert widget is not None
        if match.block != TITLE and not widget.is_column_shown:
            row.is_unfolded = True
            widget.refresh()
            layout.row_resized(row)
        y = layout.reading.row_top(row)
        if match.block != TITLE and widget.is_column_shown:
            rects = widget.column.rects(match.block, match.start, match.end)
            y = layout.reading.row_top(row) + widget.column_origin.y() + (int(rects[0].top()) if rects else 0)
        layout.reveal(y)
        self._decorate_all()

    def _last_visible(self) -> int:
        return self._layout.rows.heights.at(self._layout.top_edge + self._viewport.height())

    def _report(self) -> None:
        if self._search is not None:
            self.found.emit(self._search.position, self._search.total)


def _run(steps: Iterator[None]) -> bool:
    clock = QElapsedTimer()
    clock.start()
    while clock.elapsed() < _SLICE_MS:
        if next(steps, _END) is _END:
            return True
    return False


_END = object()
