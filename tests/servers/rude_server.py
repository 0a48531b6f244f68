r"""A loopback server that answers with any bytes, and records the requests.

async with RudeServer(b"HTTP/1.1 200 OK\r\n\r\n", chunks_without_end) as server: ...
"""

import asyncio
import ssl
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from contextlib import suppress

from tests.servers.http1 import HttpRequest, LoopbackServer, read_request

Part = bytes | Callable[[], Iterable[bytes]] | Callable[[], AsyncIterable[bytes]] | None


class RudeServer(LoopbackServer):
    def __init__(self, *parts: Part, context: ssl.SSLContext | None = None, is_reading: bool = True) -> None:
        """Without `is_reading` it answers at once, without waiting for a request."""
        super().__init__(tls=context)
        self.requests: list[HttpRequest] = []
        self.connections = 0
        self.sent_bytes = 0
        self._parts: Sequence[Part] = parts
        self._is_reading = is_reading

    def answer_with(self, *parts: Part) -> None:
        self._parts = parts

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ssl.SSLError, ValueError, asyncio.LimitOverrunError):  # the client does not speak HTTP
            await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_reading:
            request = await read_request(reader)
            if request is None:
                return
            self.requests.append(request)
        for part in self._parts:
            if part is None:
                await reader.read()  # until the client leaves
            elif isinstance(part, bytes):
                await self._send(writer, part)
            else:
                made = part()
                if isinstance(made, AsyncIterable):
                    async for piece in made:
                        await self._send(writer, piece)
                else:
                    for piece in made:
                        await self._send(writer, piece)

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        self.sent_bytes += len(data)
        await writer.drain()
