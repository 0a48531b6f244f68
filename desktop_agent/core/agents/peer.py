"""One side of a JSON-RPC 2.0 conversation: a message per line, requests in both directions at any time."""

import asyncio
import json
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeGuard, cast

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.protocol.model import JsonObject

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
UNKNOWN_METHOD: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002
CANCELLED: Final = -32800

CANCEL: Final = "$/cancel_request"
_MOST_RUNNING: Final = 256
"""How many requests of the other side run at once. More of them are refused."""
_MOST_RUNNING_BYTES: Final = 64 * 1024 * 1024
_SURROGATE: Final = regex(rb"\\u[dD][89a-fA-F]")
_LONGEST_ID: Final = 200
_LONGEST_MESSAGE: Final = 2_000

_LARGE: Final = 256 * 1024
"""Longer lines are read in a thread."""

_Id = int | str | None

Handler = Callable[[JsonObject], Awaitable[object]]
"""Answers a request. An `RpcError` or `AgentError` becomes the error of the answer."""

_log = logging.getLogger(__name__)


class RpcError(Exception):
    """An error that one side sends to the other. `data` is JSON."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def document(self) -> JsonObject:
        return {"code": self.code, "message": self.message[:_LONGEST_MESSAGE]} | (
            {} if self.data is None else {"data": self.data}
        )


class Peer:
    def __init__(
        self,
        send: Callable[[str], None],
        answer: Mapping[str, Handler],
        hear: Mapping[str, Callable[[JsonObject], None]],
        pass_over: Callable[[bytes], None] | None = None,
        cancel: tuple[str, str] = (CANCEL, "requestId"),
    ) -> None:
        """`send` takes a line; `answer` has the requests, and `hear` the notifications, that this side knows.

        `pass_over` is called with a line that is not JSON, which is otherwise refused. `cancel` is the notification
        that cancels a request, and its parameter: protocols differ.
        """
        self._send = send
        self._answer = answer
        self._hear = hear
        self._pass_over = pass_over
        self._cancel = cancel
        self._last_id = 0
        self._asked: dict[int, asyncio.Future[JsonObject]] = {}
        self._running: dict[_Id, asyncio.Task[None]] = {}
        self._running_bytes = 0
        self._reader = ThreadPoolExecutor(1, "large lines")
        """Its own thread: all others may wait for what is read here."""

    async def serve(self, lines: AsyncIterable[bytes | None]) -> None:
        """Serve until the other side closes its output. Then requests that still run are cancelled."""
        try:
            async for line in lines:
                if line is None:
                    self._refuse(None, RpcError(PARSE_ERROR, "The line is too long."))
                elif line.strip():
                    await self._take(line)
        finally:
            self._reader.shutdown(wait=False)
            for asked in self._asked.values():
                asked.cancel()
            tasks = list(self._running.values())
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request and return its answer. Raises `RpcError`. A cancellation is passed on to the other side."""
        self._last_id += 1
        number = self._last_id
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._write({"id": number, "method": method, "params": params})
        try:
            return await answer
        except asyncio.CancelledError:
            method, parameter = self._cancel
            self.tell(method, {parameter: number})
            raise
        finally:
            del self._asked[number]

    def tell(self, method: str, params: JsonObject) -> None:
        self._write({"method": method, "params": params})

    def _write(self, message: JsonObject) -> None:
        self._send(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")))

    async def _take(self, line: bytes) -> None:
        try:
            found = await self._read_large(line) if len(line) > _LARGE else _read(line)
        except (ValueError, RecursionError):
            if self._pass_over is not None:
                self._pass_over(line)
            else:
                self._refuse(None, RpcError(PARSE_ERROR, "The line is not JSON."))
            return
        message, method = as_object(found), as_object(found).get("method")
        number = message.get("id")
        if message.get("jsonrpc") != "2.0" or not _is_id(number):
            self._refuse(None, RpcError(INVALID_REQUEST, "The line is not a JSON-RPC 2.0 message."))
        elif isinstance(method, str):
            params = message.get("params")
            if params is not None and not isinstance(params, dict):
                self._refuse(number, RpcError(INVALID_PARAMS, "`params` is not an object."))
            elif "id" in message:
                self._start(number, method, cast("JsonObject", params or {}), len(line))
            else:
                self._notice(method, cast("JsonObject", params or {}))
        elif "result" in message or "error" in message:
            self._settle(number, message)
        else:
            self._refuse(number, RpcError(INVALID_REQUEST, "The message has no method."))

    async def _read_large(self, line: bytes) -> object:
        return await asyncio.get_running_loop().run_in_executor(self._reader, _read, line)

    def _start(self, number: _Id, method: str, params: JsonObject, size: int) -> None:
        handler = self._answer.get(method)
        if handler is None:
            self._refuse(number, RpcError(UNKNOWN_METHOD, "There is no such method.", {"method": method[:100]}))
        elif number in self._running:
            self._refuse(number, RpcError(INVALID_REQUEST, "The id is in use."))
        elif len(self._running) >= _MOST_RUNNING or self._running_bytes + size > _MOST_RUNNING_BYTES:
            self._refuse(number, RpcError(INVALID_REQUEST, "Too many requests run."))
        else:
            self._running_bytes += size
            task = self._running[number] = asyncio.create_task(self._respond(number, handler, params), name=method)
            task.add_done_callback(lambda _: self._on_done(number, size))

    async def _respond(self, number: _Id, handler: Handler, params: JsonObject) -> None:
        try:
            self._write({"id": number, "result": await handler(params)})
        except RpcError as error:
            self._refuse(number, error)
        except AgentError as error:
            self._refuse(number, as_rpc_error(error))
        except Exception:  # noqa: BLE001 - the other side must get an answer
            _log.exception("A request failed")
            self._refuse(number, RpcError(INTERNAL_ERROR, "The request failed; the log says why."))

    def _on_done(self, number: _Id, size: int) -> None:
        self._running_bytes -= size
        if self._running.pop(number).cancelled():  # perhaps before it began
            self._refuse(number, RpcError(CANCELLED, "The request was cancelled."))

    def _notice(self, method: str, params: JsonObject) -> None:
        if method == self._cancel[0]:
            number = params.get(self._cancel[1])
            if isinstance(number, int | str) and (task := self._running.get(number)) is not None:
                task.cancel()
        elif (heard := self._hear.get(method)) is not None:
            try:
                heard(params)
            except (RpcError, AgentError) as error:
                _log.warning("A notification was ignored: %s: %s", method, error)

    def _settle(self, number: object, message: JsonObject) -> None:
        asked = self._asked.get(number) if isinstance(number, int) else None
        if asked is None or asked.done():
            return  # it came late
        if "error" in message:
            error = as_object(message["error"])
            code, said = error.get("code"), error.get("message")
            code = code if isinstance(code, int) else INTERNAL_ERROR
            asked.set_exception(RpcError(code, said if isinstance(said, str) else "", error.get("data")))
        else:
            asked.set_result(as_object(message["result"]))

    def _refuse(self, number: _Id, error: RpcError) -> None:
        self._write({"id": number, "error": error.document()})


def _read(line: bytes) -> object:
    """Raises `ValueError` and `RecursionError` for what is not JSON, or could not be written as UTF-8."""
    found: object = json.loads(line)
    if _SURROGATE.search(line):  # two of them may be a whole character
        json.dumps(found, ensure_ascii=False).encode()
    return found


def _is_id(number: object) -> TypeGuard[_Id]:
    if isinstance(number, str):
        return len(number) <= _LONGEST_ID
    return number is None or (isinstance(number, int) and not isinstance(number, bool))


def as_rpc_error(error: AgentError) -> RpcError:
    words = " ".join(filter(None, (error.title, error.hint)))
    return RpcError(INTERNAL_ERROR, words, {"details": error.detail} if error.detail else None)
