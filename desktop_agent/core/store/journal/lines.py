"""Reads the lines of a journal file exactly, quickly and with bounded memory, even from a hostile file."""

import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

import msgspec
from msgspec import Struct

from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.codec import MalformedLineError, is_deeper_than, parts_of, refuse_constant
from desktop_agent.core.protocol.model import JsonObject

MAX_LINE_BYTES = 64 * 2**20

MAX_DEPTH = 300

_BLOCK_BYTES = 2**20


class Line(Struct, frozen=True):
    number: int
    offset: int
    size: int
    content: bytes | None
    """`None` if the line is too long to be read."""
    is_ended: bool
    """False if the line is still being written, or its process ended while writing it."""


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file. Raises `OSError`, also for a link, a pipe or a folder: these redirect or block."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is not a regular file")
    return file


def read_lines(file: BinaryIO, *, number: int = 1, limit: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Yield the lines from the current position of `file` on. A line without a newline is the last."""
    offset = file.tell()
    while content := file.readline(limit + 1):
        is_ended = content.endswith(b"\n")
        size = len(content)
        kept: bytes | None = content[:-1] if is_ended else content
        if not is_ended and size > limit:
            kept = None
            del content  # frees the memory while the rest is skipped
            while not is_ended and (more := file.readline(_BLOCK_BYTES)):
                size += len(more)
                is_ended = more.endswith(b"\n")
        yield Line(number, offset, size, kept, is_ended)
        if not is_ended:
            return
        offset += size
        number += 1


def decode_line(line: Line) -> JsonObject:
    """Parse the JSON object in a line. Raises `MalformedLineError`."""
    if line.content is None:
        raise MalformedLineError(f"too long: {line.size} bytes, of which {MAX_LINE_BYTES} are read")
    return decode(line.content)


def decode(content: bytes) -> JsonObject:
    try:
        fields: object = msgspec.json.decode(content)
    except (ValueError, RecursionError):
        fields = _decoded_slowly(content)
    else:
        if content.count(b"{") + content.count(b"[") > MAX_DEPTH and is_deeper_than(fields, MAX_DEPTH - 1):
            raise MalformedLineError("nested too deeply")
    if not isinstance(fields, dict):
        raise MalformedLineError("not a JSON object")
    return cast("JsonObject", fields)


def _decoded_slowly(content: bytes) -> object:
    if content and not content.strip(b"\0"):
        raise MalformedLineError("only null bytes: the disk lost what was written here")
    try:
        # An editor may have put a byte order mark in front. Not `json.loads(bytes)`: it guesses the encoding.
        value: object = json.loads(content.decode("utf-8-sig"), parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        raise MalformedLineError(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise MalformedLineError("nested too deeply") from error
    except ValueError as error:
        raise MalformedLineError(f"not JSON: {error}") from error
    if is_deeper_than(value, MAX_DEPTH - 1):
        raise MalformedLineError("nested too deeply")
    if _has_infinity(value):
        raise MalformedLineError("a number is too large")
    return value


def _has_infinity(value: object) -> bool:
    """Whether a number was too large for a float when it was parsed (`1e400`). No program could send it again."""
    for part in parts_of(value):
        if isinstance(part, float):
            if math.isinf(part):
                return True
        # No call for texts and integers, which most values are: it would take longer than decoding.
        elif isinstance(part, dict | list) and _has_infinity(cast("object", part)):
            return True
    return False


NEAR_BYTES: Final = 2**16
"""How many bytes may be read needlessly, because searching more exactly would take no less time."""

_HEAD: Final = regex(rb'\{"v":\d+,"seq":(\d{1,18}),')
_HEAD_BYTES: Final = 64


def offset_after(path: Path, seq: int, *, near_bytes: int = NEAR_BYTES) -> int:
    """The offset of a line shortly before the first record whose `seq` is above `seq`. Blocks. Raises `OSError`."""
    with open_regular(path) as file:
        low, high = 0, file.seek(0, 2)  # lines before `low` are at most `seq`; lines from `high` on are above
        while high - low > near_bytes:
            middle = (low + high) // 2
            file.seek(middle)
            file.readline(MAX_LINE_BYTES)
            start = file.tell()
            if start >= high:
                high = middle
                continue
            head = _HEAD.match(file.read(_HEAD_BYTES))
            if head is None:
                break
            if int(head[1]) <= seq:
                low = start
            else:
                high = middle
        return low
