"""The lines that another program sends while it runs, and the ops in them: each line is a JSON object."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.ops import MalformedOpError, decode_op

LONGEST_LINE_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_MOST_CHUNKS = 64
"""How many may wait to be taken. Then the other program waits."""


async def lines_of(descriptor: int) -> AsyncGenerator[bytes | None]:
    """Yield the lines without their ends, until the input ends. A line that is too long is yielded as `None`."""
    line, is_too_long = bytearray(), False
    async for chunk in _chunks_of(descriptor):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line += part
            yield None if is_too_long or len(line) > LONGEST_LINE_BYTES else bytes(line)
            line, is_too_long = bytearray(), False
        line += rest
        if len(line) > LONGEST_LINE_BYTES:
            line, is_too_long = bytearray(), True
    if line or is_too_long:
        yield None if is_too_long else bytes(line)


async def _chunks_of(descriptor: int) -> AsyncGenerator[bytes]:
    """Yield the input as it arrives. A daemon thread reads it, because nothing can interrupt a blocked read."""
    loop, chunks, room = asyncio.get_running_loop(), asyncio.Queue[bytes](), threading.Semaphore(_MOST_CHUNKS)
    is_left = False

    def read() -> None:
        with suppress(RuntimeError):  # the loop was closed under it
            while not is_left and (chunk := _read(descriptor)):
                room.acquire()
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            loop.call_soon_threadsafe(chunks.put_nowait, b"")

    threading.Thread(target=read, name="input lines", daemon=True).start()
    try:
        while chunk := await chunks.get():
            room.release()
            yield chunk
    finally:
        is_left = True
        room.release()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError:  # treated as the end of the input
        return b""


async def ops_of(descriptor: int, reject: Callable[[int, str], None]) -> AsyncGenerator[ops.Op]:
    """Yield ops until the input ends. `reject` is called with the number of each invalid line and the reason."""
    number = 0
    async for line in lines_of(descriptor):
        number += 1
        if line is None:
            reject(number, f"the line is longer than {LONGEST_LINE_BYTES} bytes")
        elif line.strip():
            try:
                yield decode_op(json.loads(line))
            except (MalformedOpError, RecursionError) as error:
                reject(number, str(error))
            except ValueError as error:
                reject(number, f"the line is no JSON ({error})")
