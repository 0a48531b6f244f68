"""Where a text occurs in another, as places in a document. Pure, and made for a thread."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

MAX_PLACES = 20_000
_PIECE_CHARS = 100_000
"""What is searched in one call: the interpreter is not shared while one lasts."""


class TextPlace(NamedTuple):
    """Where it occurs: positions in a document, which count UTF-16 units."""

    start: int
    end: int


def find_places(text: str, wanted: str) -> tuple[TextPlace, ...]:
    """Return where `wanted`, which has one line, occurs in `text`, in any case; the first `MAX_PLACES` of them."""
    if not wanted:
        return ()
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    found: list[tuple[int, int]] = []
    wide: list[int] = []
    """The indices of characters that take two units."""
    plain = wanted.lower() if wanted.isascii() else ""
    for start, end in _pieces(text):
        piece = text[start:end]
        if piece.isascii():
            found += ((start + at, start + at + len(plain)) for at in _indices(piece.lower(), plain))
        else:
            found += (match.span() for match in pattern.finditer(text, start, end))
            wide += (start + index for index, char in enumerate(piece) if char > "\uffff")
        if len(found) >= MAX_PLACES:
            break
    return tuple(
        TextPlace(start + bisect_left(wide, start), end + bisect_left(wide, end)) for start, end in found[:MAX_PLACES]
    )


def _indices(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Cut it up behind ends of lines, so that nothing lies across a cut."""
    at = 0
    while at < len(text):
        end = text.rfind("\n", at, at + _PIECE_CHARS) + 1 or text.find("\n", at) + 1 or len(text)
        yield at, end
        at = end
