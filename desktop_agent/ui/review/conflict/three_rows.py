"""The rows in which three versions of a text stand beside each other, and how each line is marked."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from desktop_agent.core.diff.intraline import Spans, changed_words
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.merge.three_way import Choice, Source, ThreeWay
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS

SOURCES: Final[tuple[Source, ...]] = ("base", "wanted", "yours")
_MAX_WORDS_KEPT = 2_000


class Look(NamedTuple):
    """How the lines of one version are marked in one region: roles of the palette, and a sign for the gutter."""

    ground: str = ""
    word: str = ""
    sign: str = ""
    ink: str = "muted"


class VersionCell(NamedTuple):
    """What one version has in a row."""

    look: Look
    number: int | None = None
    """Of its line, from 0; `None` where it has none."""
    text: str = ""
    words: Spans = ()
    """What differs from the line of the base."""
    is_gap: bool = False
    """Whether others have a line here."""


class ClashRows(NamedTuple):
    """Which rows a clash takes, from `first` to before `stop`."""

    first: int
    stop: int


class ThreeRows:
    """Knows what stands in every row, and marks it by what was decided."""

    def __init__(self, three: ThreeWay) -> None:
        self.three = three
        self._starts = list(accumulate((region.row_count for region in three.regions), initial=0))
        self.count = self._starts[-1]
        """How many rows there are."""
        clashes = (index for index, region in enumerate(three.regions) if region.origin == "clash")
        self._clash_numbers = {index: number for number, index in enumerate(clashes)}
        self._choices: tuple[Choice, ...] = ("undecided",) * len(self._clash_numbers)
        self._edited: frozenset[int] = frozenset()
        self._words: dict[tuple[int, int, Source], Spans] = {}

    def decide(self, choices: Sequence[Choice], edited: frozenset[int]) -> None:
        """Mark what was chosen for each clash, and which were edited by hand."""
        self._choices, self._edited = tuple(choices), edited

    def cell(self, row: int, source: Source) -> VersionCell:
        """Return what a version has in a row."""
        index, offset = self._at(row)
        region, look = self.three.regions[index], self._look(index, source)
        part = region.of(source)
        number = part.start + offset
        if number >= part.stop:
            return VersionCell(look, is_gap=region.origin != "unchanged")
        words = self._changed(index, offset, source) if look.word else ()
        return VersionCell(look, number, self.three.lines(source)[number], words)

    def clash_at(self, row: int) -> int | None:
        """Return the number of the clash that a row is of."""
        return self._clash_numbers.get(self._at(row)[0])

    def rows_of(self, clash: int) -> ClashRows | None:
        """Return the rows of the clash of this number, if there is one."""
        found = (index for index, number in self._clash_numbers.items() if number == clash)
        return next((ClashRows(self._starts[index], self._starts[index + 1]) for index in found), None)

    def lines(self, source: Source, first: int, last: int) -> list[int]:
        """Return the lines of a version in the rows from `first` to before `last`."""
        lines: list[int] = []
        for index in range(self._at(first)[0], len(self.three.regions)):
            if self._starts[index] >= last:
                break
            start, part = self._starts[index], self.three.regions[index].of(source)
            lines.extend(range(part.start + max(0, first - start), min(part.stop, part.start + last - start)))
        return lines

    def is_open(self, clash: int) -> bool:
        """Whether nothing was decided about this clash."""
        return self._choices[clash] == "undecided" and clash not in self._edited

    def _at(self, row: int) -> tuple[int, int]:
        """The index of the region that a row is of, and how many rows of it come before."""
        index = bisect_right(self._starts, row) - 1
        return index, row - self._starts[index]

    def _look(self, index: int, source: Source) -> Look:
        origin = self.three.regions[index].origin
        if origin == "unchanged":
            return Look()
        if origin == "clash":
            return self._clash_look(self._clash_numbers[index], source)
        if source == origin or (origin == "both" and source != "base"):
            return Look("added_line", "added_word", "+", "added_text")
        return Look("removed_line", "", "−", "removed_text") if source == "base" else Look()

    def _clash_look(self, clash: int, source: Source) -> Look:
        choice = self._choices[clash]
        if clash in self._edited:
            return Look("sunken")
        if choice == "undecided":
            return Look("warning_bg", "found_current", "≠" if source != "base" else "", "warning_text")
        if source in ("wanted", "yours") and choice in (source, "both"):
            return Look("accent_weak", "added_word", "✓", "accent_text")
        return Look("sunken")

    def _changed(self, index: int, offset: int, source: Source) -> Spans:
        """What differs from the line of the base in the same row."""
        key = (index, offset, source)
        if key not in self._words:
            if len(self._words) > _MAX_WORDS_KEPT:
                self._words.clear()
            self._words[key] = self._compared(index, offset, source)
        return self._words[key]

    def _compared(self, index: int, offset: int, source: Source) -> Spans:
        region = self.three.regions[index]
        if source == "base" or region.base.start + offset >= region.base.stop:
            return ()
        old = without_ending(self.three.base.lines[region.base.start + offset])
        new = without_ending(self.three.lines(source)[region.of(source).start + offset])
        return changed_words(old[:MAX_DRAWN_CHARS], new[:MAX_DRAWN_CHARS]).new
