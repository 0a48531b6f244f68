"""A diff without its lines, small enough to be sent between processes, and how the lines are put back.

A caller that has the two contents needs no line from another process: unpickling 100,000 strings would hold the
interpreter lock for long. The lines are split where they are looked at. `assemble` works in pieces of about a
millisecond, so that a thread that runs it never keeps the window's waiting.
"""

import io
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.landmarks import landmarks_of
from desktop_agent.core.diff.lines_on_demand import LinesOnDemand, Pieces, pieces_of
from desktop_agent.core.diff.text import encode_lines
from desktop_agent.core.protocol.model import Edit, FileDiff, Hunk, Landmarks, MovedBlock, ReviewHunk, Surplus

_PIECE_EDITS = 1_000

YieldGil = Callable[[], None]
"""Called between two pieces: lets other threads run."""


class DiffOutline(NamedTuple):
    """A diff without lines, edits and landmarks, and what they are made from again: numbers, packed."""

    diff: FileDiff
    old_pieces: Pieces | None
    """None where no lines are shown."""
    new_pieces: Pieces | None
    edits: bytes
    """Four numbers each."""
    converted: bytes
    """The numbers of the edits that change line endings only."""
    hunks: bytes
    """How many edits it has, the number of its first and of the one after its last, and its four line numbers."""
    keys: tuple[HunkKey, ...]
    moved: bytes
    surplus: tuple[bytes, bytes]


def outline_of(diff: FileDiff, before: bytes, after: bytes) -> DiffOutline:
    """Return what `assemble` makes this diff from again, with landmarks. `before` and `after` are the contents."""
    landmarks = landmarks_of(diff)
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
    """Return the diff with its lines and landmarks."""
    bare = outline.diff
    edits = _edits(outline.edits, yield_gil)
    landmarks = _landmarks(outline, edits, yield_gil)
    old_lines = _lines(before, bare.old_encoding, outline.old_pieces)
    new_lines = _lines(after, bare.new_encoding, outline.new_pieces)
    return replace(bare, old_lines=old_lines, new_lines=new_lines, edits=tuple(edits), landmarks=landmarks)


def _lines(content: bytes, encoding: str, pieces: Pieces | None) -> Sequence[str]:
    return LinesOnDemand(content, encoding, pieces) if pieces else ()


def _line_sizes(lines: Sequence[str], content: bytes, encoding: str) -> Iterator[int]:
    if encoding == "utf-8":
        return map(len, io.BytesIO(content))
    return (len(encode_lines((line,), encoding)) for line in lines)


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
