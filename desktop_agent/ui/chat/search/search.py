"""Finding text in a transcript of any length: a little at a time, in the order of reading.

What is found is what is shown, not its markdown. Reading thousands of messages takes seconds, so the search yields
between entries and the caller decides how long a turn takes.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from desktop_agent.core.protocol.events import CommandRun, PromptSubmitted, Steered
from desktop_agent.core.transcript import TextEntry, ToolEntry
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.entries.markdown_entries import READ_S, is_behind, read_on
from desktop_agent.ui.chat.markdown.blocks import plain_blocks
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK
from desktop_agent.ui.chat.text.column import Slice
from desktop_agent.ui.chat.text.column_text import TextMatch, shown_text
from desktop_agent.ui.wording.visible_text import utf16_length

TITLE = -1
"""The block of a match that is in an entry but not in its text: in the title of a tool call, say."""

_WORD = re.compile(r"\w+")


class Search:
    """One search. `matches_in` reads one row; `found` keeps what was found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pattern = re.compile(re.escape(text), re.IGNORECASE)
        words = _WORD.findall(text.lower())
        self._rarest = max(words, key=len, default="")
        """A word that must be in the source of everything that matches: most entries are dismissed by it."""
        self.found: dict[EntryRow, list[TextMatch]] = {}
        self._readings: dict[EntryRow, object] = {}
        """The rows that are being read, each with the reading that counts."""
        self.current: tuple[EntryRow, TextMatch] | None = None

    def read(self, rows: Sequence[EntryRow]) -> Iterator[None]:
        """Search `rows` from the end, where the user usually is, yielding after each block that was read."""
        for row in reversed(rows):
            yield from self.read_row(row)

    def read_row(self, row: EntryRow) -> Iterator[None]:
        """Search one row anew, yielding after each block. What was found is known at the end."""
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
                    return  # it changed meanwhile, and is read anew
            if matches:
                self.found[row] = matches
        del self._readings[row]
        if not is_stream_kept and row.widget is None:
            row.stream = None
        if not is_kept:
            row.loaded.clear()

    def forget(self, row: EntryRow) -> None:
        """Drop what was found in a row that is no more."""
        self.found.pop(row, None)
        self._readings.pop(row, None)

    @property
    def total(self) -> int:
        """How many matches there are so far."""
        return sum(map(len, self.found.values()))

    @property
    def position(self) -> int:
        """Which match the current one is, from 1; 0 when there is none."""
        if self.current is None or self.current[0] not in self.found:
            return 0
        row, match = self.current
        before = sum(len(matches) for other, matches in self.found.items() if other.index < row.index)
        at = _place_of(match, self.found[row])
        return before + at + 1 if at >= 0 else 0

    def step(self, direction: int, origin: int) -> tuple[EntryRow, TextMatch] | None:
        """Go to the next match (1) or the one before (-1), round the end. Begins near row `origin`."""
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
        """Yield what is in the title, and then block by block."""
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
        """Yield what begins in the block at `index`, in the `end` of its `text`, and ends in what is behind it."""
        for found in self._pattern.finditer(end + behind):
            if found.start() < len(end) < found.end():
                length = utf16_length(text)
                yield TextMatch(index, length - utf16_length(end[found.start() :]), length)

    def _find_in_block(self, index: int, shown: str, matches: list[TextMatch]) -> int:
        """Add what is in a block to `matches`; return where the last of it ends."""
        at = position = 0
        for found in self._pattern.finditer(shown):
            start = position + utf16_length(shown[at : found.start()])
            at, position = found.end(), start + utf16_length(found[0])
            matches.append(TextMatch(index, start, position))
        return at


def _place_of(match: TextMatch, matches: Sequence[TextMatch]) -> int:
    """Return where a match is among others in the order of reading, or -1."""
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
    """Read the markdown of a row that is not on screen: one there reads for itself, and shows what it has read."""
    entry = row.entry
    if not isinstance(entry, TextEntry | CommandRun) or (row.widget is not None and row.stream is not None):
        return
    read_on(row, entry, Slice(READ_S))
    while row.widget is None and is_behind(row, entry):
        yield
        read_on(row, entry, Slice(READ_S))


def _texts(row: EntryRow) -> Iterator[tuple[str | None, str]]:
    """Yield the joint and the shown text of a row's blocks."""
    entry = row.entry
    match entry:
        case PromptSubmitted() | Steered():
            for block in plain_blocks(entry.text):
                yield block.joint, shown_text(block, {})
        case TextEntry() | CommandRun():
            stream = row.stream
            assert stream is not None
            for block in stream.blocks:
                yield block.joint, shown_text(block, stream.references)
        case ToolEntry():
            for block in family_of(entry).read(row).blocks()[0]:
                yield block.joint, shown_text(block, {})
        case _:
            pass
