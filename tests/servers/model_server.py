"""Models on loopback, over real sockets: scripted answers in order, every request recorded and checked.

In a test:

    async with ModelServer(reply(text("Hello.")), dialect=CHAT) as server:
        provider = …(api_key="…", base_url=server.url)

From a test without a loop: `threaded.serve`.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, Self, cast

from desktop_agent.core.protocol.model import JsonObject
from tests.servers import fault
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.dialect import Ask, Dialect
from tests.servers.http1 import HttpRequest, Responder, read_request
from tests.servers.script import Answer, Refusal, Reply, Told, Whole
from tests.servers.staging import Stage, stages

_LARGEST_HEAD = 1 << 16


@dataclass(eq=False)
class Exchange:
    method: str
    path: str
    headers: dict[str, str]
    body: object
    violations: list[str]
    received: HttpRequest
    has_stalled: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: Literal["pending", "answered", "cut", "abandoned"] = "pending"

    @property
    def fields(self) -> JsonObject:
        assert isinstance(self.body, dict)
        return cast("JsonObject", self.body)


class ModelServer:
    """A server that runs while the context is open.

    Leaving closes all connections, and raises the server's own errors.
    """

    def __init__(
        self,
        *answers: Answer,
        dialect: Dialect = ANTHROPIC,
        key: str | None = None,
        asks_for_key: bool = True,
        models: Iterable[JsonObject] | None = None,
        port: int = 0,
        is_checking: bool = True,
        on_request: Callable[[Exchange], None] = lambda _: None,
    ) -> None:
        """Without a `key` any key is accepted; without `asks_for_key` none is needed, as on a user's own machine."""
        self.exchanges: list[Exchange] = []
        self.connections_made = 0
        self._answers = deque(answers)
        self._dialect = dialect
        self._key = key
        self._asks_for_key = asks_for_key
        self._models = list(dialect.models if models is None else models)
        self._is_checking = is_checking
        self._on_request = on_request
        self._changed = asyncio.Condition()
        self._released = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._crashes: list[Exception] = []
        self._served = 0
        self._port = port

    # -- for tests --

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}{self._dialect.base}"

    @property
    def port(self) -> int:
        return self._port

    @property
    def messages(self) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.path == self._dialect.answers_at]

    @property
    def violations(self) -> list[str]:
        return [violation for exchange in self.exchanges for violation in exchange.violations]

    @property
    def unused_answers(self) -> int:
        return len(self._answers)

    def will(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    def release(self) -> None:
        self._released.set()

    def accept_any_key(self) -> None:
        self._key = None

    def forget(self) -> None:
        """Begin again for the next test, with the same connections."""
        self.exchanges.clear()
        self._answers.clear()
        self._served = 0

    async def request(self, number: int) -> Exchange:
        """Wait for the model request with this number (from 1), and return it."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.messages) >= number)
        return self.messages[number - 1]

    # -- start and stop --

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self._accept), "127.0.0.1", self._port)
        self._port = cast("int", self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        if self._crashes:
            raise ExceptionGroup("the model server failed", self._crashes)

    # -- connections --

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        self.connections_made += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer, gone))
        self._connections.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._crashes.append(error)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        responder = Responder(writer)
        try:
            with suppress(ConnectionError):
                while (request := await read_request(reader)) is not None:
                    await self._respond(request, responder, gone)
        finally:
            writer.close()

    async def _respond(self, request: HttpRequest, responder: Responder, gone: asyncio.Event) -> None:
        exchange = self._recorded(request)
        answering = asyncio.create_task(self._answer(exchange, responder))
        leaving = asyncio.create_task(gone.wait())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() or isinstance(answering.exception(), ConnectionError):
                exchange.outcome = "abandoned"
                raise ConnectionResetError
            answering.result()
        finally:
            exchange.is_over.set()
            for task in (answering, leaving):
                task.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)

    def _recorded(self, request: HttpRequest) -> Exchange:
        path = request.path.partition("?")[0]
        try:
            body: object = json.loads(request.body) if request.body else None
        except ValueError:
            body = request.body.decode("latin-1")
        violations = self._dialect.violations(path, body) if self._is_checking else []
        exchange = Exchange(request.method, path, request.headers, body, violations, request)
        self.exchanges.append(exchange)
        self._on_request(exchange)
        return exchange

    # -- answers --

    async def _answer(self, exchange: Exchange, responder: Responder) -> None:
        async with self._changed:
            self._changed.notify_all()
        answer = self._refusal(exchange) or self._planned(exchange)
        match self._dialect.spelled(answer) if isinstance(answer, Refusal) else answer:
            case Whole(status, body, headers):
                await responder.whole(status, body, self._request_id(exchange) | headers)
                exchange.outcome = "answered"
            case Reply() as planned:
                self._served += 1
                await responder.begin({"content-type": self._dialect.content_type} | self._request_id(exchange))
                for stage in stages(planned, self._dialect, Ask(self._served, exchange.fields)):
                    await self._play(stage, planned.pace_s, exchange, responder)

    def _refusal(self, exchange: Exchange) -> Refusal | None:
        given = self._dialect.key(exchange.headers)
        if self._asks_for_key and (not given or (self._key is not None and given != self._key)):
            return fault.unauthorized()
        if objection := self._dialect.objection(exchange.received):
            return objection
        if exchange.violations:
            return fault.status(400, "invalid_request_error", exchange.violations[0])
        return None

    def _planned(self, exchange: Exchange) -> Reply | Refusal | Whole:
        if (exchange.method, exchange.path) != ("POST", self._dialect.answers_at):
            return self._dialect.besides(exchange.method, exchange.path, exchange.body, self._models)
        for planned in self._answers:
            if not isinstance(planned, Told) or planned.words in _first_message(exchange.fields):
                self._answers.remove(planned)
                return planned.answer if isinstance(planned, Told) else planned
        return fault.status(400, "invalid_request_error", "the script has no answer left")

    async def _play(self, stage: Stage, pace_s: float, exchange: Exchange, responder: Responder) -> None:
        for chunk in stage.chunks:
            await responder.chunk(chunk)
            await asyncio.sleep(pace_s)  # with 0, lets the client read this chunk by itself
        match stage.then:
            case "end":
                await responder.end()
                exchange.outcome = "answered"
            case "stall":
                exchange.has_stalled.set()
                await self._released.wait()
            case "reset":
                exchange.outcome = "cut"
                responder.reset()
            case "close":
                exchange.outcome = "cut"
                responder.writer.close()

    def _request_id(self, exchange: Exchange) -> dict[str, str]:
        return {self._dialect.request_id_header: f"req_{self.exchanges.index(exchange) + 1:04}"}


class _Connection(asyncio.StreamReaderProtocol):
    """A connection that notices when its client has left, even while nobody reads."""

    def __init__(self, accept: Callable[[asyncio.StreamReader, asyncio.StreamWriter, asyncio.Event], None]) -> None:
        self._gone = asyncio.Event()
        reader = asyncio.StreamReader(limit=_LARGEST_HEAD)
        super().__init__(reader, lambda reader, writer: accept(reader, writer, self._gone))

    def eof_received(self) -> bool | None:
        self._gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()
        super().connection_lost(exc)
        # Nobody awaits the close. In a garbage cycle the future may be collected first, and be reported as lost.
        closed = cast("asyncio.Future[None]", vars(self)["_closed"])
        if closed.done() and not closed.cancelled():
            closed.exception()


def _first_message(fields: JsonObject) -> str:
    messages = fields.get("messages", fields.get("input"))
    return json.dumps(cast("list[object]", messages)[0], ensure_ascii=False) if isinstance(messages, list) else ""
