"""A diff without its lines, small enough to be sent between processes, and how the lines are restored."""

import io
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import eq
from typing import Final, NamedTuple, cast, overload

from msgspec.structs import replace

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.diff import as_read
from desktop_agent.core.diff.hunks import landmarks_of
from desktop_agent.core.diff.text import decoded, encode_lines, split_lines
from desktop_agent.core.protocol.model import Edit, FileDiff, Hunk, Landmarks, MovedBlock, ReviewHunk, Surplus

PIECE_LINES: Final = 1_000
PIECE_BYTES: Final = 64 * 1024
"""How many bytes are split at once, which takes a fraction of a millisecond. A longer line is a piece of its own."""
_MAX_KEPT: Final = 32


class Pieces(NamedTuple):
    """Where each piece of a text starts, and where the last one ends, in lines and in bytes. Both as packed numbers."""

    lines: bytes
    bytes: bytes


def pieces_of(line_sizes: Iterable[int]) -> Pieces:
    """Return where pieces of lines of these sizes (bytes) start. Takes linear time: run it in another process."""
    ends = list(accumulate(line_sizes, initial=0))
    lines, at = array("Q", (0,)), 0
    while at < len(ends) - 1:
        fitting = bisect_right(ends, ends[at] + PIECE_BYTES, at, min(at + PIECE_LINES + 1, len(ends))) - 1
        at = max(at + 1, fitting)
        lines.append(at)
    return Pieces(lines.tobytes(), array("Q", map(ends.__getitem__, lines)).tobytes())


class LinesOnDemand(Sequence[str]):
    """A sequence equal to the tuple of lines of `content`, which is split on demand. Thread-safe."""

    __slots__ = ("_content", "_encoding", "_firsts", "_kept", "_last", "_starts")

    def __init__(self, content: bytes, encoding: str, pieces: Pieces) -> None:
        self._content = content
        self._encoding = encoding
        self._firsts = array("Q", pieces.lines)
        self._starts = array("Q", pieces.bytes)
        self._kept: dict[int, tuple[str, ...]] = {}
        self._last: tuple[int, tuple[str, ...]] = 0, ()

    def __len__(self) -> int:
        return self._firsts[-1]

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return self._slice(range(*index.indices(len(self))))
        first, piece = self._last
        if 0 <= index - first < len(piece):
            return piece[index - first]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        number = bisect_right(self._firsts, at) - 1
        first, piece = self._last = self._firsts[number], self._piece(number)
        return piece[at - first]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(map(self._split, range(len(self._firsts) - 1)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LinesOnDemand) and other._encoding == self._encoding:
            return other._content == self._content
        if isinstance(other, LinesOnDemand | tuple):
            lines = cast("Sequence[object]", other)
            return len(lines) == len(self) and all(map(eq, self, lines))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self)} lines>"

    def _slice(self, wanted: range) -> tuple[str, ...]:
        if wanted.step != 1 or not wanted:
            return tuple(map(self.__getitem__, wanted))
        first = bisect_right(self._firsts, wanted.start) - 1
        last = bisect_right(self._firsts, wanted.stop - 1) - 1
        # The lines of one or two pieces are probably read again soon; more pieces would evict all others.
        taken = self._piece if last - first < 2 else self._split
        parts = (
            taken(number)[max(0, wanted.start - self._firsts[number]) : wanted.stop - self._firsts[number]]
            for number in range(first, last + 1)
        )
        return tuple(chain.from_iterable(parts))

    def _piece(self, number: int) -> tuple[str, ...]:
        piece = self._kept.get(number)
        if piece is None:
            if len(self._kept) >= _MAX_KEPT:
                self._kept = {}  # replaced, not emptied: another thread may be looking into it
            piece = self._kept[number] = self._split(number)
        return piece

    def _split(self, number: int) -> tuple[str, ...]:
        return split_lines(decoded(self._content[self._starts[number] : self._starts[number + 1]], self._encoding))


_PIECE_EDITS = 1_000

YieldGil = Callable[[], None]
"""A function that is called between two pieces, to let other threads run."""


class DiffOutline(NamedTuple):
    diff: FileDiff
    old_pieces: Pieces | None
    new_pieces: Pieces | None
    edits: bytes
    """The edits, packed: four numbers each."""
    converted: bytes
    """Indexes of the edits that change only line endings."""
    hunks: bytes
    """Per hunk: its number of edits, the index of its first edit and that after its last, and its four line numbers."""
    keys: tuple[HunkKey, ...]
    moved: bytes
    surplus: tuple[bytes, bytes]


def outline_of(diff: FileDiff, before: bytes, after: bytes) -> DiffOutline:
    """Return the outline of a diff, from which `assemble` restores it, decoded by `as_read`."""
    landmarks = landmarks_of(diff)
    diff = as_read(diff, before, after)
    converted = set(landmarks.converted)
    has_lines = bool(diff.old_lines or diff.new_lines)
    return DiffOutline(
        diff=replace(diff, old_lines=(), new_lines=(), edits=(), landmarks=None),
        old_pieces=pieces_of(_line_sizes(diff.old_lines, before, diff.old_encoding)) if has_lines else None,
        new_pieces=pieces_of(_line_sizes(diff.new_lines, after, diff.new_encoding)) if has_lines else None,
        edits=_packed((edit.old_start, edit.old_end, edit.new_start, edit.new_end) for edit in diff.edits),
        converted=_packed((number,) for number, edit in enumerate(diff.edits) if edit in converted),
        hunks=_packed(_numbered(diff.edits, landmarks.hunks)),
        keys=tuple(named.key for named in landmarks.hunks),
        moved=_packed(landmarks.moved),
        surplus=(array("Q", landmarks.surplus.side_by_side).tobytes(), array("Q", landmarks.surplus.unified).tobytes()),
    )


def assemble(outline: DiffOutline, before: bytes, after: bytes, yield_gil: YieldGil) -> FileDiff:
    bare = outline.diff
    edits = _edits(outline.edits, yield_gil)
    landmarks = _landmarks(outline, edits, yield_gil)
    old_lines = _lines(before, bare.old_encoding, outline.old_pieces)
    new_lines = _lines(after, bare.new_encoding, outline.new_pieces)
    return replace(bare, old_lines=old_lines, new_lines=new_lines, edits=tuple(edits), landmarks=landmarks)


def _lines(content: bytes, encoding: str, pieces: Pieces | None) -> Sequence[str]:
    return LinesOnDemand(content, encoding, pieces) if pieces else ()


def _line_sizes(lines: Sequence[str], content: bytes, encoding: str) -> Iterator[int]:
    if encoding.startswith("utf-16"):
        return (len(encode_lines((line,), encoding)) for line in lines)
    return map(len, io.BytesIO(content))


def _numbered(edits: Sequence[Edit], hunks: Iterable[ReviewHunk]) -> Iterator[tuple[int, ...]]:
    number = {edit: at for at, edit in enumerate(edits)}
    for _, hunk in hunks:
        yield len(hunk.edits), number[hunk.edits[0]], number[hunk.edits[-1]] + 1, *hunk[1:]


def _packed(groups: Iterable[tuple[int, ...]]) -> bytes:
    return array("Q", chain.from_iterable(groups)).tobytes()


def _edits(packed: bytes, yield_gil: YieldGil) -> list[Edit]:
    numbers = array("Q", packed)
    edits: list[Edit] = []
    for at in range(0, len(numbers), 4):
        old_start, old_end, new_start, new_end = numbers[at : at + 4]
        edits.append(Edit(old_start=old_start, old_end=old_end, new_start=new_start, new_end=new_end))
        if len(edits) % _PIECE_EDITS == 0:
            yield_gil()
    return edits


def _landmarks(outline: DiffOutline, edits: Sequence[Edit], yield_gil: YieldGil) -> Landmarks:
    converted = array("Q", outline.converted)
    is_converted = set(converted)
    numbers = array("Q", outline.hunks)
    hunks: list[ReviewHunk] = []
    for at, key in enumerate(outline.keys):
        count, first, end, old_start, old_end, new_start, new_end = numbers[7 * at : 7 * at + 7]
        its_edits = tuple(edits[first:end])
        if len(its_edits) != count:  # edits of line endings stand between those of the hunk
            its_edits = tuple(edits[number] for number in range(first, end) if number not in is_converted)
        hunks.append(ReviewHunk(key, Hunk(its_edits, old_start, old_end, new_start, new_end)))
        if at % _PIECE_EDITS == 0:
            yield_gil()
    moved = array("Q", outline.moved)
    return Landmarks(
        hunks=tuple(hunks),
        converted=tuple(edits[number] for number in converted),
        moved=tuple(MovedBlock(*moved[at : at + 3]) for at in range(0, len(moved), 3)),
        surplus=Surplus(*(array("Q", packed) for packed in outline.surplus)),
    )
