"""Which removed lines were added again somewhere else in the same file, perhaps with another indentation.

As in `git diff --color-moved=blocks`: only runs of several lines count, since single lines recur by chance.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from desktop_agent.core.diff.diff import is_only_endings
from desktop_agent.core.protocol.model import FileDiff, MovedBlock

MIN_MOVED_LINES = 3
"""Lines with a word in them. Fewer, and the closing brackets and blank lines of the world would all have moved."""
MAX_CHANGED_LINES = 50_000
"""Of one diff, both sides together. Beyond this nothing is marked: it would cost more than it shows."""
_MAX_CANDIDATES = 8
"""Places where the start of a block is looked for. The others are copies of the same few lines."""

_Start = tuple[str, str, str]


class Moves:
    """The moved blocks of a diff, to be asked line by line."""

    def __init__(self, blocks: Sequence[MovedBlock]) -> None:
        self._by_old = sorted(blocks)
        self._by_new = sorted(blocks, key=lambda block: block.new_start)
        self._old_starts = [block.old_start for block in self._by_old]
        self._new_starts = [block.new_start for block in self._by_new]

    def of_old(self, line: int) -> MovedBlock | None:
        """Return the block that this old line left with."""
        at = bisect_right(self._old_starts, line) - 1
        return self._by_old[at] if at >= 0 and line < self._by_old[at].old_start + self._by_old[at].size else None

    def of_new(self, line: int) -> MovedBlock | None:
        """Return the block that this new line came with."""
        at = bisect_right(self._new_starts, line) - 1
        return self._by_new[at] if at >= 0 and line < self._by_new[at].new_start + self._by_new[at].size else None


def moved_blocks(diff: FileDiff) -> tuple[MovedBlock, ...]:
    """Return the blocks of lines that one edit removed and another added, in the order of the old lines.

    Lines are the same when they are without the blanks around them. A line is in one block at most on each side. Takes
    time in proportion to the changed lines, about 1 ms for a thousand; nothing for diffs with too many of them.
    """
    if diff.landmarks is not None:
        return diff.landmarks.moved
    edits = [edit for edit in diff.edits if not is_only_endings(diff, edit)]
    if sum(edit.old_end - edit.old_start + edit.new_end - edit.new_start for edit in edits) > MAX_CHANGED_LINES:
        return ()
    removed = _Side([(edit.old_start, edit.old_end) for edit in edits], diff.old_lines)
    added = _Side([(edit.new_start, edit.new_end) for edit in edits], diff.new_lines)
    return tuple(_matched(removed, added))


class _Side:
    """The changed lines of one side, one edit after the other, stripped; `edit_of` says where each belongs."""

    def __init__(self, ranges: Sequence[tuple[int, int]], lines: Sequence[str]) -> None:
        self.texts: list[str] = []
        self.lines: list[int] = []
        self.edit_of: list[int] = []
        for number, (start, end) in enumerate(ranges):
            self.texts += [line.strip() for line in lines[start:end]]
            self.lines += range(start, end)
            self.edit_of += [number] * (end - start)

    def start_at(self, index: int) -> _Start | None:
        """What a block that starts here starts with; nothing when it would reach over the end of the edit."""
        last = index + MIN_MOVED_LINES - 1
        if last >= len(self.texts) or self.edit_of[index] != self.edit_of[last] or not self.texts[index]:
            return None
        return self.texts[index], self.texts[index + 1], self.texts[last]


def _matched(removed: _Side, added: _Side) -> Iterator[MovedBlock]:
    places: defaultdict[_Start, list[int]] = defaultdict(list)
    for index in range(len(added.texts)):
        start = added.start_at(index)
        if start:
            places[start].append(index)
    is_taken = bytearray(len(added.texts))
    at = 0
    while at < len(removed.texts):
        start = removed.start_at(at)
        found = places.get(start, ()) if start else ()
        size, place = max(
            ((_size(removed, at, added, to, is_taken), -to) for to in found[:_MAX_CANDIDATES]), default=(0, 0)
        )
        if size:
            is_taken[-place : -place + size] = b"\1" * size
            yield MovedBlock(removed.lines[at], added.lines[-place], size)
        at += size or 1


def _size(removed: _Side, at: int, added: _Side, to: int, is_taken: bytearray) -> int:
    """How many lines agree from here on; none when they are too few to mean anything, or stand in the same edit."""
    edit, other = removed.edit_of[at], added.edit_of[to]
    if edit == other:
        return 0
    size = words = end = 0
    while (
        at + size < len(removed.texts)
        and to + size < len(added.texts)
        and removed.edit_of[at + size] == edit
        and added.edit_of[to + size] == other
        and not is_taken[to + size]
        and removed.texts[at + size] == added.texts[to + size]
    ):
        size += 1
        if removed.texts[at + size - 1]:
            end = size
            words += any(map(str.isalnum, removed.texts[at + size - 1]))
    return end if words >= MIN_MOVED_LINES else 0
