"""A client of the protocol on the official SDK: both eras, over a process or over HTTP, with errors in words."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import cast

import httpx2
import mcp_types
from mcp import Client as SdkClient
from mcp import InputRequiredRoundsExceededError, MCPError
from mcp.client import Transport
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl, ValidationError

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.package import __version__
from desktop_agent.core.mcp.client import (
    AskUser,
    BearerTokens,
    Client,
    ConnectionLostError,
    ServerCredentials,
    SignInNeededError,
    Surroundings,
)
from desktop_agent.core.mcp.definition import Address, Program, ServerDefinition
from desktop_agent.core.mcp.offers import CallReply, OfferedPrompt, OfferedResource, OfferedTool, Progress, ServerFacts
from desktop_agent.core.mcp.sdk import http_faults
from desktop_agent.core.mcp.sdk.asked_back import AskedBack, pages_wanted
from desktop_agent.core.mcp.sdk.complete_results import completing
from desktop_agent.core.mcp.sdk.http_link import Access, HttpLink
from desktop_agent.core.mcp.sdk.http_transport import reaching
from desktop_agent.core.mcp.sdk.listing import prompt_text, prompts_of, resources_of
from desktop_agent.core.mcp.sdk.process_transport import ServerProcess, Streams, running
from desktop_agent.core.mcp.sdk.reading import offered_tool, reply_of
from desktop_agent.core.protocol.model import Decision, ServerQuestion
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

MOST_TOOLS = 2_000
"""How many tools of one server are listed; a listing that never ends must not hang the session."""


class ServerClient:
    """A server that answers, by the SDK's client."""

    def __init__(self, client: SdkClient, facts: ServerFacts, way: ServerProcess | HttpLink, asked: AskedBack) -> None:
        self.facts = facts
        self._client = client
        self._way = way
        self._asked = asked

    @property
    def pid(self) -> int | None:
        """Its process, if it was started here."""
        return self._way.child.pid if isinstance(self._way, ServerProcess) and self._way.child is not None else None

    async def tools(self) -> tuple[OfferedTool, ...]:
        """Return every tool that it offers now. Raises `ServerError`."""
        tools: list[OfferedTool] = []
        cursor: str | None = None
        with _in_words(self._way):
            while True:
                page = await self._client.list_tools(cursor=cursor, cache_mode="refresh")
                tools += map(offered_tool, page.tools)
                cursor = page.next_cursor
                if cursor is None:
                    return tuple(tools)
                if len(tools) >= MOST_TOOLS:
                    raise ServerError(f"It lists more than {MOST_TOOLS:,} tools.")

    async def prompts(self) -> tuple[OfferedPrompt, ...]:
        """Return every prompt that it offers now. Raises `ServerError`."""
        with _in_words(self._way):
            return await prompts_of(self._client)

    async def prompt(self, name: str, arguments: Mapping[str, str], *, timeout_s: float) -> str:
        """Return the text that a prompt comes to. Raises `ServerError`."""
        try:
            with _in_words(self._way):
                async with asyncio.timeout(timeout_s):
                    return await prompt_text(self._client, name, arguments)
        except TimeoutError as error:
            raise ServerError(f"The server did not answer within {timeout_s:g} s.") from error

    async def resources(self) -> tuple[OfferedResource, ...]:
        """Return every resource that it lists now. Raises `ServerError`."""
        with _in_words(self._way):
            return await resources_of(self._client)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        timeout_s: float,
        on_progress: Callable[[Progress], None],
        ask: AskUser,
    ) -> CallReply:
        """Call a tool. Raises `ServerError`; a failure that the server reports as a result is a reply."""
        now = asyncio.get_running_loop().time
        questions = 0

        def begin_wait() -> None:
            if not limit.expired():
                limit.reschedule(None if questions else now() + timeout_s)

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            begin_wait()
            on_progress(Progress(done=progress, total=total, message=message or ""))

        async def asked(question: ServerQuestion) -> Decision:
            nonlocal questions
            questions += 1
            begin_wait()
            try:
                return await ask(question)
            finally:
                questions -= 1
                begin_wait()

        try:
            with _in_words(self._way):
                async with asyncio.timeout(timeout_s) as limit, self._asked.during(asked):
                    reply = await self._called(tool, dict(arguments), progressed)
        except TimeoutError as error:
            title = f"The server gave no sign for {timeout_s:g} s, so the call was cancelled."
            raise ServerError(title, hint="Ask for less at a time, or raise call_timeout_s of this server.") from error
        return reply_of(reply)

    async def _called(
        self, tool: str, arguments: dict[str, object], progressed: ProgressFnT
    ) -> mcp_types.CallToolResult:
        """Call a tool; once more after the user visited what a server wants visited before it does anything."""
        try:
            return await self._client.call_tool(tool, arguments, progress_callback=progressed)
        except MCPError as error:
            if not await self._asked.have_visited(pages_wanted(error)):
                raise
        return await self._client.call_tool(tool, arguments, progress_callback=progressed)

    async def ended(self) -> str:
        """Return when the server is gone, and say how it went; raise `ServerError` for one that is only reached."""
        return await self._way.ended()


class SdkClients:
    """Opens clients. One for the application: it owns the processes of all servers."""

    def __init__(self, runner: ProcessRunner, credentials: ServerCredentials | None = None) -> None:
        self._runner = runner
        self._credentials = credentials

    @asynccontextmanager
    async def open(self, definition: ServerDefinition, surroundings: Surroundings) -> AsyncGenerator[Client]:
        """Start or reach the server, and agree on a protocol. Raises `ServerError`."""
        match definition.reached_by:
            case Program() as program:
                command = _command(program, surroundings)
                process = running(self._runner, program, command, surroundings.confine, surroundings.log)
                async with (
                    process as (server, streams),
                    server.explaining_its_end(),
                    _agreed(definition.name, _held(streams), surroundings, server) as client,
                ):
                    yield client
            case Address() as address:
                secrets = await self._secret_headers(definition, surroundings)
                async with (
                    reaching(address, secrets, self._access(definition, surroundings)) as (link, transport),
                    _agreed(definition.name, transport, surroundings, link) as client,
                ):
                    yield client

    async def _secret_headers(self, definition: ServerDefinition, surroundings: Surroundings) -> Mapping[str, str]:
        """Return them with their values, which are hidden from now on in what the server says."""
        assert isinstance(definition.reached_by, Address)
        if not definition.reached_by.secret_headers:
            return {}
        if self._credentials is None:
            raise ServerError("Its secret headers are in the keyring, which is not asked here.")
        secrets = await self._credentials.headers(definition)
        surroundings.log.hide([word for value in secrets.values() for word in (value, *value.split())])
        return secrets

    def _access(self, definition: ServerDefinition, surroundings: Surroundings) -> Access:
        async def tokens() -> BearerTokens:
            found = await self._credentials.tokens(definition) if self._credentials is not None else None
            if found is None:
                raise SignInNeededError(definition.name)
            return found

        return Access(name=definition.name, tokens=tokens, hide=surroundings.log.hide)


@asynccontextmanager
async def _held(streams: Streams) -> AsyncGenerator[Streams]:
    yield streams


@asynccontextmanager
async def _agreed(
    name: str,
    transport: Transport | AbstractAsyncContextManager[Streams],
    surroundings: Surroundings,
    way: ServerProcess | HttpLink,
) -> AsyncGenerator[Client]:
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

    asked = AskedBack(name, surroundings.log)
    client = SdkClient(
        completing(transport),
        client_info=mcp_types.Implementation(name="desktop-agent", version=__version__),
        message_handler=heard,
        logging_callback=logged,
        list_roots_callback=listed_roots,
        elicitation_callback=asked.elicited,
        cache=None,
    )
    with _in_words(way):
        async with client:
            facts = _facts(client)
            listening = asyncio.create_task(_listen(client, facts, surroundings), name="mcp listening")
            try:
                yield ServerClient(client, facts, way, asked)
            finally:
                listening.cancel()
                await asyncio.wait({listening})


async def _listen(client: SdkClient, facts: ServerFacts, surroundings: Surroundings) -> None:
    """Hear of changed tools from a server of the stateless era, which tells only those who ask."""
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
    )


def _command(program: Program, surroundings: Surroundings) -> Command:
    folder = surroundings.workspace / Path(program.cwd).expanduser()
    return Command(
        argv=(program.command, *program.args),
        cwd=folder,
        environ={**surroundings.environ, **program.env},
        takes_input=True,
    )


_KNOWN = (
    ServerError,
    MCPError,
    ValidationError,
    OSError,
    InputRequiredRoundsExceededError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
)
"""What is raised when a server does not do what was asked of it."""


@contextmanager
def _in_words(way: ServerProcess | HttpLink) -> Generator[None]:
    """Turn what the SDK raises into `ServerError`."""
    try:
        yield
    except TimeoutError:  # an `OSError` that whoever set the time answers for
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


def _explained(error: Exception, way: ServerProcess | HttpLink) -> ServerError:
    if isinstance(error, ServerError):
        return error
    if isinstance(error, ValidationError):
        return ServerError("It answered with what the protocol does not know.", detail=str(error))
    if isinstance(error, InputRequiredRoundsExceededError):
        return ServerError("The server asked again and again instead of answering.")
    if not isinstance(error, MCPError):
        return ServerError(f"It could not be reached: {error}.")
    link = way if isinstance(way, HttpLink) else None
    if link is not None and (failure := link.failure_in(error)) is not None:
        return failure
    if error.code == CONNECTION_CLOSED:
        if link is not None:
            link.end(http_faults.broken_off())
        return ConnectionLostError("The connection with the server was lost.")
    if error.code == REQUEST_TIMEOUT:
        return ServerError("The server did not answer in time.")
    return ServerError(f"The server refused: {link.hidden(error.message) if link else error.message}")
