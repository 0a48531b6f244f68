"""The lines of a big text, split where a caller looks at them.

A million strings cost more than a frame each time that something is done with all of them at once: to put them into
a tuple, to copy that, to free them. Python holds its lock meanwhile, so no other thread helps. No user reads a million
lines, so these are the bytes of the file and where each piece of it starts.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import eq
from typing import Final, NamedTuple, cast, overload

from desktop_agent.core.diff.text import decoded, split_lines

PIECE_LINES: Final = 1_000
PIECE_BYTES: Final = 64 * 1024
"""What is split at once: a fraction of a millisecond. A line that is longer is a piece of its own."""
_MAX_KEPT: Final = 32
"""Pieces of a side: more than a page shows, also of long lines."""


class Pieces(NamedTuple):
    """Where the pieces of a text start, and where the last one ends: in lines and in bytes, packed."""

    lines: bytes
    bytes: bytes


def pieces_of(line_sizes: Iterable[int]) -> Pieces:
    """Cut a text whose lines have so many bytes each. Takes time in proportion to them: for another process."""
    ends = list(accumulate(line_sizes, initial=0))
    lines, at = array("Q", (0,)), 0
    while at < len(ends) - 1:
        fitting = bisect_right(ends, ends[at] + PIECE_BYTES, at, min(at + PIECE_LINES + 1, len(ends))) - 1
        at = max(at + 1, fitting)
        lines.append(at)
    return Pieces(lines.tobytes(), array("Q", map(ends.__getitem__, lines)).tobytes())


class LinesOnDemand(Sequence[str]):
    """Equal to the tuple of the lines of `content`, which `encoding` and the `pieces` must fit. Any thread may ask."""

    __slots__ = ("_content", "_encoding", "_firsts", "_kept", "_last", "_starts")

    def __init__(self, content: bytes, encoding: str, pieces: Pieces) -> None:
        self._content = content
        self._encoding = encoding
        self._firsts = array("Q", pieces.lines)
        self._starts = array("Q", pieces.bytes)
        self._kept: dict[int, tuple[str, ...]] = {}
        self._last: tuple[int, tuple[str, ...]] = 0, ()
        """The piece that was looked at last, and its first line: painting asks for neighbours."""

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
        # What is in one or two pieces is looked at again soon; more would push everything else out.
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
