"""Gzip, as blobs are kept: one member a file, which any `zcat` reads, never unpacked further than it may grow.

The file ends with the length of its content (RFC 1952), so that a blob is measured without being unpacked.
"""

import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO

BLOCK_BYTES = 2**20

_GZIP = 31  # zlib's sign for its largest window, wrapped as gzip
_LENGTH_BYTES = 4
_MOST_BYTES = 2 ** (8 * _LENGTH_BYTES) - 1
_LARGE_BYTES = 2**20
_MOST_EXPANSION = 1032  # deflate's own limit: 258 bytes from two bits


class DamagedError(Exception):
    """The file is not what was written. The text says how."""


class Packer:
    """Packs content that comes in pieces. Large content is packed faster and a little less tightly."""

    def __init__(self, size: int) -> None:
        """`size` is about how much will come."""
        level = 1 if size > _LARGE_BYTES else 6
        self._deflater = zlib.compressobj(level, zlib.DEFLATED, _GZIP)

    def pack(self, content: bytes) -> bytes:
        """Take `content`; return what can be written already."""
        return self._deflater.compress(content)

    def finish(self) -> bytes:
        """Return the rest."""
        return self._deflater.flush()


def is_packable(size: int) -> bool:
    """Whether content of this size may be packed: the length at the end must be able to tell it."""
    return 0 < size <= _MOST_BYTES


def packed(content: bytes) -> bytes | None:
    """Return `content` packed, or None when that would not make it smaller."""
    if not is_packable(len(content)):
        return None
    packer = Packer(len(content))
    result = packer.pack(content) + packer.finish()
    return result if len(result) < len(content) else None


def stated_length(file: BinaryIO) -> int:
    """Return how long the content is, as the file says, and go back to its beginning.

    Raises `DamagedError` when no gzip file of this size can have so much in it.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LENGTH_BYTES))
    length = int.from_bytes(file.read(), "little")
    if length > size * _MOST_EXPANSION:
        raise DamagedError(f"{size} bytes cannot hold {length}")
    file.seek(0)
    return length


def unpacked(file: BinaryIO, most_bytes: int) -> Iterator[bytes]:
    """Yield the content in blocks of at most 1 MiB.

    Raises `DamagedError` when the file is cut off, broken or goes on after its end, and as soon as more than
    `most_bytes` come out of it.
    """
    inflater = zlib.decompressobj(_GZIP)
    total = 0
    while data := file.read(BLOCK_BYTES):
        if inflater.eof:
            break
        while True:
            try:
                block = inflater.decompress(data, BLOCK_BYTES)
            except zlib.error as error:
                raise DamagedError(str(error)) from error
            data = inflater.unconsumed_tail
            total += len(block)
            if total > most_bytes:
                raise DamagedError(f"more than {most_bytes} bytes came out")
            if block:
                yield block
            if inflater.eof or (not data and len(block) < BLOCK_BYTES):
                break
    if not inflater.eof:
        raise DamagedError("cut off")
    if data or inflater.unused_data:
        raise DamagedError("it goes on after its end")
