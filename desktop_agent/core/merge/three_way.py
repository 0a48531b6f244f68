"""Compares three versions of a text, and builds the text that results from choosing between them. Pure.

`base` is the common ancestor, `wanted` is the version that an undo or redo wants, `yours` is on disk.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.text import Text, as_utf8, read_texts
from desktop_agent.core.merge.merge import chunks

MAX_BYTES = 768 * 1024
"""The largest size of all three together. For more, the user chooses whole files: an editor would freeze the window."""
MAX_LINE_CHARS = 5_000
"""The longest line. For a longer one, the user chooses whole files, too."""

Source = Literal["base", "wanted", "yours"]
Origin = Literal["unchanged", "wanted", "yours", "both", "clash"]
"""Who changed a region of the base: neither side, one side, both in the same way, or both differently."""
Choice = Literal["undecided", "yours", "wanted", "both"]
"""The user's choice for one clash. `both`: the wanted lines, then yours. Undecided clashes stay yours."""

Lines = tuple[str, ...]
Part: TypeAlias = "slice[int, int, None]"


class MergeRegion(NamedTuple):
    """A region: 0-based half-open lines of the base, and the lines that replace them in the other two versions."""

    origin: Origin
    base: "Part"
    wanted: "Part"
    yours: "Part"

    def of(self, source: Source) -> "Part":
        return self.base if source == "base" else self.wanted if source == "wanted" else self.yours

    @property
    def row_count(self) -> int:
        return max(part.stop - part.start for part in (self.base, self.wanted, self.yours))


class ThreeWay(Struct, frozen=True):
    base: Text
    wanted: Text
    yours: Text
    regions: tuple[MergeRegion, ...]
    longest_line: int

    @property
    def clashes(self) -> tuple[MergeRegion, ...]:
        return tuple(region for region in self.regions if region.origin == "clash")

    @property
    def merged_count(self) -> int:
        return sum(region.origin == "wanted" for region in self.regions)

    def lines(self, source: Source) -> Lines:
        return (self.base if source == "base" else self.wanted if source == "wanted" else self.yours).lines

    def pieces(self, choices: Sequence[Choice]) -> Iterator[Lines]:
        """Yield the lines of the result. `choices` has one choice for each clash."""
        left = iter(choices)
        for region in self.regions:
            if region.origin == "clash":
                yield self.chosen(region, next(left))
            elif region.origin == "wanted":
                yield self.wanted.lines[region.wanted]
            else:
                yield self.yours.lines[region.yours]

    def chosen(self, clash: MergeRegion, choice: Choice) -> Lines:
        wanted, yours = self.wanted.lines[clash.wanted], self.yours.lines[clash.yours]
        if choice == "both":
            return _with_ending(wanted, yours) + yours
        return wanted if choice == "wanted" else yours


def compare_three(base: bytes, wanted: bytes, yours: bytes) -> ThreeWay | None:
    """Compare three versions; None if only whole files can be chosen: they are not text, or too long."""
    if len(base) + len(wanted) + len(yours) > MAX_BYTES:
        return None
    texts = read_texts(base, wanted, yours)
    contents = [as_utf8(content) for content in (base, wanted, yours)]
    if len({text.encoding if text else None for text in texts}) > 1:
        return None
    (old, new, disk), (a, b, c) = texts, contents
    if old is None or new is None or disk is None or a is None or b is None or c is None:
        return None
    longest = max(max(map(len, text.lines), default=0) for text in (old, new, disk))
    if longest > MAX_LINE_CHARS:
        return None
    return ThreeWay(old, new, disk, tuple(_regions(old.lines, new.lines, disk.lines, (a, b, c))), longest)


def _regions(base: Lines, wanted: Lines, yours: Lines, utf8: tuple[bytes, bytes, bytes]) -> Iterator[MergeRegion]:
    at = (0, 0, 0)
    for chunk in chunks(find_edits(utf8[0], utf8[2]), find_edits(utf8[0], utf8[1])):
        starts = (chunk.base.start, chunk.theirs.start, chunk.ours.start)
        if starts[0] > at[0]:
            yield MergeRegion("unchanged", *(slice(begin, end) for begin, end in zip(at, starts, strict=True)))
        parts = base[chunk.base], wanted[chunk.theirs], yours[chunk.ours]
        yield MergeRegion(_origin(*parts), chunk.base, chunk.theirs, chunk.ours)
        at = (chunk.base.stop, chunk.theirs.stop, chunk.ours.stop)
    if at[0] < len(base):
        yield MergeRegion(
            "unchanged", *(slice(begin, len(lines)) for begin, lines in zip(at, (base, wanted, yours), strict=True))
        )


def _origin(base: Lines, wanted: Lines, yours: Lines) -> Origin:
    if wanted == yours:
        return "both"
    if yours == base:
        return "wanted"
    return "yours" if wanted == base else "clash"


def _with_ending(first: Lines, second: Lines) -> Lines:
    if not first or not second or first[-1].endswith("\n"):
        return first
    return (*first[:-1], first[-1] + ("\r\n" if second[0].endswith("\r\n") else "\n"))
