"""Finds where hunks belong in the current file, or why they do not fit. Comparison is exact first, then looser."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from operator import methodcaller

from msgspec import Struct

from desktop_agent.core.tools.files.suggest import similar_lines
from desktop_agent.core.tools.patches.formats import PatchError, PatchHunk

MOST_LINES_MOVED = 1000

_MOST_PLACES_NAMED = 10
_MOST_VOTES_PER_LINE = 200
_LONGEST_SHOWN = 200

LEVELS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", str),
    ("", methodcaller("removesuffix", "\r")),
    ("white space at the end of lines was ignored", str.rstrip),
    ("white space at both ends of lines was ignored", str.strip),
)
EXACT, ANY_ENDING, _, ANY_INDENT = range(len(LEVELS))


class HunkLocation(Struct, frozen=True, kw_only=True):
    """Where a hunk belongs: its old lines are lines `start` to `end` of the file (from 0, `end` excluded)."""

    hunk: PatchHunk
    start: int
    end: int
    level: int
    moved: int = 0

    @property
    def note(self) -> str:
        notes = [LEVELS[self.level][0]] if LEVELS[self.level][0] else []
        if self.moved:
            notes.append(f"found {abs(self.moved)} lines {'below' if self.moved > 0 else 'above'} where it says")
        return ", ".join(notes)


def place_all(lines: Sequence[str], hunks: Sequence[PatchHunk], *, loosest: int = ANY_INDENT) -> list[HunkLocation]:
    """Return where the hunks belong, in the order of the file. `lines` have no newlines. Raises `PatchError`."""
    file = _File(lines, loosest)
    for number, hunk in enumerate(hunks, start=1):
        try:
            file.add(hunk)
        except PatchError as error:
            name = f"hunk {number} of {len(hunks)}" if len(hunks) > 1 else "the hunk"
            raise PatchError(f"{name} does not fit: {error}") from None
    return sorted(file.places, key=lambda place: (place.start, place.end))


class _File:
    def __init__(self, lines: Sequence[str], loosest: int) -> None:
        self._lines = lines
        self._levels = range(loosest + 1)
        self._views: dict[int, list[str]] = {}
        self.places: list[HunkLocation] = []
        self._after = 0
        self._drift = 0

    def add(self, hunk: PatchHunk) -> None:
        place = self._place(hunk) if hunk.old else self._place_of_insertion(hunk)
        self.places.append(place)
        self._after = place.end
        if hunk.start is not None:
            self._drift = place.start - hunk.start

    def _place(self, hunk: PatchHunk) -> HunkLocation:
        anchors = self._anchor_lines(hunk.anchors) if hunk.anchors else None
        for level in self._levels:
            found = self._free(hunk, self._find(hunk.old, level))
            if anchors is not None:
                found = sorted({place for anchor in anchors for place in islice((p for p in found if p >= anchor), 1)})
            if not found:
                continue
            start, moved = self._choose(hunk, found)
            return HunkLocation(hunk=hunk, start=start, end=start + len(hunk.old), level=level, moved=moved)
        raise PatchError(self._mismatch(hunk))

    def _choose(self, hunk: PatchHunk, found: list[int]) -> tuple[int, int]:
        expected = None if hunk.start is None else hunk.start + self._drift
        if expected in found:
            return expected, 0
        if len(found) > 1:
            raise PatchError(
                f"its lines are at {_places(found)}. Add lines around the right one, or an '@@ ' line with the "
                "function or class it is in."
            )
        moved = 0 if expected is None else found[0] - expected
        if abs(moved) > MOST_LINES_MOVED:
            raise PatchError(
                f"its lines are at line {found[0] + 1}, which is more than {MOST_LINES_MOVED} lines from where it "
                "says. Correct the line number, or leave the numbers out ('@@')."
            )
        return found[0], moved

    def _place_of_insertion(self, hunk: PatchHunk) -> HunkLocation:
        size = len(self._lines)
        at: int | None = None
        if hunk.is_at_end or not size:
            at = size
        elif hunk.start is not None:
            at = hunk.start + self._drift
            if not self._after <= at <= size:
                raise PatchError(f"it adds lines after line {at}, but the file has {size} lines.")
        elif hunk.anchors:
            anchors = self._anchor_lines(hunk.anchors)
            if len(anchors) > 1:
                raise PatchError(f"its '@@' line is at {_places(anchors)}. Name an outer one too.")
            at = anchors[0] + 1
        if at is None:
            raise PatchError(
                "it only adds lines and does not say where. Add the lines around them, an '@@ ' line that comes before "
                "them, or '*** End of File'."
            )
        return HunkLocation(hunk=hunk, start=at, end=at, level=EXACT)

    def _view(self, level: int) -> list[str]:
        if level not in self._views:
            self._views[level] = [LEVELS[level][1](line) for line in self._lines]
        return self._views[level]

    def _find(self, wanted: Sequence[str], level: int) -> list[int]:
        view = self._view(level)
        needle = [LEVELS[level][1](line) for line in wanted]
        found: list[int] = []
        at = -1
        while True:
            try:
                at = view.index(needle[0], at + 1)
            except ValueError:
                return found
            if view[at : at + len(needle)] == needle:
                found.append(at)

    def _free(self, hunk: PatchHunk, found: list[int]) -> list[int]:
        size = len(hunk.old)
        if hunk.is_at_end:
            found = [start for start in found if start + size == len(self._lines)]
        free = [
            start for start in found if all(start >= place.end or start + size <= place.start for place in self.places)
        ]
        return [start for start in free if start >= self._after] or free

    def _anchor_lines(self, anchors: Sequence[str]) -> list[int]:
        lines = [self._lines_like(anchor) for anchor in anchors]
        found: set[int] = set()
        for outer in lines[0]:
            at: int | None = outer
            for inner in lines[1:]:
                at = next((line for line in inner if at is not None and line > at), None)
            if at is not None:
                found.add(at)
        if not found:
            raise PatchError(f"{anchors[-1]!r} does not come after {anchors[0]!r} in the file.")
        after = {line for line in found if line >= self._after}
        return sorted(after or found)

    def _lines_like(self, anchor: str) -> list[int]:
        view = self._view(ANY_INDENT)
        found = [number for number, line in enumerate(view) if line == anchor]
        if not found:
            begins = re.compile(re.escape(anchor) + (r"(?!\w)" if anchor[-1:].isalnum() or anchor[-1:] == "_" else ""))
            found = [number for number, line in enumerate(view) if begins.match(line)]
        if not found:
            raise PatchError(f"no line of the file is {anchor!r}, which its '@@' line names.{self._similar([anchor])}")
        return found

    def _mismatch(self, hunk: PatchHunk) -> str:
        wanted = [line.strip() for line in hunk.old]
        view = self._view(ANY_INDENT)
        start, fitting = self._best_start(hunk, wanted)
        applied = self._find(hunk.new, ANY_ENDING) if hunk.new else []
        done = f" Its new lines are already at line {applied[0] + 1}; it may have been applied." if applied else ""
        if not fitting:
            return f"none of its lines is in the file.{self._similar(hunk.old)}{done}"
        numbers = [number for number, line in enumerate(hunk.lines, start=1) if line[0] != "+"]
        for index, line in enumerate(wanted):
            at = start + index
            if 0 <= at < len(view) and view[at] == line:
                continue
            shown = _shown(hunk.lines[numbers[index] - 1])
            where = f"line {numbers[index]} of the hunk is {shown}, but "
            if not 0 <= at < len(view):
                return f"{where}the file has only {len(view)} lines.{done}"
            return f"{where}line {at + 1} of the file is {_shown(self._lines[at])}.{done}"
        end = "does not end there" if hunk.is_at_end else "has them where another hunk of the patch already changes it"
        return f"its lines are at line {start + 1}, but the file {end}."

    def _best_start(self, hunk: PatchHunk, wanted: Sequence[str]) -> tuple[int, int]:
        places: dict[str, list[int]] = {}
        for number, line in enumerate(self._view(ANY_INDENT)):
            if line:
                places.setdefault(line, []).append(number)
        votes: Counter[int] = Counter()
        for index, line in enumerate(wanted):
            votes.update(number - index for number in places.get(line, [])[:_MOST_VOTES_PER_LINE])
        if not votes:
            return 0, 0
        expected = self._after if hunk.start is None else hunk.start + self._drift
        return max(votes.items(), key=lambda item: (item[1], -abs(item[0] - expected)))

    def _similar(self, wanted: Sequence[str]) -> str:
        text = "\n".join(self._lines)
        similar = similar_lines("\n".join(wanted), text)
        shown = "; ".join(f"line {number}: {_shown(self._lines[number - 1])}" for number in similar)
        return f" The most similar ones are: {shown}." if similar else ""


def _places(lines: Sequence[int]) -> str:
    named = ", ".join(str(line + 1) for line in lines[:_MOST_PLACES_NAMED])
    return f"{len(lines)} places (lines {named}{', …' if len(lines) > _MOST_PLACES_NAMED else ''})"


def _shown(line: str) -> str:
    text = line.rstrip("\r")
    return repr(text[:_LONGEST_SHOWN] + ("…" if len(text) > _LONGEST_SHOWN else ""))
