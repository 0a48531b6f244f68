"""A diff as rows to draw, side by side or unified, with unchanged lines folded away.

Rows are made when they are asked for: nothing here takes time or memory in proportion to the number of lines, and what
is made at once are a few lists of numbers, one for each hunk. A diff with 50,000 edits is shown within one frame, if it
has its landmarks.
"""

import operator
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.hunks import ENDINGS, MODE, WHOLE_FILE, changes_kind, converted_edits
from desktop_agent.core.diff.pairing import Pairs
from desktop_agent.core.diff.row_layout import DiffRowLayout, HunkColumns, RowKind, RowMode, RowSegment
from desktop_agent.core.protocol.model import Edit, FileDiff, Hunk

LineSide = Literal["old", "new"]

_SAID_BY: dict[HunkKey, tuple[str, ...]] = {
    MODE: ("mode ",),
    ENDINGS: ("line endings changed", "only line endings changed"),
}
"""How the notes begin that a head says in their place."""


class DiffRow(NamedTuple):
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


class DiffRows:
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
        like: "DiffRows | None" = None,
    ) -> None:
        self.diff = diff
        self.mode: RowMode = mode
        self.opened = opened
        self.has_heads = has_heads
        self._converted = like._converted if like else _LineCounts(converted_edits(diff))
        self._hunks = like._hunks if like else HunkColumns(diff)
        self._pairs: dict[Edit, Pairs] = {}
        self._heads = self._found_heads() if has_heads else []
        self._layout = DiffRowLayout(self._hunks, mode, opened, len(self._heads))
        self.changes = self._layout.changes
        """The `hunk` rows."""
        self.keys: list[HunkKey] = [*self._heads, *self._hunks.keys]
        """The names of what they are the heads of."""
        self.bars = self._layout.bars
        """The `hunk` and `gap` rows, which show no line."""
        said = tuple(start for key in self._heads for start in _SAID_BY.get(key, ()))
        self.notes = tuple(note for note in diff.notes if not (said and note.startswith(said)))
        """The notes of the diff that no head says."""

    def __len__(self) -> int:
        return len(self._layout)

    def __getitem__(self, index: int) -> DiffRow:
        if not 0 <= index < len(self):
            raise IndexError(index)
        segment = self._layout.segment_at(index)
        return self._row_in(segment, index - segment.start)

    def between(self, first: int, last: int) -> list[DiffRow]:
        """Return the rows from `first` to `last`. Costs less than to ask for each, which is looked for each time."""
        cut = self._layout.cut(first, last)
        return [self._row_in(segment, offset) for segment, begin, end in cut for offset in range(begin, end)]

    def hunk(self, index: int) -> Hunk | None:
        """Return the hunk that the row at `index` is the head of."""
        number = self._change_of(index) - len(self._heads)
        return self._hunks.named[number].hunk if number >= 0 else None

    def key(self, index: int) -> HunkKey | None:
        """Return the name of the hunk that the row at `index` is the head of."""
        number = self._change_of(index)
        return self.keys[number] if number >= 0 else None

    def change_at(self, index: int) -> int:
        """Return the number of the change that the row at `index` is in, from 0; -1 above the first."""
        return bisect_right(self.changes, index) - 1

    def head_note(self, index: int) -> str:
        """Return what the notes say of a head; empty when they say nothing."""
        starts = _SAID_BY.get(self.key(index) or "", ())
        return next((note for note in self.diff.notes if starts and note.startswith(starts)), "")

    def converted_lines(self) -> int:
        """Return how many lines have another ending than before, and are otherwise the same."""
        return self._converted.between(0, len(self.diff.old_lines))

    def gap(self, index: int) -> Gap | None:
        """Return the gap that the row at `index` stands for."""
        number = self._layout.folded_gap(index)
        if number is None:
            return None
        old, new = self._hunks.gap_start(number)
        size = self._hunks.gaps[number]
        return Gap(old, new, size, self._converted.between(old, old + size))

    def find(self, side: LineSide, line: int) -> int:
        """Return the row that shows this line, or the gap that hides it."""
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
        """Yield the lines that the rows from `first` to `last` show: of one side, or all of a unified diff."""
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
        """The number of the change that this row is the head of; -1 when it is none."""
        number = self.change_at(row)
        return number if number >= 0 and self.changes[number] == row else -1

    def _row_in(self, segment: RowSegment, offset: int) -> DiffRow:
        if segment.edit is None:
            is_line = segment.kind == "context"
            return DiffRow("context", segment.old + offset, segment.new + offset) if is_line else DiffRow(segment.kind)
        if segment.kind == "changed":
            return self._paired_row(segment.edit, offset)
        return self._single_row("old" if segment.kind == "removed" else "new", segment.edit, offset)

    # -- pairs --

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


class _LineCounts:
    """How many old lines of some edits are in a range, in logarithmic time."""

    def __init__(self, edits: list[Edit]) -> None:
        self._edits = edits

    def between(self, start: int, end: int) -> int:
        return self._above(end) - self._above(start) if self._edits else 0

    def _above(self, line: int) -> int:
        at = bisect_right(self._edits, line, key=_old_start) - 1
        if at < 0:
            return 0
        return self._before[at] + min(line, self._edits[at].old_end) - self._edits[at].old_start

    @cached_property
    def _before(self) -> list[int]:
        return list(accumulate((edit.old_end - edit.old_start for edit in self._edits), initial=0))


_old_start = operator.attrgetter("old_start")
_new_start = operator.attrgetter("new_start")


def _shorter_side(edit: Edit) -> LineSide:
    return "old" if edit.old_end - edit.old_start <= edit.new_end - edit.new_start else "new"
