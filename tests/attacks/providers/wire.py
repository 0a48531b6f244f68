"""The bytes of hostile answers, generated while they are sent."""

import json
import struct
import zlib
from collections.abc import Callable, Iterable
from functools import reduce
from itertools import repeat

from desktop_agent.core.protocol.model import JsonObject

BATCH = 64 * 1024
_GZIP_HEAD = b"\x1f\x8b\x08" + bytes(6) + b"\xff"  # deflate, no name, no date, an unknown system
_ZLIB_HEAD = b"\x78\xda"  # deflate, packed as small as it gets


def head(*fields: str, status: str = "200 OK", type: str = "text/event-stream") -> bytes:  # noqa: A002 - HTTP's word
    lines = [f"HTTP/1.1 {status}", f"content-type: {type}", *fields, "connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def event(kind: str, **data: object) -> bytes:
    return raw_event(json.dumps({"type": kind} | data).encode())


def raw_event(data: bytes) -> bytes:
    return b"event: x\ndata: %s\n\n" % data


def start(**message: object) -> bytes:
    return event("message_start", message={"id": "m", "usage": {"input_tokens": 1, "output_tokens": 1}} | message)


def block(kind: str, index: int = 0, **fields: object) -> bytes:
    return event("content_block_start", index=index, content_block={"type": kind} | fields)


def delta(kind: str, index: int = 0, **fields: object) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind} | fields)


def stop(index: int = 0) -> bytes:
    return event("content_block_stop", index=index)


def end(reason: str = "end_turn", **usage: object) -> bytes:
    return event("message_delta", delta={"stop_reason": reason}, usage=usage) + event("message_stop")


def call(name: str, arguments: str = "{}", index: int = 0, call_id: str = "c1") -> bytes:
    fields: JsonObject = {"id": call_id, "name": name, "input": {}}
    return block("tool_use", index, **fields) + delta("input_json_delta", index, partial_json=arguments) + stop(index)


def endless(piece: bytes) -> Callable[[], Iterable[bytes]]:
    batch = piece * max(1, BATCH // len(piece))
    return lambda: repeat(batch)


def each(make: Callable[[int], bytes], count: int) -> Callable[[], Iterable[bytes]]:
    return lambda: (b"".join(make(number) for number in range(at, min(at + 200, count))) for at in range(0, count, 200))


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def bomb(size: int, coding: str) -> bytes:
    """An answer of `size` zeros, compressed to a thousandth of that."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    first, line = start() + block("text", text=""), b"data: " + b"0" * BATCH
    count = size // BATCH
    packed = packer.compress(first) + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush nothing refers to earlier data: the line is compressed once and repeated.
    packed += (packer.compress(line) + packer.flush(zlib.Z_FULL_FLUSH)) * count + packer.flush()
    checksum = zlib.crc32 if coding == "gzip" else zlib.adler32
    value = reduce(lambda so_far, part: checksum(part, so_far), repeat(line, count), checksum(first))
    if coding == "gzip":
        return _GZIP_HEAD + packed + struct.pack("<II", value, (len(first) + len(line) * count) % 2**32)
    return _ZLIB_HEAD + packed + struct.pack(">I", value)
