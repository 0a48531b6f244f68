"""A diff as rows to draw, side by side or unified, with unchanged lines folded. Rows are created on demand."""

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, compress
from typing import Literal, NamedTuple

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.hunks import (
    ENDINGS,
    MIN_FOLDED_LINES,
    MODE,
    WHOLE_FILE,
    changes_kind,
    converted_edits,
    review_hunks,
    surplus_of,
)
from desktop_agent.core.diff.intraline import Pairs
from desktop_agent.core.protocol.model import Edit, FileDiff, Hunk, ReviewHunk

RowMode = Literal["side_by_side", "unified"]
RowKind = Literal["hunk", "gap", "context", "changed", "removed", "added"]


class RowSegment(NamedTuple):
    kind: RowKind
    start: int
    size: int
    old: int
    new: int
    edit: Edit | None = None


class HunkColumns:
    """The hunks and the gaps between them, in columns. They do not depend on the mode and opened gaps."""

    def __init__(self, diff: FileDiff) -> None:
        self.named = review_hunks(diff)
        if self.named and self.named[0].hunk.old_start < MIN_FOLDED_LINES:
            # The first hunk includes the few lines before it. Between two hunks there are more lines, or they were
            # merged.
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
        """How many lines each gap hides when it is folded: before each hunk, and after the last."""
        self.first_edits = list(accumulate((len(hunk.edits) for hunk in hunks), initial=0))
        self._converted = converted_edits(diff)

    @cached_property
    def _converted_above(self) -> list[int]:
        """How many old lines whose ending changed are above each edit of endings."""
        return list(accumulate((edit.old_end - edit.old_start for edit in self._converted), initial=0))

    def converted_above(self, line: int) -> int:
        """Return of how many old lines above this one only the ending changed."""
        at = bisect_right(self._converted, line, key=_old_start) - 1
        if at < 0:
            return 0
        return self._converted_above[at] + min(line, self._converted[at].old_end) - self._converted[at].old_start

    def surplus(self, mode: RowMode) -> Sequence[int]:
        return self._surplus.side_by_side if mode == "side_by_side" else self._surplus.unified

    def sizes(self, mode: RowMode) -> Iterator[int]:
        above = list(map(self.surplus(mode).__getitem__, self.first_edits))
        lines = map(operator.sub, self.old_ends, self.old_starts)
        return map(operator.add, map(operator.sub, above[1:], above), (1 + count for count in lines))

    def gap_start(self, number: int) -> tuple[int, int]:
        return (self.old_ends[number - 1], self.new_ends[number - 1]) if number else (0, 0)


class DiffRowLayout:
    """The rows of one diff in one mode, below `heads` rows that belong to no hunk."""

    def __init__(self, hunks: HunkColumns, mode: RowMode, opened: frozenset[int], heads: int) -> None:
        self._hunks = hunks
        self._mode: RowMode = mode
        self._heads = range(heads)
        gaps = self._gap_sizes(opened)
        sizes = chain.from_iterable(zip(gaps, hunks.sizes(mode), strict=False))
        self._starts = list(accumulate(chain(sizes, gaps[-1:]), initial=heads))
        self.changes: list[int] = [*self._heads, *self._starts[1:-1:2]]
        is_folded = map(_is_folded, hunks.gaps, gaps)
        is_bar = chain.from_iterable((is_gap, True) for is_gap in is_folded)
        self.bars: list[int] = [*self._heads, *compress(self._starts[:-1], is_bar)]
        """The `hunk` and `gap` rows, which show no line."""

    def __len__(self) -> int:
        return self._starts[-1]

    def start_of_gap(self, number: int) -> int:
        return self._starts[2 * number]

    def start_of_lines(self, number: int) -> int:
        return self._starts[2 * number + 1] + 1

    def is_folded(self, number: int) -> bool:
        block = 2 * number
        return _is_folded(self._hunks.gaps[number], self._starts[block + 1] - self._starts[block])

    def folded_gap(self, row: int) -> int | None:
        block = self._block_at(row)
        return block // 2 if block >= 0 and block % 2 == 0 and self.is_folded(block // 2) else None

    def cut(self, first: int, last: int) -> Iterator[tuple[RowSegment, int, int]]:
        for segment in self._segments_from(max(0, first)):
            if segment.start > last:
                return
            yield segment, max(0, first - segment.start), min(segment.size, last - segment.start + 1)

    def row_of(self, number: int, edit: int) -> int:
        """Return the first row of an edit. `number` is the index of the hunk, `edit` the index in the hunk."""
        hunk = self._hunks.named[number].hunk
        return self.start_of_lines(number) + hunk.edits[edit].old_start - hunk.old_start + self._above(number, edit)

    def row_behind(self, number: int, edit: int) -> int:
        hunk = self._hunks.named[number].hunk
        above = self._above(number, edit + 1)
        return self.start_of_lines(number) + hunk.edits[edit].old_end - hunk.old_start + above

    def _above(self, number: int, edit: int) -> int:
        first = self._hunks.first_edits[number]
        surplus = self._hunks.surplus(self._mode)
        return surplus[first + edit] - surplus[first]

    def _gap_sizes(self, opened: frozenset[int]) -> list[int]:
        hidden = self._hunks.gaps
        sizes = [1 if lines >= MIN_FOLDED_LINES else lines for lines in hidden]
        for name in opened:
            number = bisect_left(self._hunks.old_ends, name) + 1 if name else 0
            if number < len(sizes) and self._hunks.gap_start(number)[0] == name:
                sizes[number] = hidden[number]
        return sizes

    def _block_at(self, row: int) -> int:
        return bisect_right(self._starts, row) - 1 if row < len(self) else -1

    def _segments_from(self, row: int) -> Iterator[RowSegment]:
        for head in self._heads[row:]:
            yield RowSegment("hunk", head, 1, 0, 0)
        for block in range(max(0, self._block_at(max(row, len(self._heads)))), len(self._starts) - 1):
            if block % 2:
                yield from self._hunk_segments(block // 2, row)
            elif size := self._starts[block + 1] - self._starts[block]:
                kind: RowKind = "gap" if self.is_folded(block // 2) else "context"
                yield RowSegment(kind, self._starts[block], size, *self._hunks.gap_start(block // 2))

    def _hunk_segments(self, number: int, row: int) -> Iterator[RowSegment]:
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


LineSide = Literal["old", "new"]

_SAID_BY: dict[HunkKey, tuple[str, ...]] = {
    MODE: ("mode ",),
    ENDINGS: ("line endings changed", "only line endings changed"),
}


class DiffRow(NamedTuple):
    """One row. `old` and `new` are the 0-based lines that it shows; in a `hunk` or `gap` row, none.

    `context` lines may differ in their ending. In unified mode, `peer` is the line on the other side to compare with.
    """

    kind: RowKind
    old: int | None = None
    new: int | None = None
    peer: int | None = None


class Gap(NamedTuple):
    """A gap of `size` folded lines. `old_start` is its name. Of `converted` lines, only the ending changed."""

    old_start: int
    new_start: int
    size: int
    converted: int


class DiffRows:
    """The rows of one diff in one mode. The gaps named in `opened` are unfolded.

    With `has_heads`, every decision that is not about lines gets a `hunk` row on top. `like` are other rows of the same
    diff, whose parts are reused: computing the keys of a thousand hunks takes 10 ms.
    """

    def __init__(
        self,
        diff: FileDiff,
        mode: RowMode,
        *,
        opened: frozenset[int] = frozenset(),
        has_heads: bool = False,
        like: "DiffRows | None" = None,
    ) -> None:
        self.diff = diff
        self.mode: RowMode = mode
        self.opened = opened
        self.has_heads = has_heads
        self._hunks = like._hunks if like else HunkColumns(diff)
        self._pairs: dict[Edit, Pairs] = {}
        self._heads = self._found_heads() if has_heads else []
        self._layout = DiffRowLayout(self._hunks, mode, opened, len(self._heads))
        self.changes = self._layout.changes
        self.keys: list[HunkKey] = [*self._heads, *self._hunks.keys]
        self.bars = self._layout.bars
        said = tuple(start for key in self._heads for start in _SAID_BY.get(key, ()))
        self.notes = tuple(note for note in diff.notes if not (said and note.startswith(said)))

    def __len__(self) -> int:
        return len(self._layout)

    def __getitem__(self, index: int) -> DiffRow:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.between(index, index)[0]

    def between(self, first: int, last: int) -> list[DiffRow]:
        """Return the rows from `first` to `last`. Cheaper than indexing, which searches for each row."""
        cut = self._layout.cut(first, last)
        return [self._row_in(segment, offset) for segment, begin, end in cut for offset in range(begin, end)]

    def hunk(self, index: int) -> Hunk | None:
        number = self._change_of(index) - len(self._heads)
        return self._hunks.named[number].hunk if number >= 0 else None

    def key(self, index: int) -> HunkKey | None:
        number = self._change_of(index)
        return self.keys[number] if number >= 0 else None

    def change_at(self, index: int) -> int:
        """The index of the change that contains row `index`; -1 above the first."""
        return bisect_right(self.changes, index) - 1

    def rows_of(self, change: int) -> range:
        """The rows of a change: its bar and its lines, without the gap below."""
        number, start = change - len(self._heads), self.changes[change]
        return range(start, self._layout.start_of_gap(number + 1) if number >= 0 else start + 1)

    def first_line(self, change: int) -> int | None:
        """The old line at which the edits of a change begin; `None` if it is not about lines."""
        number = change - len(self._heads)
        return self._hunks.named[number].hunk.edits[0].old_start if number >= 0 else None

    def change_from(self, old_line: int) -> int | None:
        """The index of the change whose edits begin at this old line."""
        numbers = range(len(self._heads), len(self.changes))
        at = bisect_left(numbers, old_line, key=lambda number: self.first_line(number) or 0)
        return numbers[at] if at < len(numbers) and self.first_line(numbers[at]) == old_line else None

    def head_note(self, index: int) -> str:
        starts = _SAID_BY.get(self.key(index) or "", ())
        return next((note for note in self.diff.notes if starts and note.startswith(starts)), "")

    def converted_lines(self) -> int:
        return self._hunks.converted_above(len(self.diff.old_lines))

    def gap(self, index: int) -> Gap | None:
        number = self._layout.folded_gap(index)
        if number is None:
            return None
        old, new = self._hunks.gap_start(number)
        size = self._hunks.gaps[number]
        converted = self._hunks.converted_above(old + size) - self._hunks.converted_above(old)
        return Gap(old, new, size, converted)

    def find(self, side: LineSide, line: int) -> int:
        is_old = side == "old"
        number = bisect_right(self._hunks.old_starts if is_old else self._hunks.new_starts, line) - 1
        if number < 0 or line >= (self._hunks.old_ends if is_old else self._hunks.new_ends)[number]:
            gap = number + 1
            folded = 0 if self._layout.is_folded(gap) else line - self._hunks.gap_start(gap)[0 if is_old else 1]
            return self._layout.start_of_gap(gap) + folded
        hunk = self._hunks.named[number].hunk
        at = bisect_right(hunk.edits, line, key=_old_start if is_old else _new_start) - 1
        if at < 0:
            return self._layout.start_of_lines(number) + line - (hunk.old_start if is_old else hunk.new_start)
        edit, row = hunk.edits[at], self._layout.row_of(number, at)
        start, end = (edit.old_start, edit.old_end) if is_old else (edit.new_start, edit.new_end)
        if line >= end:
            return self._layout.row_behind(number, at) + line - end
        if self.mode == "unified":
            return row + line - start + (0 if is_old else edit.old_end - edit.old_start)
        offset = line - start
        return row + (self._pairs_of(edit).place(offset) if side == _shorter_side(edit) else offset)

    def lines(self, first: int, last: int, side: LineSide | None = None) -> Iterator[str]:
        """The lines that these rows show: of one side, or all of a unified diff."""
        for segment, begin, end in self._layout.cut(first, last):
            if segment.kind == "changed" and segment.edit:
                yield from self._changed_lines(segment.edit, begin, end, side)
            elif segment.kind == "removed" or (segment.kind == "context" and side == "old"):
                yield from self.diff.old_lines[segment.old + begin : segment.old + end]
            elif segment.kind in ("added", "context"):
                yield from self.diff.new_lines[segment.new + begin : segment.new + end]

    def _found_heads(self) -> list[HunkKey]:
        diff = self.diff
        if changes_kind(diff):
            return [] if self._hunks.named else [WHOLE_FILE]
        heads: list[HunkKey] = [ENDINGS] if self.converted_lines() else []
        if None not in (diff.old_mode, diff.new_mode) and diff.old_mode != diff.new_mode:
            heads.append(MODE)
        return heads or ([WHOLE_FILE] if diff.path and not self._hunks.named else [])

    def _change_of(self, row: int) -> int:
        number = self.change_at(row)
        return number if number >= 0 and self.changes[number] == row else -1

    def _row_in(self, segment: RowSegment, offset: int) -> DiffRow:
        if segment.edit is None:
            is_line = segment.kind == "context"
            return DiffRow("context", segment.old + offset, segment.new + offset) if is_line else DiffRow(segment.kind)
        if segment.kind == "changed":
            return self._paired_row(segment.edit, offset)
        return self._single_row("old" if segment.kind == "removed" else "new", segment.edit, offset)

    def _pairs_of(self, edit: Edit) -> Pairs:
        if edit not in self._pairs:
            old, new = range(edit.old_start, edit.old_end), range(edit.new_start, edit.new_end)
            self._pairs[edit] = Pairs(self.diff.old_lines, old, self.diff.new_lines, new)
        return self._pairs[edit]

    def _changed_lines(self, edit: Edit, begin: int, end: int, side: LineSide | None) -> Iterator[str]:
        rows = (self._paired_row(edit, offset) for offset in range(begin, end))
        if side == "old":
            yield from (self.diff.old_lines[row.old] for row in rows if row.old is not None)
        else:
            yield from (self.diff.new_lines[row.new] for row in rows if row.new is not None)

    def _paired_row(self, edit: Edit, offset: int) -> DiffRow:
        partner = self._pairs_of(edit).partner(offset)
        if _shorter_side(edit) == "old":
            new = edit.new_start + offset
            return DiffRow("added", new=new) if partner is None else DiffRow("changed", edit.old_start + partner, new)
        old = edit.old_start + offset
        return DiffRow("removed", old=old) if partner is None else DiffRow("changed", old, edit.new_start + partner)

    def _single_row(self, side: LineSide, edit: Edit, offset: int) -> DiffRow:
        pairs = self._pairs_of(edit)
        other = pairs.place(offset) if side == _shorter_side(edit) else pairs.partner(offset)
        if side == "old":
            return DiffRow(
                "removed", old=edit.old_start + offset, peer=None if other is None else edit.new_start + other
            )
        return DiffRow("added", new=edit.new_start + offset, peer=None if other is None else edit.old_start + other)


_old_start = operator.attrgetter("old_start")
_new_start = operator.attrgetter("new_start")


def _shorter_side(edit: Edit) -> LineSide:
    return "old" if edit.old_end - edit.old_start <= edit.new_end - edit.new_start else "new"
