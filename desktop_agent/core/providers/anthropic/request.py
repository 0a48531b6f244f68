"""A `ModelRequest` as the body of a Messages API request: pure, and valid whatever the conversation went through.

What the API refuses never gets into a body: blank text, empty messages, two user messages in a row, a name or an id
with other characters than it allows, thinking without its signature. Fields of ours never get in either. Cache
marks say where the stable parts end: behind the tools, the system prompt, the messages of the previous request, and the
last message.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import blake2b
from secrets import token_hex
from typing import Literal, NamedTuple, assert_never, cast

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    BlobRef,
    JsonObject,
    Message,
    ModelRequest,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from desktop_agent.core.providers.surrogates import repaired, repaired_json

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_CACHED: JsonObject = {"type": "ephemeral"}
_CACHEABLE = frozenset({"text", "tool_use", "tool_result"})
"""Blocks of ours that may carry a cache breakpoint. Thinking may not, and opaque blocks go back as they came."""

PICTURE_GONE = "[The picture is no longer available.]"
_PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class EncodedPictures:
    """The base64 of the pictures in the last request, because the next one has them again."""

    def __init__(self) -> None:
        self._kept: dict[Digest, bytes] = {}

    def encode(self, images: Mapping[Digest, bytes]) -> Mapping[Digest, bytes]:
        """Return `images` in base64, and forget those of earlier requests that are not among them."""
        kept = self._kept
        encoded = {digest: kept[digest] if digest in kept else b64encode(images[digest]) for digest in images}
        self._kept = encoded
        return encoded


class _Entry(NamedTuple):
    """The blocks that one message came to, before neighbours of one role are joined."""

    role: Literal["user", "assistant"]
    blocks: list[JsonObject]


def encode_request(request: ModelRequest, pictures: EncodedPictures | None = None) -> bytes:
    """Return the body as JSON. Raises `ProviderError` for a tool that cannot be offered.

    `pictures` remembers what was encoded for the request before. Takes milliseconds for a long conversation: call it
    from a thread.
    """
    return _encoded(request, request_body, pictures)


def encode_count(request: ModelRequest, pictures: EncodedPictures | None = None) -> bytes:
    """Return the body of a question for how many tokens `request` takes, as JSON. Otherwise like `encode_request`."""
    return _encoded(request, _count_body, pictures)


def _count_body(request: ModelRequest, pictures: Mapping[Digest, str]) -> JsonObject:
    body = request_body(request, pictures)
    return {key: value for key, value in body.items() if key not in ("max_tokens", "stream")}


def _encoded(
    request: ModelRequest,
    make_body: Callable[[ModelRequest, Mapping[Digest, str]], JsonObject],
    pictures: EncodedPictures | None,
) -> bytes:
    encoded = (pictures or EncodedPictures()).encode(request.images)
    # Megabytes of pictures are put in at the end: the JSON encoder would hold every other thread up meanwhile.
    token = token_hex(16)
    body = make_body(request, {digest: f"{token}:{digest}" for digest in encoded})
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    parts = re.split(rb"%s:([0-9a-f]+)" % token.encode(), text)
    parts[1::2] = [encoded[part.decode()] for part in parts[1::2]]
    return b"".join(parts)


def request_body(request: ModelRequest, pictures: Mapping[Digest, str]) -> JsonObject:
    """Return the body as a JSON object, with what `pictures` has as their data.

    It shares parts with `request` and with itself: for reading only.
    """
    entries = [_Entry(message.role, _blocks(message, pictures)) for message in request.messages]
    _mark(entries[: request.stable_messages])
    _mark(entries)
    if request.pinned.strip() and entries and entries[-1].role == "user":
        # Behind the breakpoint: the next request has this message without it, and finds the rest in the cache.
        entries[-1].blocks.append({"type": "text", "text": repaired(request.pinned)})
    body: JsonObject = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "stream": True,
        "messages": _joined(entries),
    }
    if request.system.strip():
        body["system"] = [{"type": "text", "text": repaired(request.system), "cache_control": _CACHED}]
    if request.tools:
        tools = [_tool(tool) for tool in request.tools]
        tools[-1]["cache_control"] = _CACHED
        body["tools"] = tools
    return body


def _mark(entries: list[_Entry]) -> None:
    """Put a cache breakpoint on the last block of the last message, or the nearest one before that can carry it."""
    for entry in reversed(entries):
        for block in reversed(entry.blocks):
            if block.get("type") in _CACHEABLE:
                block["cache_control"] = _CACHED
                return


def _joined(entries: list[_Entry]) -> list[JsonObject]:
    """Return the messages: empty ones left out, neighbours of one role joined, tool results first in each."""
    joined: list[_Entry] = []
    for entry in entries:
        if not entry.blocks:
            continue
        if joined and joined[-1].role == entry.role:
            joined[-1].blocks.extend(entry.blocks)
        else:
            joined.append(entry)
    return [{"role": entry.role, "content": sorted(entry.blocks, key=_is_no_result)} for entry in joined]


def _is_no_result(block: JsonObject) -> bool:
    return block.get("type") != "tool_result"


def _blocks(message: Message, pictures: Mapping[Digest, str]) -> list[JsonObject]:
    return [block for part in message.content if (block := _block(part, pictures)) is not None]


def _block(part: AssistantBlock | ToolResultBlock, pictures: Mapping[Digest, str]) -> JsonObject | None:
    """Return the block as the API takes it, or `None` for one that it would refuse."""
    match part:
        case TextBlock():
            return {"type": "text", "text": repaired(part.text)} if part.text.strip() else None
        case ThinkingBlock():
            if not part.signature:
                return None
            return {"type": "thinking", "thinking": part.thinking, "signature": part.signature}
        case RedactedThinkingBlock():
            return {"type": "redacted_thinking", "data": part.data}
        case ToolUseBlock():
            arguments = repaired_json(part.arguments)
            return {"type": "tool_use", "id": _call_id(part.id), "name": _past_name(part.name), "input": arguments}
        case ToolResultBlock():
            return _tool_result(part, pictures)
        case OpaqueBlock():
            return dict(part.payload)
        case _:
            assert_never(part)


def _tool_result(result: ToolResultBlock, pictures: Mapping[Digest, str]) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": _call_id(result.call_id)}
    content = repaired(result.content) if result.content.strip() else ""
    if result.is_error:  # an error must say something
        return block | {"content": content or "The call failed without saying why.", "is_error": True}
    if result.images:
        text: list[JsonObject] = [{"type": "text", "text": content}] if content else []
        return block | {"content": text + [_picture(image, pictures) for image in result.images]}
    return block | {"content": content} if content else block


def _picture(image: BlobRef, pictures: Mapping[Digest, str]) -> JsonObject:
    data = pictures.get(image.blob)
    if data is None or image.media_type not in _PICTURE_TYPES:
        return {"type": "text", "text": PICTURE_GONE}
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}


def _tool(tool: ToolDefinition) -> JsonObject:
    if not _NAME.fullmatch(tool.name):
        raise ProviderError(
            f"The tool “{tool.name}” has a name that the model's API does not accept.",
            fault="invalid_request",
            hint="Disable it, or rename it: letters, digits, _ and -, 128 at most.",
        )
    schema = cast("JsonObject", repaired_json(tool.input_schema))
    wire: JsonObject = {"name": tool.name, "input_schema": {"type": "object"} | schema}
    return wire | {"description": repaired(tool.description)} if tool.description.strip() else wire


def _past_name(name: str) -> str:
    """Return the name of a call that was made, perhaps by another provider's model or to a tool that never existed."""
    return name if _NAME.fullmatch(name) else re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:128] or "unknown"


def _call_id(call_id: CallId) -> str:
    """Return the id as the API takes it; another provider's id becomes one of its own that is the same every time."""
    if _CALL_ID.fullmatch(call_id):
        return call_id
    return f"call_{blake2b(call_id.encode(errors='surrogatepass'), digest_size=16).hexdigest()}"
