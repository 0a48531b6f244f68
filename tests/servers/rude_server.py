r"""A loopback server that answers with any bytes, and records the requests.

async with RudeServer(b"HTTP/1.1 200 OK\r\n\r\n", chunks_without_end) as server: ...
"""

import asyncio
import ssl
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import Self, cast

from tests.servers.http1 import HttpRequest, read_request

Part = bytes | Callable[[], Iterable[bytes]] | Callable[[], AsyncIterable[bytes]] | None


class RudeServer:
    def __init__(self, *parts: Part, context: ssl.SSLContext | None = None, is_reading: bool = True) -> None:
        """Without `is_reading` it answers at once, without waiting for a request."""
        self.requests: list[HttpRequest] = []
        self.connections = 0
        self.sent_bytes = 0
        self._parts: Sequence[Part] = parts
        self._context = context
        self._is_reading = is_reading
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = 0

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self._port}"

    def answer_with(self, *parts: Part) -> None:
        self._parts = parts

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._context, limit=1 << 20)
        self._port = cast("int", self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._answer(reader, writer)
        except (ConnectionError, ssl.SSLError, ValueError, asyncio.LimitOverrunError):
            pass  # the client has left, or does not speak HTTP
        except asyncio.CancelledError:
            pass  # the server closes; a cancelled task would be reported as failed
        finally:
            self._tasks.discard(task)
            writer.close()

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
