"""A server that answers, by the SDK's client: what it offers, and calls, with errors in words."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import mcp_types
from mcp import Client as SdkClient
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.client import AskUser
from desktop_agent.core.mcp.offers import (
    CallReply,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    Part,
    Progress,
    ResourceTemplate,
    ServerFacts,
)
from desktop_agent.core.mcp.sampling import SampledAnswer, SampleModel, SamplingRequest
from desktop_agent.core.mcp.sdk.asked_back import AskedBack, pages_wanted
from desktop_agent.core.mcp.sdk.failures import in_words
from desktop_agent.core.mcp.sdk.http.http_link import HttpLink
from desktop_agent.core.mcp.sdk.idle_timeout import IdleTimeout
from desktop_agent.core.mcp.sdk.listing import (
    completed,
    prompt_text,
    prompts_of,
    resource_parts,
    resources_of,
    templates_of,
    tools_of,
)
from desktop_agent.core.mcp.sdk.process_transport import ServerProcess
from desktop_agent.core.mcp.sdk.reading import reply_of
from desktop_agent.core.protocol.model import Decision, ServerQuestion

T = TypeVar("T")


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
        with in_words(self._way):
            return await tools_of(self._client)

    async def prompts(self) -> tuple[OfferedPrompt, ...]:
        """Return every prompt that it offers now. Raises `ServerError`."""
        with in_words(self._way):
            return await prompts_of(self._client)

    async def prompt(self, name: str, arguments: Mapping[str, str], *, timeout_s: float) -> str:
        """Return the text that a prompt comes to. Raises `ServerError`."""
        return await self._within(timeout_s, prompt_text(self._client, name, arguments))

    async def resources(self) -> tuple[OfferedResource, ...]:
        """Return every resource that it lists now. Raises `ServerError`."""
        with in_words(self._way):
            return await resources_of(self._client)

    async def templates(self) -> tuple[ResourceTemplate, ...]:
        """Return every template of resources that it lists now. Raises `ServerError`."""
        with in_words(self._way):
            return await templates_of(self._client)

    async def read(self, uri: str, *, timeout_s: float) -> tuple[Part, ...]:
        """Return what the resource at `uri` holds, in its parts. Raises `ServerError`."""
        return await self._within(timeout_s, resource_parts(self._client, uri))

    async def complete(
        self, template: str, name: str, value: str, others: Mapping[str, str], *, timeout_s: float
    ) -> tuple[str, ...]:
        """Return what a part of a template may be; nothing from a server that does not know. Raises `ServerError`."""
        if not self.facts.has_completions:
            return ()
        return await self._within(timeout_s, completed(self._client, template, name, value, others))

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
        """Call a tool. Raises `ServerError`; a failure that the server reports as a result is a reply."""
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
            title = f"The server gave no sign for {timeout_s:g} s, so the call was cancelled."
            raise ServerError(
                title, hint="Ask for less at a time, or raise call_timeout_seconds of this server."
            ) from error
        return reply_of(reply)

    async def _called(
        self, tool: str, arguments: dict[str, object], progressed: ProgressFnT
    ) -> mcp_types.CallToolResult:
        """Call a tool; once more after the user visited what a server wants visited before it does anything."""
        try:
            return await self._client.call_tool(tool, arguments, progress_callback=progressed)
        except MCPError as error:
            if why := self._asked.why_refused(error):
                raise ServerError(f"It needs an answer of the model, which it does not get: {why}") from error
            if not await self._asked.have_visited(pages_wanted(error)):
                raise
        return await self._client.call_tool(tool, arguments, progress_callback=progressed)

    async def ended(self) -> str:
        """Return when the server is gone, and say how it went; raise `ServerError` for one that is only reached."""
        return await self._way.ended()
