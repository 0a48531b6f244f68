"""Where the rows of a diff lie, found by numbers alone.

Rows lie in blocks: a gap before each hunk, which may be empty, the hunk, and a gap behind the last. In a block they lie
in segments, made when they are asked for.
"""

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, compress
from typing import Literal, NamedTuple

from desktop_agent.core.diff.hunks import MIN_FOLDED_LINES, review_hunks, surplus_of
from desktop_agent.core.protocol.model import Edit, FileDiff, ReviewHunk

RowMode = Literal["side_by_side", "unified"]
RowKind = Literal["hunk", "gap", "context", "changed", "removed", "added"]


class RowSegment(NamedTuple):
    """Rows of one kind that show consecutive lines, from `old` and `new` on. `edit` is where they come from."""

    kind: RowKind
    start: int
    """Its first row."""
    size: int
    old: int
    new: int
    edit: Edit | None = None


class HunkColumns:
    """The hunks of a diff and what lies between them, in columns: what is the same in both modes and for all gaps."""

    def __init__(self, diff: FileDiff) -> None:
        self.named = review_hunks(diff)
        if self.named and self.named[0].hunk.old_start < MIN_FOLDED_LINES:
            # It takes the few lines before it. Between others there is more, else they would be one.
            key, hunk = self.named[0]
            self.named[0] = ReviewHunk(key, hunk._replace(old_start=0, new_start=0))
        self._surplus = diff.landmarks.surplus if diff.landmarks else surplus_of(self.named)
        self.keys = [named.key for named in self.named]
        hunks = [named.hunk for named in self.named]
        self.old_starts = [hunk.old_start for hunk in hunks]
        self.new_starts = [hunk.new_start for hunk in hunks]
        self.old_ends = [hunk.old_end for hunk in hunks]
        self.new_ends = [hunk.new_end for hunk in hunks]
        self.gaps = list(map(operator.sub, (*self.old_starts, len(diff.old_lines)), (0, *self.old_ends)))
        """How many lines each gap hides when it is folded: before each hunk, and behind the last."""
        self.first_edits = list(accumulate((len(hunk.edits) for hunk in hunks), initial=0))

    def surplus(self, mode: RowMode) -> Sequence[int]:
        """Return how many rows more than old lines all edits take, up to each."""
        return self._surplus.side_by_side if mode == "side_by_side" else self._surplus.unified

    def sizes(self, mode: RowMode) -> Iterator[int]:
        """Yield how many rows each hunk has, its head included."""
        above = list(map(self.surplus(mode).__getitem__, self.first_edits))
        lines = map(operator.sub, self.old_ends, self.old_starts)
        return map(operator.add, map(operator.sub, above[1:], above), (1 + count for count in lines))

    def gap_start(self, number: int) -> tuple[int, int]:
        """Return the first old and the first new line of a gap."""
        return (self.old_ends[number - 1], self.new_ends[number - 1]) if number else (0, 0)


class DiffRowLayout:
    """The rows of one diff in one mode, below `heads` rows that belong to no hunk."""

    def __init__(self, hunks: HunkColumns, mode: RowMode, opened: frozenset[int], heads: int) -> None:
        """The gaps whose names are in `opened` are unfolded."""
        self._hunks = hunks
        self._mode: RowMode = mode
        self._heads = range(heads)
        gaps = self._gap_sizes(opened)
        sizes = chain.from_iterable(zip(gaps, hunks.sizes(mode), strict=False))
        self._starts = list(accumulate(chain(sizes, gaps[-1:]), initial=heads))
        self.changes: list[int] = [*self._heads, *self._starts[1:-1:2]]
        """The `hunk` rows."""
        is_folded = map(_is_folded, hunks.gaps, gaps)
        is_bar = chain.from_iterable((is_gap, True) for is_gap in is_folded)
        self.bars: list[int] = [*self._heads, *compress(self._starts[:-1], is_bar)]
        """The `hunk` and `gap` rows, which show no line."""

    def __len__(self) -> int:
        return self._starts[-1]

    def start_of_gap(self, number: int) -> int:
        """Return the first row of a gap."""
        return self._starts[2 * number]

    def start_of_lines(self, number: int) -> int:
        """Return the first row of a hunk that shows a line."""
        return self._starts[2 * number + 1] + 1

    def is_folded(self, number: int) -> bool:
        """Whether one row stands for a gap."""
        block = 2 * number
        return _is_folded(self._hunks.gaps[number], self._starts[block + 1] - self._starts[block])

    def folded_gap(self, row: int) -> int | None:
        """Return the number of the gap that this row stands for."""
        block = self._block_at(row)
        return block // 2 if block >= 0 and block % 2 == 0 and self.is_folded(block // 2) else None

    def segment_at(self, row: int) -> RowSegment:
        """Return the segment that `row` is in."""
        return next(self._segments_from(row))

    def cut(self, first: int, last: int) -> Iterator[tuple[RowSegment, int, int]]:
        """Yield the segments from `first` to `last`, and from where to where these rows are in each."""
        for segment in self._segments_from(max(0, first)):
            if segment.start > last:
                return
            yield segment, max(0, first - segment.start), min(segment.size, last - segment.start + 1)

    def row_of(self, number: int, edit: int) -> int:
        """Return the first row of an edit, both by their numbers: of the hunk, and in it."""
        hunk = self._hunks.named[number].hunk
        return self.start_of_lines(number) + hunk.edits[edit].old_start - hunk.old_start + self._above(number, edit)

    def row_behind(self, number: int, edit: int) -> int:
        """Return the row behind an edit."""
        hunk = self._hunks.named[number].hunk
        above = self._above(number, edit + 1)
        return self.start_of_lines(number) + hunk.edits[edit].old_end - hunk.old_start + above

    def _above(self, number: int, edit: int) -> int:
        """How many rows more than old lines there are in a hunk above an edit."""
        first = self._hunks.first_edits[number]
        surplus = self._hunks.surplus(self._mode)
        return surplus[first + edit] - surplus[first]

    def _gap_sizes(self, opened: frozenset[int]) -> list[int]:
        """How many rows each gap takes: one, unless it was opened or hides hardly any lines."""
        hidden = self._hunks.gaps
        sizes = [1 if lines >= MIN_FOLDED_LINES else lines for lines in hidden]
        for name in opened:
            number = bisect_left(self._hunks.old_ends, name) + 1 if name else 0
            if number < len(sizes) and self._hunks.gap_start(number)[0] == name:
                sizes[number] = hidden[number]
        return sizes

    def _block_at(self, row: int) -> int:
        """The number of the block that the row is in; -1 among the heads."""
        return bisect_right(self._starts, row) - 1 if row < len(self) else -1

    def _segments_from(self, row: int) -> Iterator[RowSegment]:
        """Yield the segment that `row` is in, and those behind it."""
        for head in self._heads[row:]:
            yield RowSegment("hunk", head, 1, 0, 0)
        for block in range(max(0, self._block_at(max(row, len(self._heads)))), len(self._starts) - 1):
            if block % 2:
                yield from self._hunk_segments(block // 2, row)
            elif size := self._starts[block + 1] - self._starts[block]:
                kind: RowKind = "gap" if self.is_folded(block // 2) else "context"
                yield RowSegment(kind, self._starts[block], size, *self._hunks.gap_start(block // 2))

    def _hunk_segments(self, number: int, row: int) -> Iterator[RowSegment]:
        """Yield the segments of a hunk from the one with `row` on, or all of them when it is above."""
        hunk = self._hunks.named[number].hunk
        head, end = self._starts[2 * number + 1 : 2 * number + 3]
        if row <= head:
            yield RowSegment("hunk", head, 1, hunk.old_start, hunk.new_start)
        at = bisect_right(range(len(hunk.edits)), row, key=lambda edit: self.row_of(number, edit)) - 1
        if at < 0:
            first = self.row_of(number, 0)
            if first > head + 1:
                yield RowSegment("context", head + 1, first - head - 1, hunk.old_start, hunk.new_start)
            at = 0
        for edit_number in range(at, len(hunk.edits)):
            edit, start = hunk.edits[edit_number], self.row_of(number, edit_number)
            behind = self.row_behind(number, edit_number)
            following = self.row_of(number, edit_number + 1) if edit_number + 1 < len(hunk.edits) else end
            yield from (segment for segment in self._edit_segments(edit, start) if segment.start + segment.size > row)
            if following > max(behind, row):
                yield RowSegment("context", behind, following - behind, edit.old_end, edit.new_end)

    def _edit_segments(self, edit: Edit, row: int) -> Iterator[RowSegment]:
        removed, added = edit.old_end - edit.old_start, edit.new_end - edit.new_start
        if self._mode == "side_by_side":
            yield RowSegment("changed", row, max(removed, added), edit.old_start, edit.new_start, edit)
            return
        if removed:
            yield RowSegment("removed", row, removed, edit.old_start, edit.new_start, edit)
        if added:
            yield RowSegment("added", row + removed, added, edit.old_end, edit.new_start, edit)


def _is_folded(hidden: int, size: int) -> bool:
    return size == 1 and hidden >= MIN_FOLDED_LINES
