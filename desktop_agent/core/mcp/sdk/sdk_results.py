"""Converts what a server offers and answers from the SDK's types, within limits, and more tolerantly than the SDK.

Long lists are cut first: the SDK makes an object of each entry, which can block the loop for seconds.
"""

import base64
import binascii
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast

import mcp_types
from mcp.client._transport import ReadStream, TransportStreams  # what every transport of the SDK gives
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, JSONRPCResponse
from mcp_types.methods import SERVER_RESULTS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from msgspec import Struct, convert
from pydantic import BaseModel, TypeAdapter, ValidationError

from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.base.regex import regex
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

NEEDS_TASK = "It runs only as a task, which is not supported here."
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
        parts=tuple(map(part_of, result.content)), structured=result.structured_content, is_error=result.is_error
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

MOST_TOOLS: Final = 2_000

MOST_PARTS: Final = 1_000
"""How many parts of a result, a resource or a prompt are kept. A note reports how many were left out."""

MOST_ASKED_AT_ONCE: Final = 20
"""How many questions one answer of the stateless protocol may ask. An answer with more is refused."""

_LISTED: Final = {
    "tools": MOST_TOOLS + 1,
    "prompts": MOST_LISTED + 1,
    "resources": MOST_LISTED + 1,
    "resourceTemplates": MOST_LISTED + 1,
}
"""How many entries of a page are kept: one too many, so that the reader of the page notices the excess."""


def cut_long_lists(result: dict[str, object]) -> None:
    """Shorten lists of a raw result that are too long, in place. Refuse a result that asks too many questions."""
    _refuse_many_questions(result)
    for name, most in _LISTED.items():
        entries = result.get(name)
        if isinstance(entries, list):
            del cast("list[object]", entries)[most:]
    _cut_parts(result, "content", lambda said: {"type": "text", "text": said})
    _cut_parts(result, "contents", lambda said: {"uri": "", "text": said})
    _cut_parts(result, "messages", lambda said: {"role": "user", "content": {"type": "text", "text": said}})


def _refuse_many_questions(result: dict[str, object]) -> None:
    """Replace a result that asks too many questions by a failure."""
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


def _named(content: object) -> object:
    kind = as_object(content).get("type")
    if not isinstance(kind, str) or kind in _KNOWN:
        return content
    return {"type": "text", "text": f"[The server sent {kind[:_LONGEST_KIND]!r} here, which is not known: left out.]"}


Message = SessionMessage | Exception

_MOST_LEFT_OUT = 30
_LONGEST_WHY = 200
_ONLY_SHOWN = frozenset({"title", "description", "icons", "annotations", "_meta", "mimeType", "size", "execution"})
"""Optional fields, without which an offer can be used."""
_METHODS = {
    "tools": ("tools/list", mcp_types.ListToolsResult, "tool"),
    "prompts": ("prompts/list", mcp_types.ListPromptsResult, "prompt"),
    "resources": ("resources/list", mcp_types.ListResourcesResult, "resource"),
    "resourceTemplates": ("resources/templates/list", mcp_types.ListResourceTemplatesResult, "template"),
}
_VERSION = regex(r"\d{4}-\d{2}-\d{2}")


class Sieve:
    """Removes from raw results what the SDK's types would reject, and reports it. The rest is kept."""

    def __init__(self) -> None:
        self.version = LATEST_HANDSHAKE_VERSION
        """The negotiated version, whose types decide what is rejected."""
        self.unknown_version = ""
        """The version that the server insists on, if it is not one of those known here."""
        self._left_out: dict[str, dict[str, None]] = {name: {} for name in _METHODS}

    @property
    def left_out(self) -> tuple[str, ...]:
        said = [words for listing in self._left_out.values() for words in listing]
        more = len(said) - _MOST_LEFT_OUT
        return (*said[:_MOST_LEFT_OUT], f"and {more:,} more") if more > 0 else tuple(said)

    def begin(self, listing: str) -> None:
        self._left_out[listing].clear()

    def say(self, listing: str, words: str) -> None:
        self._left_out[listing][without_controls(words)[:_LONGEST_WHY]] = None

    def strain(self, result: dict[str, object]) -> None:
        result.setdefault("resultType", "complete")
        if not isinstance(result.get("_meta"), dict):
            result.pop("_meta", None)
        cut_long_lists(result)
        contents = result.get("content")
        if isinstance(contents, list):
            result["content"] = [_named(content) for content in cast("list[object]", contents)]
        if "protocolVersion" in result or "serverInfo" in result:
            self._mend_handshake(result)
        elif "supportedVersions" in result:
            _mend_capabilities(result)
            _mend_caching(result)
        for listing in _METHODS:
            if listing in result and "content" not in result:
                self._strain_listing(listing, result)

    def _mend_handshake(self, result: dict[str, object]) -> None:
        version, info = result.get("protocolVersion"), object_in(result, "serverInfo")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            result["protocolVersion"] = LATEST_HANDSHAKE_VERSION
            is_another = isinstance(version, str) and _VERSION.fullmatch(version) is not None
            self.unknown_version = str(version) if is_another else ""
        shown = {name: str(info[name]) if isinstance(info.get(name), str | int | float) else "" for name in _NAMED}
        result["serverInfo"] = shown
        _mend_capabilities(result)

    def _strain_listing(self, listing: str, result: dict[str, object]) -> None:
        method, whole, kind = _METHODS[listing]
        found = result[listing]
        if not isinstance(found, list):
            if found is not None:  # a list without entries, as some languages write it
                self.say(listing, f"its list of {kind}s, which is no list")
            found = []
        cursor = result.get("nextCursor")
        if isinstance(cursor, int) and not isinstance(cursor, bool):
            result["nextCursor"] = str(cursor)
        elif not isinstance(cursor, str | None):
            del result["nextCursor"]
            self.say(listing, f"the next page of its {kind}s, which cannot be asked for")
        if self.version in MODERN_PROTOCOL_VERSIONS:
            _mend_caching(result)
        page = cast("type[BaseModel]", SERVER_RESULTS.get((method, self.version), whole))
        models = tuple(model.model_fields[_FIELDS.get(listing, listing)].annotation for model in (page, whole))
        entries = cast("list[object]", found)
        for entry in entries:
            as_object(entry).pop("outputSchema", None)  # the SDK would refuse results that do not fit it
        for at, mistakes in _mistakes(models, entries).items():
            entry = as_object(entries[at])
            name = entry.get("name")
            who = f"the {kind} {name}" if isinstance(name, str) and name else f"{kind} {at + 1}"
            entries[at] = {field: value for field, value in entry.items() if field not in mistakes}
            spared = mistakes.keys() <= _ONLY_SHOWN and not _mistakes(models, entries[at : at + 1])
            for field, why in mistakes.items():
                self.say(listing, f"{field} of {who}: {why}" if spared else f"{who} ({field}: {why})")
            if not spared:
                entries[at] = None
        result[listing] = [entry for entry in entries if entry is not None]


_NAMED = ("name", "version")
_FIELDS = {"resourceTemplates": "resource_templates"}


def _mistakes(models: Sequence[object], entries: list[object]) -> dict[int, dict[str, str]]:
    wrong: dict[int, dict[str, str]] = {}
    for model in models:
        try:
            _list_of(model).validate_python(entries, by_name=False)
        except ValidationError as error:
            for mistake in error.errors(include_url=False, include_context=False, include_input=False):
                at, *path = mistake["loc"]
                field = str(path[0]) if path else "it"
                wrong.setdefault(cast("int", at), {}).setdefault(field, _in_place(path[1:], mistake["msg"]))
    return wrong


def _in_place(path: Sequence[object], said: str) -> str:
    where = ".".join(map(str, path))
    return f"{where}: {said}" if where else said


@lru_cache
def _list_of(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _mend_capabilities(result: dict[str, object]) -> None:
    """Keep only valid capabilities. If none is valid, the server is asked for its tools."""
    can = result.get("capabilities")
    if not isinstance(can, dict):
        result["capabilities"] = {"tools": {}}
    else:
        said = cast("dict[str, object]", can).items()
        result["capabilities"] = {name: _flags(name, value) for name, value in said if value not in (None, False)}
    if not isinstance(result.get("instructions"), str):
        result.pop("instructions", None)


def _flags(name: str, value: object) -> object:
    flags = as_object(value)
    try:
        mcp_types.ServerCapabilities.model_validate({name: flags}, by_name=False)
    except ValidationError:
        return {}
    return flags


def _mend_caching(result: dict[str, object]) -> None:
    if result.get("cacheScope") not in ("private", "public"):
        result["cacheScope"] = "private"
    if not isinstance(result.get("ttlMs"), int):
        result["ttlMs"] = 0


@asynccontextmanager
async def completing(
    transport: AbstractAsyncContextManager[TransportStreams], sieve: Sieve
) -> AsyncGenerator[TransportStreams]:
    async with transport as (received, sent):
        yield _Completing(received, sieve), sent


class _Completing:
    def __init__(self, inner: ReadStream[Message], sieve: Sieve) -> None:
        self._inner = inner
        self._sieve = sieve

    @property
    def last_context(self) -> Context | None:
        """The context of the sender. The SDK looks for this attribute."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Message:
        return self._strained(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        return self._strained(await self._inner.__anext__())

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)

    def _strained(self, item: Message) -> Message:
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            self._sieve.strain(item.message.result)
        return item


MOST_PAGES = 2_000
"""How many pages a list may have, so that an endless one does not block the session."""

P = TypeVar("P", bound=mcp_types.PaginatedResult)
T = TypeVar("T")
Offer = TypeVar("Offer", bound=Struct)


def offered(found: BaseModel, kind: type[Offer]) -> Offer:
    fields = set(kind.__struct_encode_fields__)
    return convert(found.model_dump(include=fields, exclude_none=True), learned(kind))


async def listed(
    fetch: Callable[..., Awaitable[P]], items: Callable[[P], Sequence[T]], listing: str, sieve: Sieve
) -> list[T]:
    """Return the items of all pages without duplicates. If a later page fails, the items before it are kept."""
    found: dict[str, T] = {}
    cursors: set[str] = set()
    cursor: str | None = None
    most, about = _LISTED[listing] - 1, f"the rest of its {_METHODS[listing][2]}s"
    sieve.begin(listing)
    for _ in range(MOST_PAGES):
        try:
            page = await fetch(cursor=cursor, cache_mode="refresh")
        except MCPError as error:
            if not cursors or error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
                raise
            sieve.say(listing, f"{about}: the next page was refused")
            break
        known = len(found)
        for item in items(page):
            found.setdefault(getattr(item, _IDENTITY.get(listing, "name")), item)
        cursor = page.next_cursor
        if len(found) > most:
            sieve.say(listing, f"{about}: there are more than {most:,}")
            break
        if not cursor:  # some languages write the missing one as an empty text
            break
        if cursor in cursors or (cursors and items(page) and len(found) == known):
            sieve.say(listing, f"{about}: its list never ends, it gives the same page again")
            break
        cursors.add(cursor)
    else:
        sieve.say(listing, f"{about}: its list has more than {MOST_PAGES:,} pages")
    return list(found.values())[:most]


_IDENTITY = {"resources": "uri", "resourceTemplates": "uri_template"}


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
