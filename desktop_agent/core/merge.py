"""Three-way merges of lines and of whole files, removal of hunks, and the choices between three versions. Pure.

Touching edits clash, as in git. `base` is the common ancestor, `wanted` is the version that an undo or redo wants, and
`yours` is on disk.
"""

import io
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.diff import as_stored, find_edits
from desktop_agent.core.diff.hunks import edits_by_key
from desktop_agent.core.diff.text import BOM, Text, as_utf8, encode_lines, read_text, read_texts
from desktop_agent.core.protocol.model import Edit, FileDiff
from desktop_agent.core.system.files import FileState

Lines = tuple[bytes, ...]


class Clashing(NamedTuple):
    base: Lines
    ours: Lines
    theirs: Lines


class Merge(Struct, frozen=True):
    pieces: tuple[bytes | Clashing, ...]

    @property
    def is_clean(self) -> bool:
        return not any(isinstance(piece, Clashing) for piece in self.pieces)

    def content(self) -> bytes:
        """The merged content. Raises `ValueError` if the sides clash."""
        if not self.is_clean:
            raise ValueError("the two sides clash")
        return b"".join(piece for piece in self.pieces if not isinstance(piece, Clashing))


def merge_bytes(base: bytes, ours: bytes, theirs: bytes) -> Merge | None:
    """Merge three versions; None if one of them is not text, or their encodings differ."""
    texts = [read_text(content) for content in (base, ours, theirs)]
    encodings = {text.encoding if text else None for text in texts}
    if None in encodings or len(encodings) > 1:
        return None
    (encoding,) = encodings
    if encoding == "utf-8":
        return _merged(base, ours, theirs)
    assert encoding is not None
    in_utf8 = [content.decode(encoding).encode() for content in (base, ours, theirs)]
    return Merge(tuple(_recoded(piece, encoding) for piece in _merged(*in_utf8).pieces))


class Chunk(NamedTuple):
    base: slice
    ours: slice
    theirs: slice


def chunks(ours: Sequence[Edit], theirs: Sequence[Edit]) -> Iterator[Chunk]:
    """Yield chunks of edits: those that overlap or touch are one. The edits of both sides start from the base."""
    sides = (ours, theirs)
    at = [0, 0]
    shifts = [side[0].new_start - side[0].old_start if side else 0 for side in sides]
    while at[0] < len(ours) or at[1] < len(theirs):
        start = min(side[index].old_start for side, index in zip(sides, at, strict=True) if index < len(side))
        end = start
        begun = list(shifts)
        is_growing = True
        while is_growing:
            is_growing = False
            for which, side in enumerate(sides):
                while at[which] < len(side) and side[at[which]].old_start <= end:
                    edit = side[at[which]]
                    end = max(end, edit.old_end)
                    shifts[which] = edit.new_end - edit.old_end
                    at[which] += 1
                    is_growing = True
        base = slice(start, end)
        yield Chunk(base, *(slice(start + begun[which], end + shifts[which]) for which in (0, 1)))


def _merged(base: bytes, ours: bytes, theirs: bytes) -> Merge:
    base_lines, our_lines, their_lines = (tuple(io.BytesIO(content)) for content in (base, ours, theirs))
    pieces: list[bytes | Clashing] = []
    done = 0
    for chunk in chunks(find_edits(base, ours), find_edits(base, theirs)):
        pieces.append(b"".join(base_lines[done : chunk.base.start]))
        pieces.append(_joined(base_lines[chunk.base], our_lines[chunk.ours], their_lines[chunk.theirs]))
        done = chunk.base.stop
    pieces.append(b"".join(base_lines[done:]))
    return Merge(tuple(_neighbours_joined(pieces)))


def _joined(base: Lines, ours: Lines, theirs: Lines) -> bytes | Clashing:
    if ours in (theirs, base):
        return b"".join(theirs)
    if theirs == base:
        return b"".join(ours)
    return Clashing(base, ours, theirs)


def _neighbours_joined(pieces: Sequence[bytes | Clashing]) -> Iterator[bytes | Clashing]:
    clean: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            clean.append(piece)
            continue
        if text := b"".join(clean):
            yield text
        clean.clear()
        yield piece
    if text := b"".join(clean):
        yield text


def _recoded(piece: bytes | Clashing, encoding: str) -> bytes | Clashing:
    if isinstance(piece, bytes):
        return piece.decode().encode(encoding)
    return Clashing(*(tuple(line.decode().encode(encoding) for line in side) for side in piece))


SAME_LINES: Final = "You changed the same lines since."
CHANGED_SINCE: Final = "It was changed since, so your version was left alone."
GONE: Final = "It is gone."
PLACE_TAKEN: Final = "Something else has taken its place since."


class ClashError(Exception):
    """Two sides changed the same thing. The text tells the user what they changed differently."""


def merge_states(base: FileState | None, yours: FileState | None, wanted: FileState | None) -> FileState | None:
    """Return `yours` with the change from `base` to `wanted`. Raises `ClashError` if both changed the same thing."""
    if yours == base:
        return wanted
    if yours == wanted or base == wanted:
        return yours
    if base is None or yours is None or wanted is None:
        raise ClashError(_why_absent(yours, wanted))
    merged = _merged_content(base, yours, wanted)
    if merged.kind != yours.kind and yours.mode != base.mode:
        # A symlink has no permissions of its own, so permissions that were set since would be lost.
        raise ClashError("Its permissions were changed since, so it was left alone.")
    return replace(merged, mode=_merged_mode(base, yours, wanted))


def _merged_content(base: FileState, yours: FileState, wanted: FileState) -> FileState:
    if _is_same(yours, base) or _is_same(yours, wanted):
        return wanted
    if _is_same(base, wanted):
        return yours
    if {base.kind, yours.kind, wanted.kind} == {"file"}:
        merge = merge_bytes(base.content, yours.content, wanted.content)
        if merge is not None and merge.is_clean:
            return replace(yours, content=merge.content())
        if merge is not None:
            raise ClashError(SAME_LINES)
    raise ClashError(CHANGED_SINCE)


def _merged_mode(base: FileState, yours: FileState, wanted: FileState) -> int:
    if yours.mode in (base.mode, wanted.mode):
        return wanted.mode
    if base.mode == wanted.mode:
        return yours.mode
    raise ClashError("Its permissions were changed since, so they were left alone.")


def _is_same(left: FileState, right: FileState) -> bool:
    return (left.kind, left.content) == (right.kind, right.content)


def _why_absent(yours: FileState | None, wanted: FileState | None) -> str:
    if yours is None:
        return GONE
    if wanted is None:
        return CHANGED_SINCE
    return PLACE_TAKEN


def without_hunks(diff: FileDiff, keys: Collection[HunkKey]) -> bytes:
    """Restore these hunks of the new side from the old side. Keys that name no lines change nothing."""
    lines: list[str] = []
    at = 0
    wanted = (edit for key, edits in edits_by_key(diff).items() if key in keys for edit in edits)
    for edit in sorted(wanted, key=lambda edit: (edit.new_start, edit.new_end)):
        lines += diff.new_lines[at : edit.new_start]
        lines += diff.old_lines[edit.old_start : edit.old_end]
        at = edit.new_end
    lines += diff.new_lines[at:]
    if lines and diff.old_encoding != diff.new_encoding:
        mark = BOM if any(line.startswith(BOM) for line in diff.new_lines[:1]) else ""
        lines[0] = mark + lines[0].removeprefix(BOM)
    return encode_lines(tuple(lines), diff.new_encoding)


def undone_keys(diff: FileDiff, since: FileDiff) -> frozenset[HunkKey]:
    """Return the hunks of `diff` that are undone in a later version of the file.

    `since` leads backwards, from the later version: a diff in the other direction can match repeated lines differently.
    """
    diff, since = as_stored(diff), as_stored(since)
    later = [_inverse(edit) for edit in since.edits]
    if not later or since.old_encoding != diff.new_encoding:
        return frozenset()
    return frozenset(key for key, edits in edits_by_key(diff).items() if _is_gone(diff, edits, later, since.old_lines))


def missing_keys(diff: FileDiff, now: bytes) -> frozenset[HunkKey]:
    text = read_text(now)
    if text is None or text.encoding != diff.new_encoding:
        return frozenset()
    after = encode_lines(diff.new_lines, "utf-8")
    lines = text.lines
    later = [_inverse(edit) for edit in find_edits(encode_lines(lines, "utf-8"), after)]
    if not later:
        return frozenset()
    return frozenset(key for key, edits in edits_by_key(diff).items() if _is_missing(diff, edits, later, lines))


def _is_missing(diff: FileDiff, edits: Sequence[Edit], later: Sequence[Edit], now: Sequence[str]) -> bool:
    added = [edit for edit in edits if edit.new_start < edit.new_end]
    if not added:
        return _is_gone(diff, edits, later, now)
    return all(_covers(later, edit) for edit in added)


def _covers(later: Sequence[Edit], edit: Edit) -> bool:
    line = edit.new_start
    at = bisect_left(later, line + 1, key=lambda one: one.old_end)
    while at < len(later) and later[at].old_start <= line < edit.new_end:
        line = later[at].old_end
        at += 1
    return line >= edit.new_end


def _is_gone(diff: FileDiff, edits: Sequence[Edit], later: Sequence[Edit], now: Sequence[str]) -> bool:
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


def _inverse(edit: Edit) -> Edit:
    return Edit(old_start=edit.new_start, old_end=edit.new_end, new_start=edit.old_start, new_end=edit.old_end)


MAX_BYTES = 768 * 1024
"""The largest size of all three together. For more, the user chooses whole files: an editor would freeze the window."""
MAX_LINE_CHARS = 5_000
"""The longest line. For a longer one, the user chooses whole files, too."""

Source = Literal["base", "wanted", "yours"]
Origin = Literal["unchanged", "wanted", "yours", "both", "clash"]
"""Who changed a region of the base: neither side, one side, both in the same way, or both differently."""
Choice = Literal["undecided", "yours", "wanted", "both"]
"""The user's choice for one clash. `both`: the wanted lines, then yours. Undecided clashes stay yours."""

TextLines = tuple[str, ...]
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

    def lines(self, source: Source) -> TextLines:
        return (self.base if source == "base" else self.wanted if source == "wanted" else self.yours).lines

    def pieces(self, choices: Sequence[Choice]) -> Iterator[TextLines]:
        """Yield the lines of the result. `choices` has one choice for each clash."""
        left = iter(choices)
        for region in self.regions:
            if region.origin == "clash":
                yield self.chosen(region, next(left))
            elif region.origin == "wanted":
                yield self.wanted.lines[region.wanted]
            else:
                yield self.yours.lines[region.yours]

    def chosen(self, clash: MergeRegion, choice: Choice) -> TextLines:
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


def _regions(
    base: TextLines, wanted: TextLines, yours: TextLines, utf8: tuple[bytes, bytes, bytes]
) -> Iterator[MergeRegion]:
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


def _origin(base: TextLines, wanted: TextLines, yours: TextLines) -> Origin:
    if wanted == yours:
        return "both"
    if yours == base:
        return "wanted"
    return "yours" if wanted == base else "clash"


def _with_ending(first: TextLines, second: TextLines) -> TextLines:
    if not first or not second or first[-1].endswith("\n"):
        return first
    return (*first[:-1], first[-1] + ("\r\n" if second[0].endswith("\r\n") else "\n"))
