"""Three-way merge of lines: what two sides made of one base, and where they cannot both be had.

The matching is that of `diff.find_edits`. As in git, edits of the two sides that overlap or touch clash unless they say
the same; everything else is taken from whichever side made it, byte for byte.
"""

import io
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.text import read_text
from desktop_agent.core.protocol.model import Edit

Lines = tuple[bytes, ...]


class Clashing(NamedTuple):
    """Lines that both sides changed, differently."""

    base: Lines
    ours: Lines
    theirs: Lines


class Merge(Struct, frozen=True):
    """A merged text in pieces, in order: clean bytes, and places where the sides clash."""

    pieces: tuple[bytes | Clashing, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing clashes."""
        return not any(isinstance(piece, Clashing) for piece in self.pieces)

    def content(self) -> bytes:
        """The merged text. Raises `ValueError` when something clashes."""
        if not self.is_clean:
            raise ValueError("the two sides clash")
        return b"".join(piece for piece in self.pieces if not isinstance(piece, Clashing))


def merge_bytes(base: bytes, ours: bytes, theirs: bytes) -> Merge | None:
    """Merge two descendants of `base`; None when one of the three is no text, or they are encoded differently."""
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
    """A region of base lines, and the lines that stand for it on both sides; half open."""

    base: slice
    ours: slice
    theirs: slice


def chunks(ours: Sequence[Edit], theirs: Sequence[Edit]) -> Iterator[Chunk]:
    """Yield where at least one side changed the base, edits that overlap or touch being one chunk.

    The edits lead from the base (their old side) to ours and to theirs; they may be a part of all there are, without
    gaps.
    """
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
    base_lines, our_lines, their_lines = (_lines(content) for content in (base, ours, theirs))
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


def _lines(content: bytes) -> Lines:
    return tuple(io.BytesIO(content))


def _recoded(piece: bytes | Clashing, encoding: str) -> bytes | Clashing:
    if isinstance(piece, bytes):
        return piece.decode().encode(encoding)
    return Clashing(*(tuple(line.decode().encode(encoding) for line in side) for side in piece))
