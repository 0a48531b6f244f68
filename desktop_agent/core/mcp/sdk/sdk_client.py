"""Opens clients with the official SDK, for both versions of the protocol, over a process or over HTTP.

Unlike the SDK's own transport, that of processes uses the sandbox, limits output, and ends all children of the server.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final, TypeVar, cast

import anyio
import httpx2
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client as SdkClient
from mcp import InputRequiredRoundsExceededError, MCPError
from mcp.client import Transport
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, CORE_RESULT_TYPES, REQUEST_TIMEOUT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl, ValidationError

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.base.regex import regex
from desktop_agent.core.mcp.client import (
    AskUser,
    BearerTokens,
    Confine,
    ConnectionLostError,
    SampledAnswer,
    SampleModel,
    SamplingRequest,
    ServerCredentials,
    SignInNeededError,
    Surroundings,
)
from desktop_agent.core.mcp.definition import Address, Program, ServerDefinition
from desktop_agent.core.mcp.sdk.asked_back import AskedBack, pages_wanted
from desktop_agent.core.mcp.sdk.http_transport import HttpLink, TokenAccess, reaching
from desktop_agent.core.mcp.sdk.sdk_results import (
    Sieve,
    completing,
    embedded,
    listed,
    offered,
    offered_tool,
    reply_of,
    said_in,
    unused_in,
)
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.mcp.server_status import (
    CallReply,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    Part,
    Progress,
    ResourceTemplate,
    ServerFacts,
)
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.protocol.model import Decision, ServerQuestion
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.system.processes.line_process import GRACE_S, LineProcess
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

MOST_COMPLETIONS = 100
_LONGEST_KIND = 40
_LONGEST_SAYING = 2_000

_SDK_CANNOT_READ = ("Failed to parse JSON response", "Failed to parse SSE message")
_SDK_WANTS_ANOTHER_TYPE = "Unexpected content type"

_KNOWN = (
    ServerError, MCPError, ValidationError, OSError, InputRequiredRoundsExceededError, httpx2.HTTPError,
    httpx2.InvalidURL,
)  # fmt: skip

UNREADABLE: Final = -32097

NOT_READABLE: Final = "Its answer cannot be read."

_ID: Final = regex(r'"id"\s*:\s*(\d{1,18})\s*[,}]')
_AROUND: Final = 300
_LARGE_BYTES = 256 * 1024

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@contextmanager
def in_words(way: LineProcess | HttpLink) -> Generator[None]:
    try:
        yield
    except TimeoutError:  # an `OSError` that the setter of the time limit handles
        raise
    except ServerError:
        raise
    except _KNOWN as error:
        raise _explained(error, way) from error
    except ExceptionGroup as group:
        known, others = group.split(_KNOWN)
        if known is None or others is not None:
            raise
        raise _explained(next(_leaves(cast("Exception", known))), way) from group


def _leaves(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for inner in cast("ExceptionGroup[Exception]", error).exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _explained(error: Exception, way: LineProcess | HttpLink) -> ServerError:
    if isinstance(error, ServerError):
        return error
    if isinstance(error, ValidationError):
        return _not_known(error)
    if isinstance(error, InputRequiredRoundsExceededError):
        return ServerError("The server asked again and again instead of answering.")
    if not isinstance(error, MCPError):
        return ServerError(f"It could not be reached: {_shortened(str(error))}.")
    link = way if isinstance(way, HttpLink) else None
    if link is not None and (failure := link.failure_in(error)) is not None:
        return failure
    if error.code == CONNECTION_CLOSED:
        if link is not None:
            link.end(ConnectionLostError("The answer ended before it was complete."))
        return ConnectionLostError("The connection with the server was lost.")
    if error.code == REQUEST_TIMEOUT:
        return ServerError("The server did not answer in time.")
    if error.code == UNREADABLE or error.message.startswith(_SDK_CANNOT_READ):
        return ServerError(NOT_READABLE)
    if error.message.startswith(_SDK_WANTS_ANOTHER_TYPE):
        title = "Its answer does not follow the protocol; it may be a web page."
        return ServerError(title, hint="Check the address.")
    said = link.hidden(error.message) if link else error.message
    return ServerError(f"The server refused: {_shortened(said)}")


def _not_known(error: ValidationError) -> ServerError:
    for mistake in error.errors(include_url=False):
        fields = as_object(mistake["input"])
        kind = fields.get("resultType")
        if isinstance(kind, str) and kind not in CORE_RESULT_TYPES:
            return ServerError(
                f"It answered with a result of the kind {kind[:_LONGEST_KIND]!r}, which is not supported here."
            )
        if "task" in fields:
            return ServerError("It answered with a task, which is not supported here.")
    return ServerError("Its answer does not follow the protocol.", detail=_shortened(str(error)))


def _shortened(said: str) -> str:
    """Return a server's text, cut and without control characters, which could control a terminal."""
    cut = said[:_LONGEST_SAYING]
    return without_controls(cut) + (" …" if len(said) > len(cut) else "")


class IdleTimeout:
    """Limits how long a server may be silent during a call, except while a question waits."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._questions = 0
        self.limit = asyncio.timeout(timeout_s)
        """The time limit, which the call must enter. It raises `TimeoutError`."""

    def renew(self) -> None:
        if not self.limit.expired():
            now = asyncio.get_running_loop().time()
            self.limit.reschedule(None if self._questions else now + self._timeout_s)

    @contextmanager
    def suspended(self) -> Generator[None]:
        self._questions += 1
        self.renew()
        try:
            yield
        finally:
            self._questions -= 1
            self.renew()


T = TypeVar("T")


class ServerClient:
    """A connected server, by the SDK's client. Methods raise `ServerError` with a readable message."""

    def __init__(
        self, client: SdkClient, facts: ServerFacts, way: LineProcess | HttpLink, asked: AskedBack, sieve: Sieve
    ) -> None:
        self.facts = facts
        self._client = client
        self._way = way
        self._asked = asked
        self._sieve = sieve

    @property
    def left_out(self) -> tuple[str, ...]:
        return self._sieve.left_out

    @property
    def pid(self) -> int | None:
        return self._way.child.pid if isinstance(self._way, LineProcess) else None

    async def tools(self) -> tuple[OfferedTool, ...]:
        with in_words(self._way):
            found = await listed(self._client.list_tools, lambda page: page.tools, "tools", self._sieve)
            return tuple(map(offered_tool, found))

    async def prompts(self) -> tuple[OfferedPrompt, ...]:
        with in_words(self._way):
            found = await listed(self._client.list_prompts, lambda page: page.prompts, "prompts", self._sieve)
            return tuple(offered(prompt, OfferedPrompt) for prompt in found)

    async def prompt(self, name: str, arguments: Mapping[str, str], *, timeout_s: float) -> str:
        result = await self._within(timeout_s, self._client.get_prompt(name, dict(arguments)))
        return "\n\n".join(filter(None, map(said_in, result.messages)))

    async def resources(self) -> tuple[OfferedResource, ...]:
        with in_words(self._way):
            found = await listed(self._client.list_resources, lambda page: page.resources, "resources", self._sieve)
            return tuple(offered(resource, OfferedResource) for resource in found)

    async def templates(self) -> tuple[ResourceTemplate, ...]:
        with in_words(self._way):
            try:
                fetch = self._client.list_resource_templates
                found = await listed(fetch, lambda page: page.resource_templates, "resourceTemplates", self._sieve)
            except MCPError as error:
                if error.code != mcp_types.METHOD_NOT_FOUND:
                    raise
                return ()
        return tuple(offered(template, ResourceTemplate) for template in found)

    async def read(self, uri: str, *, timeout_s: float) -> tuple[Part, ...]:
        result = await self._within(timeout_s, self._client.read_resource(uri, cache_mode="bypass"))
        return tuple(map(embedded, result.contents))

    async def complete(
        self, template: str, name: str, value: str, others: Mapping[str, str], *, timeout_s: float
    ) -> tuple[str, ...]:
        """Return completions of `value` for a part of a template; `others` are the parts that are given already."""
        if not self.facts.has_completions:
            return ()
        reference = mcp_types.ResourceTemplateReference(uri=template)
        completing = self._client.complete(reference, {"name": name, "value": value}, dict(others) or None)
        return tuple((await self._within(timeout_s, completing)).completion.values[:MOST_COMPLETIONS])

    async def _within(self, timeout_s: float, asking: Awaitable[T]) -> T:
        try:
            with in_words(self._way):
                async with asyncio.timeout(timeout_s):
                    return await asking
        except TimeoutError as error:
            raise ServerError(f"The server did not answer within {timeout_s:g} s.") from error

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        timeout_s: float,
        on_progress: Callable[[Progress], None],
        ask: AskUser,
        sample: SampleModel,
    ) -> CallReply:
        """Call a tool. Cancelling tells the server. A wait for the user does not count as silence of the server."""
        timeout = IdleTimeout(timeout_s)

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            timeout.renew()
            on_progress(Progress(done=progress, total=total, message=message or ""))

        async def asked(question: ServerQuestion) -> Decision:
            with timeout.suspended():
                return await ask(question)

        async def sampled(request: SamplingRequest) -> SampledAnswer:
            with timeout.suspended():
                return await sample(request)

        try:
            with in_words(self._way):
                async with timeout.limit, self._asked.during(asked, sampled):
                    reply = await self._called(tool, dict(arguments), progressed)
        except TimeoutError as error:
            title = f"The server was silent for {timeout_s:g} s, so the call was cancelled."
            raise ServerError(
                title, hint="Ask for less at a time, or raise call_timeout_seconds of this server."
            ) from error
        return reply_of(reply)

    async def _called(
        self, tool: str, arguments: dict[str, object], progressed: ProgressFnT
    ) -> mcp_types.CallToolResult:
        try:
            return await self._client.call_tool(tool, arguments, progress_callback=progressed)
        except MCPError as error:
            if why := self._asked.why_refused(error):
                raise ServerError(f"It needs an answer of the model, which it does not get: {why}") from error
            if not await self._asked.have_visited(pages_wanted(error)):
                raise
        return await self._client.call_tool(tool, arguments, progress_callback=progressed)

    async def ended(self) -> str:
        """Wait until the server has ended. Return how it ended; empty if without failure. Raises `ServerError`."""
        return await self._way.ended()


@asynccontextmanager
async def open_client(
    definition: ServerDefinition,
    surroundings: Surroundings,
    *,
    runner: ProcessRunner,
    credentials: ServerCredentials | None = None,
) -> AsyncGenerator[ServerClient]:
    """Start or reach the server, and negotiate the protocol. `runner` owns its process. Raises `ServerError`."""
    secrets = await _secrets(definition, surroundings, credentials)
    match definition.reached_by:
        case Program() as program:
            command = _command(program, secrets, surroundings)
            process = running(runner, program, command, surroundings.confine, surroundings.log)
            async with (
                process as (server, streams),
                explaining_its_end(server),
                _agreed(definition, nullcontext(streams), surroundings, server) as client,
            ):
                yield client
        case Address() as address:

            async def tokens() -> BearerTokens:
                found = await credentials.tokens(definition) if credentials is not None else None
                if found is None:
                    raise SignInNeededError(definition.name)
                return found

            access = TokenAccess(name=definition.name, tokens=tokens, hide=surroundings.log.hide)
            async with (
                reaching(address, secrets, access) as (link, transport),
                _agreed(definition, transport, surroundings, link) as client,
            ):
                yield client


async def _secrets(
    definition: ServerDefinition, surroundings: Surroundings, credentials: ServerCredentials | None
) -> Mapping[str, str]:
    way = definition.reached_by
    if not (way.secret_headers if isinstance(way, Address) else way.secret_env):
        return {}
    if credentials is None:
        raise ServerError("Its secrets are in the keyring, which is not asked here.")
    secrets = await credentials.secrets(definition)
    surroundings.log.hide([word for value in secrets.values() for word in (value, *value.split())])
    return secrets


@asynccontextmanager
async def _agreed(
    definition: ServerDefinition,
    transport: Transport | AbstractAsyncContextManager[Streams],
    surroundings: Surroundings,
    way: LineProcess | HttpLink,
) -> AsyncGenerator[ServerClient]:
    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            surroundings.tools_changed()
        elif isinstance(message, Exception):
            surroundings.log.say(f"Not understood: {message}")

    async def logged(params: mcp_types.LoggingMessageNotificationParams) -> None:
        surroundings.log.say(f"{params.level}: {params.data}")

    async def listed_roots(context: ClientRequestContext) -> mcp_types.ListRootsResult:
        root = mcp_types.Root(uri=FileUrl(surroundings.workspace.as_uri()), name=surroundings.workspace.name)
        return mcp_types.ListRootsResult(roots=[root])

    asked = AskedBack(definition.name, definition.fingerprint, surroundings.log)
    sieve = Sieve()
    client = SdkClient(
        completing(transport, sieve),
        client_info=mcp_types.Implementation(name="desktop-agent", version=__version__),
        message_handler=heard,
        logging_callback=logged,
        list_roots_callback=listed_roots,
        elicitation_callback=asked.elicited,
        sampling_callback=asked.sampled,
        cache=None,
    )
    with in_words(way):
        async with client:
            if sieve.unknown_version:
                raise ServerError(
                    f"It speaks version {sieve.unknown_version} of the protocol, which is not known here."
                )
            facts = _facts(client)
            sieve.version = facts.protocol
            listening = asyncio.create_task(_listen(client, facts, surroundings), name="mcp listening")
            try:
                yield ServerClient(client, facts, way, asked, sieve)
            finally:
                listening.cancel()
                await asyncio.wait({listening})


async def _listen(client: SdkClient, facts: ServerFacts, surroundings: Surroundings) -> None:
    """Subscribe to changes of the tools, because a server of the stateless protocol tells only subscribers."""
    capabilities = client.server_capabilities.tools
    if facts.era != "stateless" or capabilities is None or not capabilities.list_changed:
        return
    try:
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                surroundings.tools_changed()
    except (MCPError, SubscriptionLost, TimeoutError) as error:
        surroundings.log.say(f"It no longer tells of changed tools: {error}")


def _facts(client: SdkClient) -> ServerFacts:
    version, info, can = client.protocol_version, client.server_info, client.server_capabilities
    return ServerFacts(
        protocol=version,
        era="stateless" if version in MODERN_PROTOCOL_VERSIONS else "handshake",
        name=info.name if info else "",
        version=info.version if info else "",
        instructions=client.instructions or "",
        has_tools=can.tools is not None,
        has_resources=can.resources is not None,
        has_prompts=can.prompts is not None,
        has_completions=can.completions is not None,
        unused=unused_in(can),
    )


def _command(program: Program, secrets: Mapping[str, str], surroundings: Surroundings) -> Command:
    folder = surroundings.workspace / Path(program.cwd).expanduser()
    return Command(
        argv=(program.command, *program.args),
        cwd=folder,
        environ={**surroundings.environ, **program.env, **secrets},
        takes_input=True,
    )


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
