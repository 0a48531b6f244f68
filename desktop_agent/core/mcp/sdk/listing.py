"""What a server offers, by the SDK's client: tools, prompts, and resources to read."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import mcp_types
from mcp import Client as SdkClient
from mcp import MCPError

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.offers import (
    LinkPart,
    MediaPart,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    Part,
    PromptArgument,
    ResourcePart,
    ResourceTemplate,
    TextPart,
)
from desktop_agent.core.mcp.sdk.long_lists import MOST_LISTED, MOST_TOOLS
from desktop_agent.core.mcp.sdk.reading import embedded, offered_tool, part_of

MOST_PAGES = 2_000
"""How many pages a list may have; a listing that never ends must not hang the session."""


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


MOST_COMPLETIONS = 100

P = TypeVar("P", bound=_Page)


async def tools_of(client: SdkClient) -> tuple[OfferedTool, ...]:
    """Return every tool that the server offers now."""
    pages = await _pages(
        lambda cursor: client.list_tools(cursor=cursor, cache_mode="refresh"), lambda page: page.tools, MOST_TOOLS
    )
    return tuple(offered_tool(tool) for page in pages for tool in page.tools)


async def prompts_of(client: SdkClient) -> tuple[OfferedPrompt, ...]:
    """Return every prompt that the server offers now."""
    pages = await _pages(
        lambda cursor: client.list_prompts(cursor=cursor, cache_mode="refresh"), lambda page: page.prompts
    )
    return tuple(_prompt(prompt) for page in pages for prompt in page.prompts)


async def resources_of(client: SdkClient) -> tuple[OfferedResource, ...]:
    """Return every resource that the server lists now."""
    pages = await _pages(
        lambda cursor: client.list_resources(cursor=cursor, cache_mode="refresh"), lambda page: page.resources
    )
    return tuple(
        OfferedResource(
            uri=found.uri,
            name=found.name,
            title=found.title or "",
            media_type=found.mime_type or "",
            description=found.description or "",
            size=found.size,
        )
        for page in pages
        for found in page.resources
    )


async def templates_of(client: SdkClient) -> tuple[ResourceTemplate, ...]:
    """Return every template of resources that the server lists now; none of a server that knows no templates."""
    try:
        pages = await _pages(
            lambda cursor: client.list_resource_templates(cursor=cursor, cache_mode="refresh"),
            lambda page: page.resource_templates,
        )
    except MCPError as error:
        if error.code == mcp_types.METHOD_NOT_FOUND:
            return ()
        raise
    return tuple(
        ResourceTemplate(
            uri_template=found.uri_template,
            name=found.name,
            title=found.title or "",
            media_type=found.mime_type or "",
            description=found.description or "",
        )
        for page in pages
        for found in page.resource_templates
    )


async def resource_parts(client: SdkClient, uri: str) -> tuple[Part, ...]:
    """Return what a resource holds, in its parts."""
    result = await client.read_resource(uri, cache_mode="bypass")
    return tuple(map(embedded, result.contents))


async def completed(
    client: SdkClient, template: str, name: str, value: str, others: Mapping[str, str]
) -> tuple[str, ...]:
    """Return what a part of a template may be. The protocol allows a hundred values."""
    reference = mcp_types.ResourceTemplateReference(uri=template)
    result = await client.complete(reference, {"name": name, "value": value}, dict(others) or None)
    return tuple(result.completion.values[:MOST_COMPLETIONS])


async def prompt_text(client: SdkClient, name: str, arguments: Mapping[str, str]) -> str:
    """Return the messages of a prompt as one text."""
    result = await client.get_prompt(name, dict(arguments))
    return "\n\n".join(filter(None, map(_said, result.messages)))


async def _pages(
    fetch: Callable[[str | None], Awaitable[P]], items: Callable[[P], Sequence[object]], most: int = MOST_LISTED
) -> list[P]:
    """Return all pages of a list. Raises `ServerError` for one that has too many, or that goes round in a circle."""
    pages: list[P] = []
    count = 0
    cursors: set[str] = set()
    cursor: str | None = None
    while True:
        page = await fetch(cursor)
        pages.append(page)
        count += len(items(page))
        if count > most:
            raise ServerError(f"Its list has more than {most:,} entries.")
        cursor = page.next_cursor
        if cursor is None:
            return pages
        if cursor in cursors:
            raise ServerError("Its list never ends: it gives the same next page again.")
        if len(pages) >= MOST_PAGES:
            raise ServerError(f"Its list has more than {MOST_PAGES:,} pages.")
        cursors.add(cursor)


def _prompt(prompt: mcp_types.Prompt) -> OfferedPrompt:
    return OfferedPrompt(
        name=prompt.name,
        title=prompt.title or "",
        description=prompt.description or "",
        arguments=tuple(
            PromptArgument(name=argument.name, is_required=bool(argument.required))
            for argument in prompt.arguments or ()
        ),
    )


def _said(message: mcp_types.PromptMessage) -> str:
    match part_of(message.content):
        case TextPart(text=text):
            said = text
        case ResourcePart(uri=uri, text=text):
            said = f"[{uri}]\n{text}"
        case LinkPart(uri=uri, name=name):
            said = f"[{name}, at {uri}]"
        case MediaPart(media_type=media_type):
            said = f"[{media_type}, which is left out]"
    return said if message.role == "user" else f"Assistant: {said}"
