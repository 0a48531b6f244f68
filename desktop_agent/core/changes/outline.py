"""A diff without its lines, small enough to be sent between processes, and how the lines are put back.

Whoever has the two contents needs no line from another process: unpickling 100,000 strings would hold the interpreter
lock for longer than splitting the text again. `assemble` works in pieces of about a millisecond, so that a thread that
runs it never keeps the window's waiting.
"""

import codecs
import io
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import NamedTuple

from desktop_agent.core.changes.landmarks import landmarks_of
from desktop_agent.core.changes.line_tuples import tuple_of_lines
from desktop_agent.core.changes.text import decoded, encode_lines, errors_of, split_lines
from desktop_agent.core.ids import HunkKey
from desktop_agent.core.model import Edit, FileDiff, Hunk, Landmarks, MovedBlock, ReviewHunk, Surplus

PIECE_BYTES = 64 * 1024
"""What is decoded and split at once: half a millisecond even where every line is a single character."""
_PIECE_EDITS = 1_000

Breathe = Callable[[], None]
"""Called between two pieces: lets other threads run."""


class Outline(NamedTuple):
    """A diff without lines, edits and landmarks, and what they are made from again: numbers, packed."""

    diff: FileDiff
    has_lines: bool
    edits: bytes
    """Four numbers each."""
    places: bytes
    """Where the new lines of each edit start and end in the new content."""
    converted: bytes
    """The numbers of the edits that change line endings only."""
    hunks: bytes
    """How many edits it has, the number of its first and of the one after its last, and its four line numbers."""
    keys: tuple[HunkKey, ...]
    moved: bytes
    surplus: tuple[bytes, bytes]


def outline_of(diff: FileDiff, after: bytes) -> Outline:
    """Return what `assemble` makes this diff from again, with landmarks. `after` is the new content."""
    landmarks = landmarks_of(diff)
    converted = set(landmarks.converted)
    starts = list(accumulate(_line_sizes(diff, after), initial=0))
    return Outline(
        diff=replace(diff, old_lines=(), new_lines=(), edits=(), landmarks=None),
        has_lines=bool(diff.old_lines or diff.new_lines),
        edits=_packed((edit.old_start, edit.old_end, edit.new_start, edit.new_end) for edit in diff.edits),
        places=_packed((starts[edit.new_start], starts[edit.new_end]) for edit in diff.edits),
        converted=_packed((number,) for number, edit in enumerate(diff.edits) if edit in converted),
        hunks=_packed(_numbered(diff.edits, landmarks.hunks)),
        keys=tuple(named.key for named in landmarks.hunks),
        moved=_packed(landmarks.moved),
        surplus=(array("Q", landmarks.surplus.side_by_side).tobytes(), array("Q", landmarks.surplus.unified).tobytes()),
    )


def assemble(outline: Outline, before: bytes, after: bytes, breathe: Breathe) -> FileDiff:
    """Return the diff with its lines and landmarks. Unchanged lines of both sides are the same strings."""
    bare = outline.diff
    edits = _edits(outline.edits, breathe)
    old: list[str] = []
    new: list[str] = []
    if outline.has_lines:
        for lines in split_in_pieces(before, bare.old_encoding, breathe):
            old += lines
        new = _new_lines(old, edits, outline, after, breathe)
    landmarks = _landmarks(outline, edits, breathe)
    old_lines, new_lines = tuple_of_lines(old), tuple_of_lines(new)
    return replace(bare, old_lines=old_lines, new_lines=new_lines, edits=tuple(edits), landmarks=landmarks)


def split_in_pieces(content: bytes, encoding: str, breathe: Breathe) -> Iterator[list[str]]:
    """Yield the lines of a text, some at a time. Bytes that are not UTF-8 become lone surrogates."""
    decoder = codecs.getincrementaldecoder(encoding)(errors_of(encoding))
    view = memoryview(content)
    unfinished: list[str] = []
    for at in range(0, len(view), PIECE_BYTES):
        text = decoder.decode(view[at : at + PIECE_BYTES])
        end = text.rfind("\n") + 1
        if end:
            lines = list(io.StringIO(text[:end], newline="\n"))
            lines[0] = "".join((*unfinished, lines[0]))
            unfinished = []
            yield lines
        if end < len(text):
            unfinished.append(text[end:])
        breathe()
    if rest := "".join((*unfinished, decoder.decode(b"", True))):
        yield [rest]


def _line_sizes(diff: FileDiff, after: bytes) -> Iterator[int]:
    if diff.new_encoding == "utf-8":
        return map(len, io.BytesIO(after))
    return (len(encode_lines((line,), diff.new_encoding)) for line in diff.new_lines)


def _numbered(edits: Sequence[Edit], hunks: Iterable[ReviewHunk]) -> Iterator[tuple[int, ...]]:
    number = {edit: at for at, edit in enumerate(edits)}
    for _, hunk in hunks:
        yield len(hunk.edits), number[hunk.edits[0]], number[hunk.edits[-1]] + 1, *hunk[1:]


def _packed(groups: Iterable[tuple[int, ...]]) -> bytes:
    return array("Q", chain.from_iterable(groups)).tobytes()


def _edits(packed: bytes, breathe: Breathe) -> list[Edit]:
    numbers = array("Q", packed)
    edits: list[Edit] = []
    for at in range(0, len(numbers), 4):
        old_start, old_end, new_start, new_end = numbers[at : at + 4]
        edits.append(Edit(old_start=old_start, old_end=old_end, new_start=new_start, new_end=new_end))
        if len(edits) % _PIECE_EDITS == 0:
            breathe()
    return edits


def _landmarks(outline: Outline, edits: Sequence[Edit], breathe: Breathe) -> Landmarks:
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
            breathe()
    moved = array("Q", outline.moved)
    return Landmarks(
        hunks=tuple(hunks),
        converted=tuple(edits[number] for number in converted),
        moved=tuple(MovedBlock(*moved[at : at + 3]) for at in range(0, len(moved), 3)),
        surplus=Surplus(*(array("Q", packed) for packed in outline.surplus)),
    )


def _new_lines(
    old: Sequence[str], edits: Sequence[Edit], outline: Outline, after: bytes, breathe: Breathe
) -> list[str]:
    encoding = outline.diff.new_encoding
    places = array("Q", outline.places)
    shared: list[str] = []
    old_at = 0
    for number, edit in enumerate(edits):
        shared += old[old_at : edit.old_start]
        changed = after[places[2 * number] : places[2 * number + 1]]
        if len(changed) <= PIECE_BYTES:
            shared += split_lines(decoded(changed, encoding))
        else:
            for lines in split_in_pieces(changed, encoding, breathe):
                shared += lines
        old_at = edit.old_end
        if number % _PIECE_EDITS == 0:
            breathe()
    shared += old[old_at:]
    return shared
