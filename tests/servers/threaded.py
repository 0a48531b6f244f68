"""The model server for a test that has no event loop: `with serve(reply(text("Hello."))) as server:`."""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.dialect import Dialect
from tests.servers.model_server import Exchange, ModelServer
from tests.servers.script import Answer

S = TypeVar("S")


class ThreadedServer:
    """A server in a thread of its own, with the same methods. Any thread may read its attributes."""

    def __init__(self, server: ModelServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def exchanges(self) -> list[Exchange]:
        return self._server.exchanges

    @property
    def messages(self) -> list[Exchange]:
        return self._server.messages

    @property
    def violations(self) -> list[str]:
        return self._server.violations

    def will(self, *answers: Answer) -> None:
        self._loop.call_soon_threadsafe(self._server.will, *answers)

    def wait_for_stall(self, number: int = 1) -> None:
        """Wait until the answer to model request `number` (from 1) has stalled."""

        async def stalled() -> None:
            await (await self._server.request(number)).has_stalled.wait()

        asyncio.run_coroutine_threadsafe(stalled(), self._loop).result()

    def release(self) -> None:
        self._loop.call_soon_threadsafe(self._server.release)


@contextmanager
def serve(
    *answers: Answer, dialect: Dialect = ANTHROPIC, key: str | None = None, asks_for_key: bool = True, port: int = 0
) -> Generator[ThreadedServer]:
    server = ModelServer(*answers, dialect=dialect, key=key, asks_for_key=asks_for_key, port=port)
    with in_thread(server) as (_, loop):
        yield ThreadedServer(server, loop)


@contextmanager
def in_thread(server: AbstractAsyncContextManager[S]) -> Generator[tuple[S, asyncio.AbstractEventLoop]]:
    started = threading.Event()
    running: list[tuple[S, asyncio.AbstractEventLoop]] = []
    stop: list[Callable[[], object]] = []

    async def main() -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        async with server as entered:
            running.append((entered, loop))
            stop.append(lambda: loop.call_soon_threadsafe(stopped.set))
            started.set()
            await stopped.wait()

    def run() -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(main())
        finally:
            started.set()

    thread = threading.Thread(target=run, name="test-server")
    thread.start()
    started.wait()
    if not running:
        thread.join()
        raise RuntimeError("the server did not start")
    try:
        yield running[0]
    finally:
        stop[0]()
        thread.join()
