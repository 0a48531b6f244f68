"""Hunks taken out of a file: its text without some of them, and which of them are no longer in it. Pure."""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.hunks import edits_by_key
from desktop_agent.core.diff.text import BOM, encode_lines, read_text
from desktop_agent.core.merge.merge import chunks
from desktop_agent.core.protocol.model import Edit, FileDiff


def without_hunks(diff: FileDiff, keys: Collection[HunkKey]) -> bytes:
    """Return the new side's bytes with the hunks of these keys as they are on the old side.

    Keys that name no lines (`file`, `mode`), or no hunk of this diff, change nothing. Where the encoding differs, the
    byte order mark is that of the new side, whichever first line comes: it belongs to the encoding.
    """
    lines: list[str] = []
    at = 0
    for edit in _edits_of(diff, keys):
        lines += diff.new_lines[at : edit.new_start]
        lines += diff.old_lines[edit.old_start : edit.old_end]
        at = edit.new_end
    lines += diff.new_lines[at:]
    if lines and diff.old_encoding != diff.new_encoding:
        mark = BOM if any(line.startswith(BOM) for line in diff.new_lines[:1]) else ""
        lines[0] = mark + lines[0].removeprefix(BOM)
    return encode_lines(tuple(lines), diff.new_encoding)


def undone_keys(diff: FileDiff, since: FileDiff) -> frozenset[HunkKey]:
    """Return the hunks that a later version of the file has as they were before.

    Taking one of them out of that version would change nothing. `since` leads from the later version to the new side
    of `diff`: against the time, because where lines repeat, the other direction may match other ones.
    """
    later = [_inverse(edit) for edit in since.edits]
    if not later or since.old_encoding != diff.new_encoding:
        return frozenset()
    return frozenset(key for key, edits in edits_by_key(diff).items() if _is_gone(diff, edits, later, since.old_lines))


def missing_keys(diff: FileDiff, now: bytes) -> frozenset[HunkKey]:
    """Return the hunks of which nothing is in `now`, a later content of the file: undone, or written over since."""
    text = read_text(now)
    if text is None or text.encoding != diff.new_encoding:
        return frozenset()
    after = encode_lines(diff.new_lines, "utf-8")
    lines = text.lines
    later = [_inverse(edit) for edit in find_edits(encode_lines(lines, "utf-8"), after)]
    if not later:
        return frozenset()
    return frozenset(key for key, edits in edits_by_key(diff).items() if _is_missing(diff, edits, later, lines))


def sole_missing_keys(diff: FileDiff, now: bytes) -> frozenset[HunkKey] | None:
    """Return the hunks that `now` lacks when that is all it differs in from the new side; otherwise None."""
    missing = missing_keys(diff, now)
    return missing if without_hunks(diff, missing) == now else None


def _is_missing(diff: FileDiff, edits: Sequence[Edit], later: Sequence[Edit], now: Sequence[str]) -> bool:
    """Whether every added line is gone; where none was added, whether what was removed is back."""
    added = [edit for edit in edits if edit.new_start < edit.new_end]
    if not added:
        return _is_gone(diff, edits, later, now)
    return all(_covers(later, edit) for edit in added)


def _covers(later: Sequence[Edit], edit: Edit) -> bool:
    """Whether later edits, which may touch one another, replaced every line that this one added."""
    line = edit.new_start
    at = bisect_left(later, line + 1, key=lambda one: one.old_end)
    while at < len(later) and later[at].old_start <= line < edit.new_end:
        line = later[at].old_end
        at += 1
    return line >= edit.new_end


def _is_gone(diff: FileDiff, edits: Sequence[Edit], later: Sequence[Edit], now: Sequence[str]) -> bool:
    """Whether merging the removal of these edits into `now` would leave `now` as it is."""
    inverse = [_inverse(edit) for edit in edits]
    first = bisect_left(later, inverse[0].old_start, key=lambda edit: edit.old_end)
    last = bisect_left(later, inverse[-1].old_end + 1, key=lambda edit: edit.old_start)
    near = later[first:last]
    if not near:
        return False
    for chunk in chunks(near, inverse):
        theirs = tuple(_replaced(diff, inverse, chunk.base))
        if theirs not in (diff.new_lines[chunk.base], tuple(now[chunk.ours])):
            return False
    return True


def _replaced(diff: FileDiff, inverse: Sequence[Edit], base: slice) -> Iterator[str]:
    at = base.start
    for edit in inverse:
        if edit.old_end < base.start or edit.old_start > base.stop:
            continue
        yield from diff.new_lines[at : edit.old_start]
        yield from diff.old_lines[edit.new_start : edit.new_end]
        at = edit.old_end
    yield from diff.new_lines[at : base.stop]


def _edits_of(diff: FileDiff, keys: Collection[HunkKey]) -> list[Edit]:
    edits = (edit for key, edits in edits_by_key(diff).items() if key in keys for edit in edits)
    return sorted(edits, key=lambda edit: (edit.new_start, edit.new_end))


def _inverse(edit: Edit) -> Edit:
    return Edit(old_start=edit.new_start, old_end=edit.new_end, new_start=edit.old_start, new_end=edit.old_end)
