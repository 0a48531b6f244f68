"""A Messages API on loopback, over real sockets: scripted answers in order, every request recorded and checked.

In a test:

    async with AnthropicServer(reply(text("Hello."))) as server:
        provider = AnthropicProvider(api_key="…", base_url=server.url)

From a test without a loop: `threaded.serve`. As a process of its own, for people
and for tests that kill: `python -m tests.servers.anthropic_server --script answers.json`, which prints its port, and
then a line of JSON for every request, body and all, and for every stall.
"""

import argparse
import asyncio
import json
import sys
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self, cast

from desktop_agent.core.protocol.model import JsonObject
from tests.servers import fault
from tests.servers.http1 import HttpRequest, Responder, read_request
from tests.servers.script import Answer, Refusal, Reply, Stage, answers_from_json, reply, text

MODELS: tuple[JsonObject, ...] = (
    {
        "type": "model",
        "id": "claude-test-large",
        "display_name": "Claude Test Large",
        "created_at": "2026-10-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
    },
    {
        "type": "model",
        "id": "claude-test-old",
        "display_name": "Claude Test Old",
        "created_at": "2024-01-01T00:00:00Z",
        "lifecycle": "retired",
    },
)

_LARGEST_HEAD = 1 << 16


@dataclass(eq=False)
class Exchange:
    """One request, and what became of it."""

    method: str
    path: str
    headers: dict[str, str]
    body: object
    violations: list[str]
    """What the API would not accept, or our own rules forbid."""
    has_stalled: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: Literal["pending", "answered", "cut", "abandoned"] = "pending"
    """`abandoned`: the client closed the connection before the answer was complete."""

    @property
    def fields(self) -> JsonObject:
        """The body of a request that sent an object."""
        assert isinstance(self.body, dict)
        return cast("JsonObject", self.body)


class AnthropicServer:
    """The server, from entering the context to leaving it. Leaving closes every connection."""

    def __init__(
        self,
        *answers: Answer,
        key: str | None = None,
        models: Iterable[JsonObject] = MODELS,
        port: int = 0,
        is_checking: bool = True,
        on_event: Callable[[JsonObject], None] = lambda _: None,
    ) -> None:
        self.exchanges: list[Exchange] = []
        """Every request, in the order they came."""
        self.connections_made = 0
        self._answers = deque(answers)
        self._key = key
        self._models = list(models)
        self._is_checking = is_checking
        self._on_event = on_event
        self._changed = asyncio.Condition()
        self._released = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._served = 0
        self._port = port

    # -- what a test asks --

    @property
    def url(self) -> str:
        """The base address to give to a client."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def messages(self) -> list[Exchange]:
        """The requests for an answer of the model."""
        return [exchange for exchange in self.exchanges if exchange.path == "/v1/messages"]

    @property
    def violations(self) -> list[str]:
        """Everything that was wrong with any request."""
        return [violation for exchange in self.exchanges for violation in exchange.violations]

    @property
    def unused_answers(self) -> int:
        """How many scripted answers no request has asked for yet."""
        return len(self._answers)

    def will(self, *answers: Answer) -> None:
        """Add answers to the end of the script."""
        self._answers.extend(answers)

    def release(self) -> None:
        """Let every stalled answer go on, and later ones not stall at all."""
        self._released.set()

    async def request(self, number: int) -> Exchange:
        """Wait for the request number `number` (from 1) for an answer of the model, and return it."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.messages) >= number)
        return self.messages[number - 1]

    # -- life --

    async def __aenter__(self) -> Self:
        if self._is_checking:
            await asyncio.to_thread(_load_checker)
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

    # -- connections --

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        self.connections_made += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer, gone))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

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
        violations = self._violations(path, body)
        exchange = Exchange(request.method, path, request.headers, body, violations)
        self.exchanges.append(exchange)
        self._on_event(
            {
                "request": len(self.exchanges),
                "method": request.method,
                "path": path,
                "body": body,
                "violations": violations,
            }
        )
        return exchange

    def _violations(self, path: str, body: object) -> list[str]:
        if not self._is_checking or path not in ("/v1/messages", "/v1/messages/count_tokens"):
            return []
        from tests.servers.wire import check_count_request, check_request

        return check_request(body) if path == "/v1/messages" else check_count_request(body)

    # -- answers --

    async def _answer(self, exchange: Exchange, responder: Responder) -> None:
        async with self._changed:
            self._changed.notify_all()
        match self._refusal(exchange) or self._planned(exchange):
            case Refusal(status, body, headers):
                await responder.whole(status, body, {"request-id": self._request_id(exchange)} | headers)
                exchange.outcome = "answered"
            case Reply() as planned:
                self._served += 1
                model = str(exchange.fields.get("model"))
                head = {"content-type": "text/event-stream; charset=utf-8", "request-id": self._request_id(exchange)}
                await responder.begin(head)
                for stage in planned.stages(self._served, model):
                    await self._play(stage, planned.pace_s, exchange, responder)

    def _refusal(self, exchange: Exchange) -> Refusal | None:
        """What the API says before it looks at its script."""
        given = exchange.headers.get("authorization", "").removeprefix("Bearer ") or exchange.headers.get("x-api-key")
        if not given or (self._key is not None and given != self._key):
            return fault.unauthorized()
        if "anthropic-version" not in exchange.headers:
            return fault.status(400, "invalid_request_error", "anthropic-version: header is required")
        if exchange.violations:
            return fault.status(400, "invalid_request_error", exchange.violations[0])
        return None

    def _planned(self, exchange: Exchange) -> Answer:
        match exchange.method, exchange.path:
            case "POST", "/v1/messages" if self._answers:
                return self._answers.popleft()
            case "POST", "/v1/messages":
                return fault.status(400, "invalid_request_error", "the script has no answer left")
            case "POST", "/v1/messages/count_tokens":
                return Refusal(200, {"input_tokens": len(json.dumps(exchange.body)) // 4})
            case "GET", "/v1/models":
                return Refusal(200, {"data": self._models, "has_more": False, "first_id": None, "last_id": None})
            case _:
                return fault.status(404, "not_found_error", exchange.path)

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
                self._on_event({"stalled": len(self.exchanges)})
                await self._released.wait()
            case "reset":
                exchange.outcome = "cut"
                responder.reset()
            case "close":
                exchange.outcome = "cut"
                responder.writer.close()

    def _request_id(self, exchange: Exchange) -> str:
        return f"req_{self.exchanges.index(exchange) + 1:04}"


class _Connection(asyncio.StreamReaderProtocol):
    """A connection that notices when its client has left, also while nothing is being read."""

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


def _load_checker() -> None:
    """Import the SDK's types in advance: a second that must not fall into the middle of a test."""
    from tests.servers import wire

    wire.check_request({})


# --- as a process -------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> None:
    """Serve a script until the process is ended."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.anthropic_server",
        description="A Messages API on loopback that answers from a script.",
        epilog='example of a script: [{"text": "Hello."}, {"status": 529, "error_type": "overloaded_error"}]',
    )
    parser.add_argument("--script", type=Path, help="a JSON list of answers (default: one greeting)")
    parser.add_argument("--port", type=int, default=0, help="0 chooses a free one")
    parser.add_argument("--no-check", action="store_true", help="do not check requests against the SDK's types")
    options = parser.parse_args(arguments)
    script = answers_from_json(json.loads(options.script.read_text())) if options.script else [reply(text("Hello."))]
    server = AnthropicServer(*script, port=options.port, is_checking=not options.no_check, on_event=_tell)
    with suppress(KeyboardInterrupt), asyncio.Runner() as runner:
        runner.run(_serve_for_ever(server))


async def _serve_for_ever(server: AnthropicServer) -> None:
    async with server:
        _say(str(server.port))
        await asyncio.Event().wait()


def _tell(event: JsonObject) -> None:
    _say(json.dumps(event))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
