"""Finds where two binary files first differ, and the bytes there. Pure, and quick for files of any size."""

from typing import NamedTuple

SHOWN_BYTES = 256
_BLOCK_BYTES = 1 << 16
_ALIGNED_TO = 16


class HexExcerpt(NamedTuple):
    start: int
    before: bytes
    after: bytes
    difference: int | None = None


def first_difference(before: bytes, after: bytes) -> int | None:
    """The first byte that differs, or that only one file has; None if the files are equal."""
    shorter = min(len(before), len(after))
    # Block by block: comparing two large files in one call would not let another thread run.
    for start in range(0, shorter, _BLOCK_BYTES):
        end = min(start + _BLOCK_BYTES, shorter)
        if before[start:end] != after[start:end]:
            return next(at for at in range(start, end) if before[at] != after[at])
    return shorter if len(before) != len(after) else None


def excerpt(before: bytes | None, after: bytes | None) -> HexExcerpt:
    """The bytes to show of two versions (None: absent), around the first difference or at the start."""
    difference = first_difference(before, after) if before is not None and after is not None else None
    start = (difference or 0) // _ALIGNED_TO * _ALIGNED_TO
    end = start + SHOWN_BYTES
    return HexExcerpt(start, (before or b"")[start:end], (after or b"")[start:end], difference)


def printable(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
