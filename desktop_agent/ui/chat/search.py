"""Finding text in a transcript of any length: a little at a time, in the order of reading.

What is found is what is shown, not its markdown. Reading thousands of messages takes seconds, so the search yields
between entries and whoever runs it decides how long a turn takes.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.entries.text import read_on
from desktop_agent.ui.chat.markdown.blocks import plain_blocks
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK, utf16_length
from desktop_agent.ui.chat.text.column import Match
from desktop_agent.ui.chat.text.copied import shown_text

if TYPE_CHECKING:
    from desktop_agent.ui.chat.row import Row

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
        self.found: dict[Row, list[Match]] = {}
        self.current: tuple[Row, Match] | None = None

    def read(self, rows: "Sequence[Row]") -> Iterator[None]:
        """Search `rows` from the end, where people are, yielding after each one that was read."""
        for row in reversed(rows):
            if self.read_row(row):
                yield

    def read_row(self, row: "Row") -> bool:
        """Search one row anew. Whether it had to be read."""
        self.found.pop(row, None)
        is_kept = row.widget is not None or bool(row.loaded)
        is_candidate = self._rarest in _source(row).lower()
        if is_candidate and (matches := list(self._matches(row))):
            self.found[row] = matches
        if not is_kept:
            row.loaded.clear()
        return is_candidate

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
        matches = self.found[row]
        return before + matches.index(match) + 1 if match in matches else 0

    def step(self, direction: int, origin: int) -> "tuple[Row, Match] | None":
        """Go to the next match (1) or the one before (-1), round the end. Begins near row `origin`."""
        ordered = [(row, match) for row in sorted(self.found, key=lambda row: row.index) for match in self.found[row]]
        if not ordered:
            self.current = None
        elif self.current in ordered:
            self.current = ordered[(ordered.index(self.current) + direction) % len(ordered)]
        else:
            near = [item for item in ordered if item[0].index <= origin]
            self.current = near[-1] if near else ordered[0]
        return self.current

    def _matches(self, row: "Row") -> Iterator[Match]:
        entry = row.entry
        title = entry.title if entry.kind == "tool" else entry.text if entry.kind == "command" else ""
        if title and self._pattern.search(title):
            yield Match(TITLE, 0, 0)
        for index, text in enumerate(_texts(row)):
            shown = text.replace(LINE_BREAK, " ")
            for found in self._pattern.finditer(shown):
                start = utf16_length(shown[: found.start()])
                yield Match(index, start, start + utf16_length(found[0]))


def _source(row: "Row") -> str:
    entry = row.entry
    match entry.kind:
        case "prompt" | "text" | "thinking":
            return entry.text
        case "tool":
            return f"{entry.title}\n{family_of(entry).read(row).text}"
        case "command":
            return f"{entry.text}\n{entry.output}"
        case _:
            return ""


def _texts(row: "Row") -> Iterator[str]:
    """Yield the shown text of a row's blocks."""
    entry = row.entry
    is_kept = row.widget is not None or row.stream is not None
    match entry.kind:
        case "prompt":
            for block in plain_blocks(entry.text):
                yield shown_text(block, {})
        case "text" | "thinking" | "command":
            # A row on screen reads for itself: what it has not read yet, it does not show yet.
            if row.widget is None or row.stream is None:
                read_on(row, entry)
            stream = row.stream
            assert stream is not None
            for block in stream.blocks:
                yield shown_text(block, stream.references)
            if not is_kept:
                row.stream = None
        case "tool":
            for block in family_of(entry).read(row).blocks()[0]:
                yield shown_text(block, {})
        case _:
            pass
