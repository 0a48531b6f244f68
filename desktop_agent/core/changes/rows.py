"""A diff as rows to draw, side by side or unified, with unchanged lines folded away.

A diff of 200,000 lines has a few segments per edit, and rows are made when they are asked for: nothing here takes time
or memory in proportion to the number of lines.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal, NamedTuple

from desktop_agent.core.changes.hunk_keys import (
    ENDINGS,
    MIN_FOLDED_LINES,
    MODE,
    WHOLE_FILE,
    changes_kind,
    converted_edits,
    review_hunks,
)
from desktop_agent.core.changes.hunks import Hunk
from desktop_agent.core.changes.pairing import Pairs
from desktop_agent.core.ids import HunkKey
from desktop_agent.core.model import Edit, FileDiff

RowMode = Literal["side_by_side", "unified"]
RowKind = Literal["hunk", "gap", "context", "changed", "removed", "added"]
LineSide = Literal["old", "new"]


_TOLD_BY: dict[HunkKey, tuple[str, ...]] = {
    MODE: ("mode ",),
    ENDINGS: ("line endings changed", "only line endings changed"),
}
"""How the notes begin that a head says in their place."""


class Row(NamedTuple):
    """One row. `old` and `new` are the 0-based lines it shows.

    `changed` shows a removed line beside the added one that took its place (side by side only); `context` has both
    lines, equal but perhaps for their ending. In unified mode, `peer` is the line on the other side to compare a
    removed or added one with. `hunk` and `gap` show no line.
    """

    kind: RowKind
    old: int | None = None
    new: int | None = None
    peer: int | None = None


class Gap(NamedTuple):
    """Folded lines: `size` of them, from `old_start` and `new_start` on. Its `old_start` names it.

    `converted` of them have another line ending than before, and are otherwise the same.
    """

    old_start: int
    new_start: int
    size: int
    converted: int


class _Segment(NamedTuple):
    """Rows of one kind that show consecutive lines, from `old` and `new` on. `edit` is where they come from."""

    kind: RowKind
    size: int
    old: int
    new: int
    edit: Edit | None = None


class Rows:
    """The rows of one diff in one mode; the gaps whose names are in `opened` are unfolded.

    With `has_heads`, whatever can be decided about and is no lines has a `hunk` row of its own on top: the mode, the
    line endings, or all of a file that has no lines to show. Such a row has a key and no hunk.

    From `like`, other rows of the same diff, they take what does not depend on mode and gaps: naming a thousand hunks
    takes 10 ms.
    """

    def __init__(
        self,
        diff: FileDiff,
        mode: RowMode,
        *,
        opened: frozenset[int] = frozenset(),
        has_heads: bool = False,
        like: "Rows | None" = None,
    ) -> None:
        self.diff = diff
        self.mode: RowMode = mode
        self.opened = opened
        self.has_heads = has_heads
        self.changes: list[int] = []
        """The `hunk` rows."""
        self.bars: list[int] = []
        """The `hunk` and `gap` rows, which show no line."""
        self._converted = like._converted if like else _LineCounts(converted_edits(diff))
        self._named = like._named if like else review_hunks(diff)
        self._hunks: dict[int, Hunk] = {}
        self._keys: dict[int, HunkKey] = {}
        self._gaps: dict[int, Gap] = {}
        self._pairs: dict[Edit, Pairs] = {}
        self._segments = list(self._built())
        self._starts = list(accumulate((segment.size for segment in self._segments), initial=0))
        self._old_starts = [segment.old for segment in self._segments]
        self._new_starts = [segment.new for segment in self._segments]
        told = tuple(start for key in self._keys.values() for start in _TOLD_BY.get(key, ()))
        self.notes = tuple(note for note in diff.notes if not (told and note.startswith(told)))
        """The notes of the diff that no head says."""

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, index: int) -> Row:
        if not 0 <= index < len(self):
            raise IndexError(index)
        at = bisect_right(self._starts, index) - 1
        segment = self._segments[at]
        offset = index - self._starts[at]
        if segment.edit is None:
            is_line = segment.kind == "context"
            return Row("context", segment.old + offset, segment.new + offset) if is_line else Row(segment.kind)
        if segment.kind == "changed":
            return self._paired_row(segment.edit, offset)
        return self._single_row("old" if segment.kind == "removed" else "new", segment.edit, offset)

    def hunk(self, index: int) -> Hunk | None:
        """Return the hunk that the row at `index` is the head of."""
        return self._hunks.get(index)

    def key(self, index: int) -> HunkKey | None:
        """Return the name of the hunk that the row at `index` is the head of."""
        return self._keys.get(index)

    def change_at(self, index: int) -> int:
        """Return the number of the change that the row at `index` is in, from 0; -1 above the first."""
        return bisect_right(self.changes, index) - 1

    def head_note(self, index: int) -> str:
        """Return what the notes say of a head; empty when they say nothing."""
        starts = _TOLD_BY.get(self._keys.get(index, ""), ())
        return next((note for note in self.diff.notes if starts and note.startswith(starts)), "")

    def converted_lines(self) -> int:
        """Return how many lines have another ending than before, and are otherwise the same."""
        return self._converted.between(0, len(self.diff.old_lines))

    def gap(self, index: int) -> Gap | None:
        """Return the gap that the row at `index` stands for."""
        return self._gaps.get(index)

    def find(self, side: LineSide, line: int) -> int:
        """Return the row that shows this line, or the gap that hides it."""
        at = bisect_right(self._old_starts if side == "old" else self._new_starts, line) - 1
        segment, start = self._segments[at], self._starts[at]
        if segment.kind == "gap":
            return start
        offset = line - (segment.old if side == "old" else segment.new)
        if segment.kind == "changed" and segment.edit and side == _shorter_side(segment.edit):
            return start + self._pairs_of(segment.edit).place(offset)
        return start + offset

    def lines(self, first: int, last: int, side: LineSide | None = None) -> Iterator[str]:
        """Yield the lines that the rows from `first` to `last` show: of one side, or all of a unified diff."""
        at = max(0, bisect_right(self._starts, first) - 1)
        for segment, start in zip(self._segments[at:], self._starts[at:], strict=False):
            if start > last:
                return
            begin, end = max(0, first - start), min(segment.size, last - start + 1)
            if segment.kind == "changed" and segment.edit:
                yield from self._changed_lines(segment.edit, begin, end, side)
            elif segment.kind == "removed" or (segment.kind == "context" and side == "old"):
                yield from self.diff.old_lines[segment.old + begin : segment.old + end]
            elif segment.kind in ("added", "context"):
                yield from self.diff.new_lines[segment.new + begin : segment.new + end]

    # -- building --

    def _built(self) -> Iterator[_Segment]:
        diff = self.diff
        old_at = new_at = 0
        heads = self._heads() if self.has_heads else []
        for row, key in enumerate(heads):
            self._mark_change(row, key)
            yield _Segment("hunk", 1, 0, 0)
        row = len(heads)
        for key, hunk in self._named:
            if hunk.old_start - old_at < MIN_FOLDED_LINES:
                hunk = _from_line(hunk, old_at, new_at)  # noqa: PLW2901 - the hunk takes the few lines before it
            for segment in self._parallel(row, old_at, new_at, hunk.old_start - old_at):
                row += segment.size
                yield segment
            self._hunks[row] = hunk
            self._mark_change(row, key)
            for segment in self._hunk_segments(hunk):
                row += segment.size
                yield segment
            old_at, new_at = hunk.old_end, hunk.new_end
        yield from self._parallel(row, old_at, new_at, len(diff.old_lines) - old_at)

    def _heads(self) -> list[HunkKey]:
        diff = self.diff
        if changes_kind(diff):
            return [] if self._named else [WHOLE_FILE]
        heads: list[HunkKey] = [ENDINGS] if self.converted_lines() else []
        if None not in (diff.old_mode, diff.new_mode) and diff.old_mode != diff.new_mode:
            heads.append(MODE)
        return heads or ([WHOLE_FILE] if diff.path and not self._named else [])

    def _mark_change(self, row: int, key: HunkKey) -> None:
        self._keys[row] = key
        self.changes.append(row)
        self.bars.append(row)

    def _parallel(self, row: int, old: int, new: int, count: int) -> Iterator[_Segment]:
        """Lines that no hunk has: folded, unless they were opened or are hardly any."""
        if count < MIN_FOLDED_LINES or old in self.opened:
            if count:
                yield _Segment("context", count, old, new)
            return
        self._gaps[row] = Gap(old, new, count, self._converted.between(old, old + count))
        self.bars.append(row)
        yield _Segment("gap", 1, old, new)

    def _hunk_segments(self, hunk: Hunk) -> Iterator[_Segment]:
        yield _Segment("hunk", 1, hunk.old_start, hunk.new_start)
        old_at, new_at = hunk.old_start, hunk.new_start
        for edit in hunk.edits:
            if edit.old_start > old_at:
                yield _Segment("context", edit.old_start - old_at, old_at, new_at)
            yield from self._edit_segments(edit)
            old_at, new_at = edit.old_end, edit.new_end
        if hunk.old_end > old_at:
            yield _Segment("context", hunk.old_end - old_at, old_at, new_at)

    def _edit_segments(self, edit: Edit) -> Iterator[_Segment]:
        removed, added = edit.old_end - edit.old_start, edit.new_end - edit.new_start
        if self.mode == "side_by_side":
            yield _Segment("changed", max(removed, added), edit.old_start, edit.new_start, edit)
            return
        if removed:
            yield _Segment("removed", removed, edit.old_start, edit.new_start, edit)
        if added:
            yield _Segment("added", added, edit.old_end, edit.new_start, edit)

    # -- pairs --

    def _pairs_of(self, edit: Edit) -> Pairs:
        if edit not in self._pairs:
            old = self.diff.old_lines[edit.old_start : edit.old_end]
            new = self.diff.new_lines[edit.new_start : edit.new_end]
            self._pairs[edit] = Pairs(old, new)
        return self._pairs[edit]

    def _changed_lines(self, edit: Edit, begin: int, end: int, side: LineSide | None) -> Iterator[str]:
        rows = (self._paired_row(edit, offset) for offset in range(begin, end))
        if side == "old":
            yield from (self.diff.old_lines[row.old] for row in rows if row.old is not None)
        else:
            yield from (self.diff.new_lines[row.new] for row in rows if row.new is not None)

    def _paired_row(self, edit: Edit, offset: int) -> Row:
        partner = self._pairs_of(edit).partner(offset)
        if _shorter_side(edit) == "old":
            new = edit.new_start + offset
            return Row("added", new=new) if partner is None else Row("changed", edit.old_start + partner, new)
        old = edit.old_start + offset
        return Row("removed", old=old) if partner is None else Row("changed", old, edit.new_start + partner)

    def _single_row(self, side: LineSide, edit: Edit, offset: int) -> Row:
        pairs = self._pairs_of(edit)
        other = pairs.place(offset) if side == _shorter_side(edit) else pairs.partner(offset)
        if side == "old":
            return Row("removed", old=edit.old_start + offset, peer=None if other is None else edit.new_start + other)
        return Row("added", new=edit.new_start + offset, peer=None if other is None else edit.old_start + other)


class _LineCounts:
    """How many old lines of some edits are in a range, in logarithmic time."""

    def __init__(self, edits: list[Edit]) -> None:
        self._starts = [edit.old_start for edit in edits]
        self._ends = [edit.old_end for edit in edits]
        self._before = list(accumulate((edit.old_end - edit.old_start for edit in edits), initial=0))

    def between(self, start: int, end: int) -> int:
        return self._above(end) - self._above(start)

    def _above(self, line: int) -> int:
        at = bisect_right(self._starts, line) - 1
        return self._before[at] + min(line, self._ends[at]) - self._starts[at] if at >= 0 else 0


def _shorter_side(edit: Edit) -> LineSide:
    return "old" if edit.old_end - edit.old_start <= edit.new_end - edit.new_start else "new"


def _from_line(hunk: Hunk, old: int, new: int) -> Hunk:
    return hunk._replace(old_start=old, new_start=new)
