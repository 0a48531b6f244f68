"""Speaks to a process on this machine, one message per line, with the streams that the SDK expects of a transport.

Unlike the SDK's transport, it uses the sandbox, limits output, and ends all children of the server.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.mcp.client import Confine, ConnectionLostError
from desktop_agent.core.mcp.definition import Program
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.system.processes.line_process import GRACE_S, LineProcess
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

UNREADABLE: Final = -32097

NOT_READABLE: Final = "Its answer cannot be read."

_ID: Final = regex(r'"id"\s*:\s*(\d{1,18})\s*[,}]')
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


_LARGE_BYTES = 256 * 1024

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def explaining_its_end(process: LineProcess) -> AsyncGenerator[None]:
    try:
        yield
    except ConnectionLostError as error:
        process.child.ask_to_end()
        raise ServerError(await process.ended()) from error


async def _deliver(
    process: LineProcess, program: Program, messages: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    async with messages, aclosing(process.lines()) as lines:
        async for line in lines:
            try:
                text = line.decode(program.encoding, program.encoding_errors)
                is_large = len(line) >= _LARGE_BYTES
                message = await asyncio.to_thread(read_message, text) if is_large else read_message(text)
            except ValueError:
                process.pass_over(line)
            else:
                await messages.send(SessionMessage(message))


async def _write(process: LineProcess, program: Program, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with messages:
        async for item in messages:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            if not await process.send(text.encode(program.encoding, "backslashreplace")):
                return


@asynccontextmanager
async def running(
    runner: ProcessRunner, program: Program, command: Command, confine: Confine, log: ServerLog
) -> AsyncGenerator[tuple[LineProcess, Streams]]:
    """Run a server during the block, and then end all of its processes. Raises `ServerError` if it does not start."""
    async with confine(command) as confined:
        process = LineProcess(log.say)
        await process.start(runner, confined, log.feed)
        incoming_in, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, outgoing_out = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = {
            asyncio.create_task(_deliver(process, program, incoming_in), name=f"mcp reader {process.child.pid}"),
            asyncio.create_task(_write(process, program, outgoing_out), name=f"mcp writer {process.child.pid}"),
        }
        grace_s = 0.0  # for one that failed
        try:
            yield process, (incoming, outgoing)
            grace_s = GRACE_S
        finally:
            await unhurried(_wind_up(process, grace_s, tasks, incoming, outgoing))


async def _wind_up(
    process: LineProcess,
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
