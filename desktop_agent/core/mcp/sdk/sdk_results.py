"""Converts what a server offers and answers from the SDK's types to ours, within limits, more tolerantly than the SDK.

The version 2026-07-28 asks servers to mark a result as complete, and clients to do without the mark (SEP-2322); the SDK
refuses a result without it. The SDK also refuses a whole result for one unknown content, which is named here instead.
And it makes an object of every entry of a list, so long lists are cut first: a message can have 16 MiB, which is room
for 200,000 entries, and making objects of them blocks the loop for seconds.
"""

import base64
import binascii
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from types import TracebackType
from typing import Final, Self, TypeVar, cast

import mcp_types
from mcp.client._transport import ReadStream, TransportStreams  # what every transport of the SDK gives
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from msgspec import Struct, convert
from pydantic import BaseModel

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.mcp.server_status import (
    CallReply,
    LinkPart,
    MediaPart,
    OfferedTool,
    Part,
    ResourcePart,
    TextPart,
)
from desktop_agent.core.protocol.codec import as_object, object_in

NEEDS_TASK = "It runs only as a task, which is waited for in other ways than a call. That is not supported here."
ONLY_FOR_VIEW = "It is only for the server's own interactive view, which is not shown here."

_LONGEST_ADDRESS = 200
_MOST_UNUSED = 30
_LONGEST_NAME = 100


def offered_tool(tool: mcp_types.Tool) -> OfferedTool:
    hints, meta = tool.annotations, tool.meta or {}
    ui = object_in(meta, "ui")
    view = ui.get("resourceUri", meta.get("ui/resourceUri"))
    unusable = ONLY_FOR_VIEW if ui.get("visibility") == ["app"] else ""
    if tool.execution is not None and tool.execution.task_support == "required":
        unusable = NEEDS_TASK
    return OfferedTool(
        name=tool.name,
        title=tool.title or (hints.title if hints and hints.title else ""),
        description=tool.description or "",
        input_schema=tool.input_schema,
        only_reads=hints.read_only_hint if hints else None,
        destroys=hints.destructive_hint if hints else None,
        annotations=hints.model_dump(mode="json", by_alias=True, exclude_none=True) if hints else {},
        view=view[:_LONGEST_ADDRESS] if isinstance(view, str) else "",
        unusable=unusable,
    )


def unused_in(can: mcp_types.ServerCapabilities) -> tuple[str, ...]:
    known = {
        "tasks": can.tasks is not None,
        "subscriptions to resources": can.resources is not None and bool(can.resources.subscribe),
    }
    names = [*(can.extensions or {}), *(f"experimental: {name}" for name in can.experimental or {})]
    said = [*(words for words, is_there in known.items() if is_there), *(name[:_LONGEST_NAME] for name in names)]
    return tuple(said[:_MOST_UNUSED])


def reply_of(result: mcp_types.CallToolResult) -> CallReply:
    return CallReply(
        parts=tuple(map(part_of, result.content)),
        structured=result.structured_content,
        is_error=result.is_error,
    )


def part_of(block: mcp_types.ContentBlock) -> Part:
    match block:
        case mcp_types.TextContent():
            return TextPart(block.text)
        case mcp_types.ImageContent() | mcp_types.AudioContent():
            return _media(block.data, block.mime_type, "")
        case mcp_types.ResourceLink():
            return LinkPart(block.uri, block.name, block.description or "", block.mime_type or "")
        case mcp_types.EmbeddedResource():
            return embedded(block.resource)


def embedded(file: mcp_types.TextResourceContents | mcp_types.BlobResourceContents) -> Part:
    if isinstance(file, mcp_types.TextResourceContents):
        return ResourcePart(file.uri, file.text, file.mime_type or "")
    return _media(file.blob, file.mime_type or "application/octet-stream", file.uri)


def _media(data: str, media_type: str, uri: str) -> Part:
    try:
        return MediaPart(base64.b64decode(data, validate=True), media_type, uri)
    except binascii.Error:
        return TextPart(f"[{media_type} that is not valid base64 was left out]")


MOST_LISTED: Final = 20_000
"""How many entries of one page of a listing are kept; `listing` refuses more than it takes, in words."""

MOST_TOOLS: Final = 2_000
"""How many tools of one server are listed. A page keeps one more, so that its reader can refuse the listing."""

MOST_PARTS: Final = 1_000
"""How many parts of a result, a resource or a prompt are kept; a note at the end says how many were left out."""

MOST_ASKED_AT_ONCE: Final = 20
"""How many questions one answer of the stateless era may ask; one with more is refused as a whole."""

_LISTED: Final = {
    "tools": MOST_TOOLS + 1,
    "prompts": MOST_LISTED + 1,
    "resources": MOST_LISTED + 1,
    "resourceTemplates": MOST_LISTED + 1,
}


def cut_long_lists(result: dict[str, object]) -> None:
    """Shorten overlong lists of a raw result, in place, and refuse one that asks too many questions."""
    _refuse_many_questions(result)
    for name, most in _LISTED.items():
        entries = result.get(name)
        if isinstance(entries, list):
            del cast("list[object]", entries)[most:]
    _cut_parts(result, "content", lambda said: {"type": "text", "text": said})
    _cut_parts(result, "contents", lambda said: {"uri": "", "text": said})
    _cut_parts(result, "messages", lambda said: {"role": "user", "content": {"type": "text", "text": said}})


def _refuse_many_questions(result: dict[str, object]) -> None:
    """Replace a result that asks too many questions by a failure: answering half of them would be no answer."""
    count = len(object_in(result, "inputRequests"))
    if count > MOST_ASKED_AT_ONCE and result.get("resultType") == "input_required":
        text = f"[The server asked for {count:,} things at once; no more than {MOST_ASKED_AT_ONCE} are answered.]"
        result.clear()
        result |= {"resultType": "complete", "isError": True, "content": [{"type": "text", "text": text}]}


def _cut_parts(result: dict[str, object], name: str, part_saying: Callable[[str], object]) -> None:
    found = result.get(name)
    if not isinstance(found, list):
        return
    parts = cast("list[object]", found)
    left_out = len(parts) - MOST_PARTS
    if left_out > 0:
        parts[MOST_PARTS:] = [part_saying(f"[{left_out:,} more parts of the server's answer were left out.]")]


_KNOWN = frozenset({"text", "image", "audio", "resource_link", "resource"})
_LONGEST_KIND = 40


def name_unknown_contents(result: dict[str, object]) -> None:
    """Replace every content of unknown kind in a raw result by a text, in place."""
    contents = result.get("content")
    if isinstance(contents, list):
        result["content"] = [_named(content) for content in cast("list[object]", contents)]


def _named(content: object) -> object:
    kind = as_object(content).get("type")
    if not isinstance(kind, str) or kind in _KNOWN:
        return content
    return {"type": "text", "text": f"[The server sent {kind[:_LONGEST_KIND]!r} here, which is not known: left out.]"}


Message = SessionMessage | Exception


@asynccontextmanager
async def completing(transport: AbstractAsyncContextManager[TransportStreams]) -> AsyncGenerator[TransportStreams]:
    """Wrap the streams of a transport so that every result says what kind it is."""
    async with transport as (received, sent):
        yield _Completing(received), sent


class _Completing:
    def __init__(self, inner: ReadStream[Message]) -> None:
        self._inner = inner

    @property
    def last_context(self) -> Context | None:
        """The context of the sender; the SDK looks for this attribute."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Message:
        return _completed(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        return _completed(await self._inner.__anext__())

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)


def _completed(item: Message) -> Message:
    if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
        item.message.result.setdefault("resultType", "complete")
        cut_long_lists(item.message.result)
        name_unknown_contents(item.message.result)
    return item


MOST_PAGES = 2_000
"""How many pages a list may have, so that an endless listing does not hang the session."""


P = TypeVar("P", bound=mcp_types.PaginatedResult)
T = TypeVar("T")
Offer = TypeVar("Offer", bound=Struct)


def offered(found: BaseModel, kind: type[Offer]) -> Offer:
    """Return a prompt, a resource or a template: what `kind` has of the fields that the server has set."""
    fields = set(kind.__struct_encode_fields__)
    return convert(found.model_dump(include=fields, exclude_none=True), learned(kind))


async def listed(
    fetch: Callable[..., Awaitable[P]], items: Callable[[P], Sequence[T]], most: int = MOST_LISTED
) -> list[T]:
    """Return the items of all pages. Raises `ServerError` if there are too many, or pages go round in a circle."""
    found: list[T] = []
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await fetch(cursor=cursor, cache_mode="refresh")
        found += items(page)
        if len(found) > most:
            raise ServerError(f"Its list has more than {most:,} entries.")
        cursor = page.next_cursor
        if cursor is None:
            return found
        if cursor in cursors:
            raise ServerError("Its list never ends: it gives the same next page again.")
        cursors.add(cursor)
    raise ServerError(f"Its list has more than {MOST_PAGES:,} pages.")


def said_in(message: mcp_types.PromptMessage) -> str:
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
