"""What a server offers besides tools, by the SDK's client: prompts, and resources to read."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

import mcp_types
from mcp import Client as SdkClient

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.offers import (
    FilePart,
    LinkPart,
    MediaPart,
    OfferedPrompt,
    OfferedResource,
    PromptArgument,
    TextPart,
)
from desktop_agent.core.mcp.sdk.reading import part_of

MOST_OFFERS = 2_000
"""How many prompts or resources of one server are listed; a listing that never ends must not hang the session."""


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


P = TypeVar("P", bound=_Page)


async def prompts_of(client: SdkClient) -> tuple[OfferedPrompt, ...]:
    """Return every prompt that the server offers now."""
    pages = await _pages(lambda cursor: client.list_prompts(cursor=cursor, cache_mode="refresh"))
    return tuple(_prompt(prompt) for page in pages for prompt in page.prompts)


async def resources_of(client: SdkClient) -> tuple[OfferedResource, ...]:
    """Return every resource that the server lists now. Templates, which stand for any number of them, are left out."""
    pages = await _pages(lambda cursor: client.list_resources(cursor=cursor, cache_mode="refresh"))
    return tuple(
        OfferedResource(uri=found.uri, name=found.name, title=found.title or "", media_type=found.mime_type or "")
        for page in pages
        for found in page.resources
    )


async def prompt_text(client: SdkClient, name: str, arguments: Mapping[str, str]) -> str:
    """Return the messages of a prompt as one text."""
    result = await client.get_prompt(name, dict(arguments))
    return "\n\n".join(filter(None, map(_said, result.messages)))


async def _pages(fetch: Callable[[str | None], Awaitable[P]]) -> list[P]:
    pages: list[P] = []
    cursor: str | None = None
    while True:
        page = await fetch(cursor)
        pages.append(page)
        cursor = page.next_cursor
        if cursor is None:
            return pages
        if len(pages) >= MOST_OFFERS:
            raise ServerError(f"Its list has more than {MOST_OFFERS:,} pages.")


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
        case FilePart(uri=uri, text=text):
            said = f"[{uri}]\n{text}"
        case LinkPart(uri=uri, name=name):
            said = f"[{name}, at {uri}]"
        case MediaPart(media_type=media_type):
            said = f"[{media_type}, which is left out]"
    return said if message.role == "user" else f"Assistant: {said}"
