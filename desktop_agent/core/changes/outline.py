"""A diff without its lines, small enough to be sent between processes, and how the lines are put back.

Whoever has the two contents needs no line from another process: unpickling 100,000 strings would hold the interpreter
lock for longer than splitting the text again. `assemble` works in pieces of about a millisecond, so that a thread that
runs it never keeps the window's waiting.
"""

import codecs
import io
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from desktop_agent.core.changes.diff import Match, compare, find_edits
from desktop_agent.core.changes.text import Text, decoded, encode_lines, errors_of, split_lines
from desktop_agent.core.model import Edit, FileChange, FileDiff

PIECE_BYTES = 64 * 1024
"""What is decoded and split at once: half a millisecond even where every line is a single character."""
_PIECE_EDITS = 1_000

Breathe = Callable[[], None]
"""Called between two pieces: lets other threads run."""


class Outline(NamedTuple):
    """A diff without lines and edits; its edits, four numbers each; where the new lines of each are in the file.

    `places` has a start and an end for each edit, in bytes of the new content. A binary file has no lines.
    """

    diff: FileDiff
    has_lines: bool
    edits: bytes
    places: bytes


def outline_of(change: FileChange, before: bytes | None, after: bytes | None, *, match: Match = find_edits) -> Outline:
    """Return what `assemble` makes the difference from that `diff_change` returns, or one with the edits of `match`."""
    diff, _, text = compare(change, before, after, match=match)
    edits = array("Q")
    places = array("Q")
    if text and diff.edits:
        starts = list(accumulate(_line_sizes(text, after or b""), initial=0))
        for edit in diff.edits:
            edits.extend((edit.old_start, edit.old_end, edit.new_start, edit.new_end))
            places.extend((starts[edit.new_start], starts[edit.new_end]))
    return Outline(replace(diff, edits=()), text is not None, edits.tobytes(), places.tobytes())


def assemble(outline: Outline, before: bytes, after: bytes, breathe: Breathe) -> FileDiff:
    """Return the diff with its lines. Unchanged lines of both sides are the same strings."""
    bare = outline.diff
    if not outline.has_lines:
        return bare
    edits = _unpacked(outline.edits, breathe)
    old = [line for piece in split_in_pieces(before, bare.old_encoding, breathe) for line in piece]
    new = _new_lines(old, edits, outline, after, breathe)
    return replace(bare, old_lines=tuple(old), new_lines=tuple(new), edits=tuple(edits))


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


def _line_sizes(text: Text, content: bytes) -> Iterator[int]:
    if text.encoding == "utf-8":
        return map(len, io.BytesIO(content))
    return (len(encode_lines((line,), text.encoding)) for line in text.lines)


def _unpacked(packed: bytes, breathe: Breathe) -> list[Edit]:
    numbers = array("Q", packed)
    edits: list[Edit] = []
    for at in range(0, len(numbers), 4):
        old_start, old_end, new_start, new_end = numbers[at : at + 4]
        edits.append(Edit(old_start=old_start, old_end=old_end, new_start=new_start, new_end=new_end))
        if len(edits) % _PIECE_EDITS == 0:
            breathe()
    return edits


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
            shared += (line for piece in split_in_pieces(changed, encoding, breathe) for line in piece)
        old_at = edit.old_end
        if number % _PIECE_EDITS == 0:
            breathe()
    shared += old[old_at:]
    return shared
