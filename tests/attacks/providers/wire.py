"""The bytes of answers that mean ill, made while they are sent."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterable
from itertools import chain, repeat

from desktop_agent.core.model import JsonObject

BATCH = 64 * 1024


def head(*fields: str, status: str = "200 OK", type: str = "text/event-stream") -> bytes:  # noqa: A002 - HTTP's word
    """The head of an answer that ends with its connection."""
    lines = [f"HTTP/1.1 {status}", f"content-type: {type}", *fields, "connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def event(kind: str, **data: object) -> bytes:
    """One event."""
    return raw_event(json.dumps({"type": kind} | data).encode())


def raw_event(data: bytes) -> bytes:
    """One event with exactly these data."""
    return b"event: x\ndata: %s\n\n" % data


def start(**message: object) -> bytes:
    """The beginning of a message."""
    return event("message_start", message={"id": "m", "usage": {"input_tokens": 1, "output_tokens": 1}} | message)


def block(kind: str, index: int = 0, **fields: object) -> bytes:
    """The beginning of a block."""
    return event("content_block_start", index=index, content_block={"type": kind} | fields)


def delta(kind: str, index: int = 0, **fields: object) -> bytes:
    """A delta of a block."""
    return event("content_block_delta", index=index, delta={"type": kind} | fields)


def stop(index: int = 0) -> bytes:
    """The end of a block."""
    return event("content_block_stop", index=index)


def end(reason: str = "end_turn", **usage: object) -> bytes:
    """The end of a message."""
    return event("message_delta", delta={"stop_reason": reason}, usage=usage) + event("message_stop")


def call(name: str, arguments: str = "{}", index: int = 0, call_id: str = "c1") -> bytes:
    """A whole call."""
    fields: JsonObject = {"id": call_id, "name": name, "input": {}}
    return block("tool_use", index, **fields) + delta("input_json_delta", index, partial_json=arguments) + stop(index)


def endless(piece: bytes) -> Callable[[], Iterable[bytes]]:
    """The same again and again, in batches."""
    batch = piece * max(1, BATCH // len(piece))
    return lambda: repeat(batch)


def each(make: Callable[[int], bytes], count: int) -> Callable[[], Iterable[bytes]]:
    """One piece after another, numbered."""
    return lambda: (b"".join(make(number) for number in range(at, min(at + 200, count))) for at in range(0, count, 200))


def chunked(*parts: bytes) -> bytes:
    """Parts in the chunked coding, without its end."""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def bomb(size: int, coding: str) -> bytes:
    """`size` zeros as an answer's text, packed: a thousandth of it."""
    plain = chain([start() + block("text", text="")], repeat(b"data: " + b"0" * BATCH, size // BATCH))
    if coding == "gzip":
        return gzip.compress(b"".join(plain), 9)
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(part) for part in plain) + packer.flush()
