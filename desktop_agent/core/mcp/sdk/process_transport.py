"""Speaks to a process on this machine, one message per line, with the streams that the SDK expects of a transport.

Unlike the SDK's transport, it uses the sandbox, limits output, and ends all children of the server.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.client import Confine, ConnectionLostError
from desktop_agent.core.mcp.definition import Program
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.system.processes.child import ChildProcess, unhurried
from desktop_agent.core.system.processes.output import RecordSplitter
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

MOST_BYTES = 16 * 1024 * 1024

UNREADABLE: Final = -32097

NOT_READABLE: Final = "It answered with what cannot be read."

_ID: Final = re.compile(r'"id"\s*:\s*(\d{1,18})\s*[,}]')
_AROUND: Final = 300


def read_message(line: str) -> mcp_types.JSONRPCMessage:
    """Return the message on a line, or an error for the request it answers. Raises `ValueError` for other lines."""
    try:
        return mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        answered = _mended(line) or _unreadable(line)
        if answered is None:
            raise
        return answered


def _mended(line: str) -> mcp_types.JSONRPCMessage | None:
    r"""Parse a message with lone surrogates, which JavaScript writes where it cuts an emoji. Replace them by `?`."""
    try:
        whole = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
        return mcp_types.jsonrpc_message_adapter.validate_json(whole, by_name=False)
    except (ValueError, RecursionError):
        return None


def _unreadable(line: str) -> mcp_types.JSONRPCError | None:
    """Return the error for the request that the line answers; `None` if it answers none, such as a log line."""
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        number = _number_in(line)
    else:
        fields = as_object(found)
        is_answer = "jsonrpc" in fields and "method" not in fields and ("result" in fields or "error" in fields)
        number = fields.get("id") if is_answer else None
    if not isinstance(number, int):
        return None
    error = mcp_types.ErrorData(code=UNREADABLE, message=NOT_READABLE)
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=error)


def _number_in(line: str) -> int | None:
    ends = (line[:_AROUND], line[-_AROUND:])
    is_answer = any('"jsonrpc"' in end for end in ends) and any('"result"' in end or '"error"' in end for end in ends)
    found = next((match for match in map(_ID.search, ends) if match is not None), None)
    return int(found.group(1)) if is_answer and found is not None else None


GRACE_S = 2.0
"""How many seconds a server may take to end when its input is closed, before it gets TERM."""

MOST_STRAY_LINES = 200

_WAITING_BYTES = 1024 * 1024

_LARGE_BYTES = 256 * 1024

_SHOWN_BYTES = 200
_SIGNALLED = 128

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


class ServerProcess:
    def __init__(self, program: Program, log: ServerLog) -> None:
        self._program = program
        self._log = log
        self._splitter = RecordSplitter(b"\n", MOST_BYTES)
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._waiting_bytes = 0
        self._flows: asyncio.Future[None] | None = None
        self._problem = ""
        self._stray_lines = 0
        self.child: ChildProcess | None = None

    def take(self, content: bytes) -> asyncio.Future[None] | None:
        """Take output of the process. If a future is returned, the process should wait for it."""
        if self._problem:
            return None
        lines = self._splitter.feed(content)
        if self._splitter.too_long:
            self._break_off(f"It sent a message of more than {MOST_BYTES // 1024**2} MiB.")
            return None
        for line in filter(bytes.strip, lines):
            self._waiting_bytes += len(line)
            self._lines.put_nowait(line)
        if self._waiting_bytes > _WAITING_BYTES and self._flows is None:
            self._flows = asyncio.get_running_loop().create_future()
        return self._flows

    async def deliver(self, messages: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with messages:
            while (line := await self._lines.get()) is not None:
                self._waiting_bytes -= len(line)
                if self._flows is not None and self._waiting_bytes <= _WAITING_BYTES:
                    self._flows.set_result(None)
                    self._flows = None
                message = await self._understood(line)
                if message is not None:
                    await messages.send(message)

    async def write(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert self.child is not None
        async with messages:
            async for item in messages:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                if not await self.child.send((text + "\n").encode(self._program.encoding, "backslashreplace")):
                    self._lines.put_nowait(None)
                    return

    async def live(self) -> None:
        assert self.child is not None
        await self.child.wait()
        self._lines.put_nowait(None)

    async def ended(self) -> str:
        assert self.child is not None
        await self.child.wait()
        if self._problem:
            return self._problem
        code = (await self.child.end()).exit_code
        if code > _SIGNALLED:
            return f"It was ended by signal {code - _SIGNALLED}."
        return f"It ended with exit code {code}." if code else "It ended by itself."

    async def end(self, grace_s: float) -> None:
        """Ask the server to end, and kill it after `grace_s` seconds. None of its processes remains."""
        assert self.child is not None
        self.child.end_input()
        if grace_s and not self._problem:
            await self.child.wait(grace_s)
        await self.child.end()

    @asynccontextmanager
    async def explaining_its_end(self) -> AsyncGenerator[None]:
        try:
            yield
        except ConnectionLostError as error:
            assert self.child is not None
            self.child.ask_to_end()
            raise ServerError(await self.ended()) from error

    async def _understood(self, line: bytes) -> SessionMessage | None:
        try:
            text = line.decode(self._program.encoding, self._program.encoding_errors)
            if len(line) < _LARGE_BYTES:
                message = read_message(text)
            else:
                message = await asyncio.to_thread(read_message, text)
        except ValueError:  # many print a greeting: it is no reason to give up on a server
            shown = line[:_SHOWN_BYTES].decode("utf-8", "replace").strip()
            self._log.say(f"Not a message of the protocol, on its standard output: {shown}")
            self._stray_lines += 1
            if self._stray_lines == MOST_STRAY_LINES:
                self._break_off("What it prints on its standard output is not the protocol.")
            return None
        self._stray_lines = 0
        return SessionMessage(message)

    def _break_off(self, problem: str) -> None:
        self._problem = problem
        self._lines.put_nowait(None)
        if self.child is not None:
            self.child.ask_to_end()


@asynccontextmanager
async def running(
    runner: ProcessRunner, program: Program, command: Command, confine: Confine, log: ServerLog
) -> AsyncGenerator[tuple[ServerProcess, Streams]]:
    """Run a server during the block, and then end all of its processes. Raises `ServerError` if it does not start."""
    async with confine(command) as confined:
        process = ServerProcess(program, log)
        try:
            process.child = await runner.start(confined, process.take, log.feed)
        except OSError as error:
            raise _not_started(program, error) from error
        incoming_in, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, outgoing_out = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = {
            asyncio.create_task(process.deliver(incoming_in), name=f"mcp reader {process.child.pid}"),
            asyncio.create_task(process.write(outgoing_out), name=f"mcp writer {process.child.pid}"),
            asyncio.create_task(process.live(), name=f"mcp life {process.child.pid}"),
        }
        grace_s = 0.0  # for one that failed
        try:
            yield process, (incoming, outgoing)
            grace_s = GRACE_S
        finally:
            await unhurried(_wind_up(process, grace_s, tasks, incoming, outgoing))


async def _wind_up(
    process: ServerProcess,
    grace_s: float,
    tasks: set[asyncio.Task[None]],
    incoming: MemoryObjectReceiveStream[SessionMessage | Exception],
    outgoing: MemoryObjectSendStream[SessionMessage],
) -> None:
    incoming.close()
    outgoing.close()
    await process.end(grace_s)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        with suppress(asyncio.CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            task.result()


def _not_started(program: Program, error: OSError) -> ServerError:
    if isinstance(error, FileNotFoundError):
        title = f"There is no program {program.command!r}."
        return ServerError(title, hint=_HINTS.get(program.command, "Install it, or give its whole path."))
    return ServerError(f"{program.command!r} could not be started: {error.strerror or error}.")


_HINTS = {
    "npx": "It comes with Node.js: install that, or give the whole path of npx.",
    "uvx": "It comes with uv: install that, or give the whole path of uvx.",
    "docker": "Install Docker, or give its whole path.",
}
