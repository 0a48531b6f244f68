"""Groups nearby edits into hunks, gives each a key from its lines, and finds blocks that moved inside a file."""

import hashlib
import stat
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from zlib import crc32

from msgspec.structs import replace

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.diff import is_only_endings
from desktop_agent.core.protocol.model import Edit, FileDiff, Hunk, Landmarks, MovedBlock, ReviewHunk, Surplus

CONTEXT_LINES = 3
MIN_FOLDED_LINES = 4
"""Fewer unchanged lines than this are shown rather than folded: the row of the fold takes nearly as much room."""

WHOLE_FILE: HunkKey = "file"
MODE: HunkKey = "mode"
ENDINGS: HunkKey = "endings"
"""The key of all those lines of a file together of which only the ending changed."""
RENAMING: HunkKey = "renaming"
"""The key of the renaming in a change that also edited the file: it can be undone while the edit stays."""


def group(edits: Sequence[Edit], *, old_count: int, context: int, keep: int = 0) -> list[Hunk]:
    """Group edits into hunks. Those whose contexts touch, or with at most `keep` lines between them, are merged.

    Outside the edits, old and new lines must correspond one to one.
    """
    hunks: list[Hunk] = []
    near: list[Edit] = []
    for edit in edits:
        if near and edit.old_start - near[-1].old_end > 2 * context + keep:
            hunks.append(_hunk(near, old_count, context))
            near = []
        near.append(edit)
    if near:
        hunks.append(_hunk(near, old_count, context))
    return hunks


def review_hunks(diff: FileDiff) -> list[ReviewHunk]:
    """Return the hunks in order, with their keys. A number distinguishes the keys of hunks with the same lines."""
    if diff.landmarks is not None:
        return list(diff.landmarks.hunks)
    if changes_kind(diff):
        hunk = group(diff.edits, old_count=len(diff.old_lines), context=CONTEXT_LINES, keep=len(diff.old_lines))
        return [ReviewHunk(WHOLE_FILE, one) for one in hunk]
    edits = [edit for edit in diff.edits if not is_only_endings(diff, edit)]
    hunks = group(edits, old_count=len(diff.old_lines), context=CONTEXT_LINES, keep=MIN_FOLDED_LINES - 1)
    seen: Counter[str] = Counter()
    named: list[ReviewHunk] = []
    for hunk in hunks:
        text = _text_key(diff, hunk)
        seen[text] += 1
        named.append(ReviewHunk(text if seen[text] == 1 else f"{text}-{seen[text]}", hunk))
    return named


def surplus_of(hunks: Iterable[ReviewHunk]) -> Surplus:
    edits = [edit for named in hunks for edit in named.hunk.edits]
    removed = [edit.old_end - edit.old_start for edit in edits]
    added = [edit.new_end - edit.new_start for edit in edits]
    taller = (max(0, new - old) for old, new in zip(removed, added, strict=True))
    return Surplus(array("Q", accumulate(taller, initial=0)), array("Q", accumulate(added, initial=0)))


def converted_edits(diff: FileDiff) -> list[Edit]:
    """The edits that change nothing but line endings. Together they are the hunk `ENDINGS`."""
    if diff.landmarks is not None:
        return list(diff.landmarks.converted)
    return [edit for edit in diff.edits if is_only_endings(diff, edit)]


def edits_by_key(diff: FileDiff) -> dict[HunkKey, Sequence[Edit]]:
    converted = converted_edits(diff)
    found: dict[HunkKey, Sequence[Edit]] = {named.key: named.hunk.edits for named in review_hunks(diff)}
    return found | {ENDINGS: converted} if converted else found


def all_keys(diff: FileDiff) -> tuple[HunkKey, ...]:
    if changes_kind(diff):
        return (WHOLE_FILE,)
    keys = [named.key for named in review_hunks(diff)]
    if converted_edits(diff):
        keys.append(ENDINGS)
    if diff.old_mode is not None and diff.new_mode is not None and diff.old_mode != diff.new_mode:
        keys.append(MODE)
    return tuple(keys) or (WHOLE_FILE,)


def hunk_names(diff: FileDiff, keys: Collection[HunkKey] | None = None) -> dict[HunkKey, tuple[HunkKey, ...]]:
    """Return the names by which decisions refer to each hunk, or to these; a new decision uses the first.

    The numbers of hunks with the same lines change when one of them comes or goes. So they are named by the old lines
    around them or, where these are the same, too, also by their place in the old file.
    """
    found: dict[HunkKey, tuple[HunkKey, ...]] = {key: (key,) for key in (all_keys(diff) if keys is None else keys)}
    wanted = {key.partition("-")[0] for key in found}
    named = [(one, text) for one in review_hunks(diff) if (text := one.key.partition("-")[0]) in wanted]
    around = [f"{text}@{_lines_around(diff, one.hunk):08x}" for one, text in named]
    texts, places = Counter(text for _, text in named), Counter(around)
    for (one, text), place in zip(named, around, strict=True):
        short = [text] * (texts[text] == 1) + [place] * (places[place] == 1)
        numbered = [one.key] * (one.key != text)  # of earlier versions
        if one.key in found:
            found[one.key] = (*short, f"{place}.{one.hunk.edits[0].old_start}", *numbered)
    return found


def _lines_around(diff: FileDiff, hunk: Hunk) -> int:
    before = diff.old_lines[hunk.old_start : hunk.edits[0].old_start]
    after = diff.old_lines[hunk.edits[-1].old_end : hunk.old_end]
    return crc32("".join((*before, "\0", *after)).encode("utf-8", "surrogateescape"))


def marked(names: Mapping[HunkKey, Sequence[HunkKey]], marks: Collection[HunkKey]) -> frozenset[HunkKey]:
    """Return the hunks that were decided about by any of their `names`."""
    return frozenset(key for key, known in names.items() if any(name in marks for name in known))


def changes_kind(diff: FileDiff) -> bool:
    """Whether a file became a symlink or vice versa, so that there is one decision for the whole file."""
    is_change = diff.old_mode is not None and diff.new_mode is not None
    return is_change and stat.S_IFMT(diff.old_mode or 0) != stat.S_IFMT(diff.new_mode or 0)


def _hunk(edits: list[Edit], old_count: int, context: int) -> Hunk:
    first, last = edits[0], edits[-1]
    before = min(context, first.old_start)
    after = min(context, old_count - last.old_end)
    return Hunk(
        tuple(edits), first.old_start - before, last.old_end + after, first.new_start - before, last.new_end + after
    )


def _text_key(diff: FileDiff, hunk: Hunk) -> str:
    hasher = hashlib.blake2b(digest_size=8)
    for edit in hunk.edits:
        removed, added = diff.old_lines[edit.old_start : edit.old_end], diff.new_lines[edit.new_start : edit.new_end]
        for sign, lines in ((b"-", removed), (b"+", added)):
            for line in lines:
                hasher.update(sign)
                hasher.update(line.encode("utf-8", "surrogateescape"))
        hasher.update(b"@")
    return hasher.hexdigest()


MIN_MOVED_LINES = 3
"""The least number of lines with a word in a moved block: otherwise, any closing bracket or blank line would count."""
MAX_CHANGED_LINES = 50_000
"""With more changed lines than this, on both sides together, moves are not marked, which would cost too much."""
_MAX_CANDIDATES = 8
"""How many places are tried for the start of a block. Further ones are only copies of the same few lines."""

_BlockStart = tuple[str, str, str]


class Moves:
    def __init__(self, blocks: Sequence[MovedBlock]) -> None:
        self._by_old = sorted(blocks)
        self._by_new = sorted(blocks, key=lambda block: block.new_start)
        self._old_starts = [block.old_start for block in self._by_old]
        self._new_starts = [block.new_start for block in self._by_new]

    def of_old(self, line: int) -> MovedBlock | None:
        at = bisect_right(self._old_starts, line) - 1
        return self._by_old[at] if at >= 0 and line < self._by_old[at].old_start + self._by_old[at].size else None

    def of_new(self, line: int) -> MovedBlock | None:
        at = bisect_right(self._new_starts, line) - 1
        return self._by_new[at] if at >= 0 and line < self._by_new[at].new_start + self._by_new[at].size else None


def moved_blocks(diff: FileDiff) -> tuple[MovedBlock, ...]:
    """The blocks of lines that one edit removed and another added, in the order of the old lines.

    Blanks at both ends of a line do not count. Takes 1 ms per thousand changed lines; empty for diffs with too many.
    """
    if diff.landmarks is not None:
        return diff.landmarks.moved
    edits = [edit for edit in diff.edits if not is_only_endings(diff, edit)]
    if sum(edit.old_end - edit.old_start + edit.new_end - edit.new_start for edit in edits) > MAX_CHANGED_LINES:
        return ()
    removed = _ChangedLines([(edit.old_start, edit.old_end) for edit in edits], diff.old_lines)
    added = _ChangedLines([(edit.new_start, edit.new_end) for edit in edits], diff.new_lines)
    return tuple(_blocks_between(removed, added))


class _ChangedLines:
    """The changed lines of a diff, stripped. `edit_of` is the index of the edit of each line."""

    def __init__(self, ranges: Sequence[tuple[int, int]], lines: Sequence[str]) -> None:
        self.texts: list[str] = []
        self.lines: list[int] = []
        self.edit_of: list[int] = []
        for number, (start, end) in enumerate(ranges):
            self.texts += [line.strip() for line in lines[start:end]]
            self.lines += range(start, end)
            self.edit_of += [number] * (end - start)

    def start_at(self, index: int) -> _BlockStart | None:
        last = index + MIN_MOVED_LINES - 1
        if last >= len(self.texts) or self.edit_of[index] != self.edit_of[last] or not self.texts[index]:
            return None
        return self.texts[index], self.texts[index + 1], self.texts[last]


def _blocks_between(removed: _ChangedLines, added: _ChangedLines) -> Iterator[MovedBlock]:
    places: defaultdict[_BlockStart, list[int]] = defaultdict(list)
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
            ((_block_size(removed, at, added, to, is_taken), -to) for to in found[:_MAX_CANDIDATES]), default=(0, 0)
        )
        if size:
            is_taken[-place : -place + size] = b"\1" * size
            yield MovedBlock(removed.lines[at], added.lines[-place], size)
        at += size or 1


def _block_size(removed: _ChangedLines, at: int, added: _ChangedLines, to: int, is_taken: bytearray) -> int:
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


def landmarks_of(diff: FileDiff) -> Landmarks:
    hunks = tuple(review_hunks(diff))
    return Landmarks(
        hunks=hunks, converted=tuple(converted_edits(diff)), moved=moved_blocks(diff), surplus=surplus_of(hunks)
    )


def with_landmarks(diff: FileDiff) -> FileDiff:
    return replace(diff, landmarks=landmarks_of(diff))
