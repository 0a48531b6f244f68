"""Opens clients of the protocol on the official SDK: both eras, over a process or over HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import mcp_types
from mcp import Client as SdkClient
from mcp import MCPError
from mcp.client import Transport
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.package import __version__
from desktop_agent.core.mcp.client import BearerTokens, Client, ServerCredentials, SignInNeededError, Surroundings
from desktop_agent.core.mcp.definition import Address, Program, ServerDefinition
from desktop_agent.core.mcp.offers import ServerFacts
from desktop_agent.core.mcp.sdk.asked_back import AskedBack
from desktop_agent.core.mcp.sdk.complete_results import completing
from desktop_agent.core.mcp.sdk.failures import in_words
from desktop_agent.core.mcp.sdk.http.http_link import HttpLink, TokenAccess
from desktop_agent.core.mcp.sdk.http.http_transport import reaching
from desktop_agent.core.mcp.sdk.process_transport import ServerProcess, Streams, running
from desktop_agent.core.mcp.sdk.reading import unused_in
from desktop_agent.core.mcp.sdk.server_client import ServerClient
from desktop_agent.core.system.processes.runner import Command, ProcessRunner


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
                    _agreed(definition, _held(streams), surroundings, server) as client,
                ):
                    yield client
            case Address() as address:
                secrets = await self._secret_headers(definition, surroundings)
                async with (
                    reaching(address, secrets, self._access(definition, surroundings)) as (link, transport),
                    _agreed(definition, transport, surroundings, link) as client,
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

    def _access(self, definition: ServerDefinition, surroundings: Surroundings) -> TokenAccess:
        async def tokens() -> BearerTokens:
            found = await self._credentials.tokens(definition) if self._credentials is not None else None
            if found is None:
                raise SignInNeededError(definition.name)
            return found

        return TokenAccess(name=definition.name, tokens=tokens, hide=surroundings.log.hide)


@asynccontextmanager
async def _held(streams: Streams) -> AsyncGenerator[Streams]:
    yield streams


@asynccontextmanager
async def _agreed(
    definition: ServerDefinition,
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

    asked = AskedBack(definition.name, definition.fingerprint, surroundings.log)
    client = SdkClient(
        completing(transport),
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
        has_completions=can.completions is not None,
        unused=unused_in(can),
    )


def _command(program: Program, surroundings: Surroundings) -> Command:
    folder = surroundings.workspace / Path(program.cwd).expanduser()
    return Command(
        argv=(program.command, *program.args),
        cwd=folder,
        environ={**surroundings.environ, **program.env},
        takes_input=True,
    )
