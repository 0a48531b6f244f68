"""A server of the official SDK over streamable HTTP on loopback that can misbehave."""

import asyncio
import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self, cast

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Fault(NamedTuple):
    status: int
    body: bytes = b""
    kind: str = "text/html"
    challenge: str = ""


DROPPED = Fault(200, b'{"jsonrpc"', "application/json")
"""The connection ends in the middle of an answer."""


def offering_tools(**settings: Any) -> MCPServer:
    server = MCPServer("reached", version="2", **settings)

    @server.tool()
    def echo(text: str) -> str:
        """Say it again."""
        return text

    @server.tool()
    async def steps(context: Context[Any, Any]) -> str:
        """Report progress."""
        for step in range(3):
            await context.report_progress(step + 1, 3, "on")
        return "done"

    @server.tool()
    def large(size: int) -> str:
        """Return a long text."""
        return "x" * size

    _ = echo, steps, large
    return server


class McpHttpServer:
    """A server that runs while the context is open. It keeps its port after `restart`."""

    def __init__(
        self, server: MCPServer | None = None, *, port: int = 0, is_old: bool = False, answers_json: bool = False
    ) -> None:
        """`is_old` knows only protocols with a handshake, and has sessions for them."""
        self._offered = server or offering_tools()
        self._is_old = is_old
        self._answers_json = answers_json
        self.port = port
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        """The HTTP method, the protocol's method, and the headers of each request."""
        self.faults: dict[str, list[Fault]] = {}
        """The next answers by the protocol's method."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        app = self._offered.streamable_http_app(json_response=self._answers_json)
        config = uvicorn.Config(
            self._around(app),
            port=self.port,
            log_config=None,
            log_level=logging.CRITICAL + 1,
            ws="none",
            timeout_graceful_shutdown=0,
        )
        self._server = _Uvicorn(config)
        self._task = asyncio.create_task(self._server.serve(), name="mcp http server")
        while not self._server.started:
            assert not self._task.done(), self._task.exception()
            await asyncio.sleep(0.01)
        self.port = cast("int", self._server.servers[0].sockets[0].getsockname()[1])

    async def stop(self) -> None:
        self._server.should_exit = True
        await self._task

    async def restart(self) -> None:
        await self.stop()
        self._offered = offering_tools()
        await self.start()

    def will(self, method: str, *faults: Fault) -> None:
        self.faults.setdefault(method, []).extend(faults)

    def _around(self, app: ASGIApp) -> ASGIApp:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            body = await _whole(receive)
            method = _method(body)
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.requests.append((scope["method"], method, headers))
            if fault := self._fault(method):
                await _misbehave(fault, send)
            else:
                await app(scope, _again(body, receive), send)

        return answer

    def _fault(self, method: str) -> Fault | None:
        if waiting := self.faults.get(method):
            return waiting.pop(0)
        if self._is_old and method == "server/discover":
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Server not initialized"}}
            return Fault(400, json.dumps(error).encode(), "application/json")
        return None


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def _whole(receive: Receive) -> bytes:
    body, has_more = b"", True
    while has_more:
        message = await receive()
        body += message.get("body", b"")
        has_more = message.get("more_body", False)
    return body


def _again(body: bytes, receive: Receive) -> Receive:
    """Return `receive` with the body that was already read before it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message


def _method(body: bytes) -> str:
    try:
        return str(json.loads(body).get("method", ""))
    except ValueError:
        return ""


async def _misbehave(fault: Fault, send: Send) -> None:
    headers = [(b"content-type", fault.kind.encode()), (b"content-length", b"%d" % len(fault.body))]
    headers += [(b"www-authenticate", fault.challenge.encode())] if fault.challenge else []
    if fault is DROPPED:
        headers[1] = (b"content-length", b"1000")
    await send({"type": "http.response.start", "status": fault.status, "headers": headers})
    await send({"type": "http.response.body", "body": fault.body, "more_body": fault is DROPPED})
    if fault is DROPPED:
        raise ConnectionAbortedError
