"""A `ModelRequest` as the body of a Messages API request: pure, and valid whatever the conversation went through.

What the API refuses never gets into a body: blank text, empty messages, two user messages in a row, a name or an id
with other characters than it allows, thinking without its signature. Fields of ours never get in either. Cache
marks say where the stable parts end: behind the tools, the system prompt, the messages of the previous request, and the
last message.
"""

from typing import Literal, NamedTuple, assert_never, cast

from desktop_agent.core.protocol.model import (
    AssistantBlock,
    BlobRef,
    ImageBlock,
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
    UserBlock,
)
from desktop_agent.core.providers.anthropic.hosted_calls import WEB_SEARCH, settle, text_block
from desktop_agent.core.providers.http.names import call_id_in, require_tool_name, tool_name_in
from desktop_agent.core.providers.http.pictures import (
    PICTURE_GONE,
    EncodedPictures,
    Pictures,
    data_of,
    encode_body,
)
from desktop_agent.core.providers.surrogates import repaired, repaired_json

_LONGEST_NAME = 128
_LONGEST_CALL_ID = 1_000
_CACHED: JsonObject = {"type": "ephemeral"}
_ONLY_FOR_ANSWERS = frozenset({"max_tokens", "stream", "diagnostics"})
"""Fields that a question for a count does not have."""
_CACHEABLE = frozenset({"text", "tool_use", "tool_result"})
"""Blocks of ours that may carry a cache breakpoint. Thinking may not, and opaque blocks go back as they came."""


class Shape(NamedTuple):
    """How a body differs from the usual one: what the model was found not to take, and what it takes besides."""

    left_out: frozenset[str] = frozenset()
    searches: bool = False
    """Whether the API's own web search takes the place of ours."""


USUAL_SHAPE = Shape()


class _Entry(NamedTuple):
    """The blocks that one message came to, before neighbours of one role are joined."""

    role: Literal["user", "assistant"]
    blocks: list[JsonObject]


def encode_request(request: ModelRequest, pictures: EncodedPictures | None = None, shape: Shape = USUAL_SHAPE) -> bytes:
    """Return the body as JSON. Raises `ProviderError` for a tool that cannot be offered.

    `pictures` remembers what was encoded for the request before. Takes milliseconds for a long conversation: call it
    from a thread.
    """
    return encode_body(request, lambda each, data: request_body(each, data, shape), pictures or EncodedPictures())


def encode_count(request: ModelRequest, pictures: EncodedPictures | None = None, shape: Shape = USUAL_SHAPE) -> bytes:
    """Return the body of a question for how many tokens `request` takes, as JSON. Otherwise like `encode_request`."""
    return encode_body(request, lambda each, data: _count_body(each, data, shape), pictures or EncodedPictures())


def _count_body(request: ModelRequest, pictures: Pictures, shape: Shape) -> JsonObject:
    body = request_body(request, pictures, shape)
    return {key: value for key, value in body.items() if key not in _ONLY_FOR_ANSWERS}


def request_body(request: ModelRequest, pictures: Pictures, shape: Shape = USUAL_SHAPE) -> JsonObject:
    """Return the body as a JSON object, with what `pictures` has as their data.

    It shares parts with `request` and with itself: for reading only.
    """
    entries = [_Entry(message.role, _blocks(message, pictures)) for message in request.messages]
    settle(entries)
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
    if request.effort:
        body["output_config"] = {"effort": request.effort}
    if request.system.strip():
        body["system"] = [{"type": "text", "text": repaired(request.system), "cache_control": _CACHED}]
    if request.tools:
        tools = [
            dict(WEB_SEARCH) if tool.hosted_tool == "web_search" and shape.searches else _tool(tool)
            for tool in request.tools
        ]
        tools[-1]["cache_control"] = _CACHED
        body["tools"] = tools
    if request.follows is not None:
        body["diagnostics"] = {"previous_message_id": request.follows or None}
    return {name: value for name, value in body.items() if name not in shape.left_out}


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


def _blocks(message: Message, pictures: Pictures) -> list[JsonObject]:
    return [block for part in message.content if (block := _block(part, pictures)) is not None]


def _block(part: AssistantBlock | UserBlock, pictures: Pictures) -> JsonObject | None:
    """Return the block as the API takes it, or `None` for one that it would refuse."""
    match part:
        case TextBlock():
            return text_block(part) if part.text.strip() else None
        case ThinkingBlock():
            if not part.signature:
                return None
            return {"type": "thinking", "thinking": part.thinking, "signature": part.signature}
        case RedactedThinkingBlock():
            return {"type": "redacted_thinking", "data": part.data}
        case ToolUseBlock():
            arguments = repaired_json(part.arguments)
            call_id, name = call_id_in(part.id, _LONGEST_CALL_ID), tool_name_in(part.name, _LONGEST_NAME)
            return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        case ToolResultBlock():
            return _tool_result(part, pictures)
        case ImageBlock(image=image):
            return _picture(image, pictures)
        case OpaqueBlock():
            return dict(part.payload) or None
        case _:
            assert_never(part)


def _tool_result(result: ToolResultBlock, pictures: Pictures) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": call_id_in(result.call_id, _LONGEST_CALL_ID)}
    content = repaired(result.content) if result.content.strip() else ""
    if result.is_error:  # an error must say something
        return block | {"content": content or "The call failed without saying why.", "is_error": True}
    if result.images:
        text: list[JsonObject] = [{"type": "text", "text": content}] if content else []
        return block | {"content": text + [_picture(image, pictures) for image in result.images]}
    return block | {"content": content} if content else block


def _picture(image: BlobRef, pictures: Pictures) -> JsonObject:
    data = data_of(image, pictures)
    if data is None:
        return {"type": "text", "text": PICTURE_GONE}
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}


def _tool(tool: ToolDefinition) -> JsonObject:
    require_tool_name(tool.name, _LONGEST_NAME)
    schema = cast("JsonObject", repaired_json(tool.input_schema))
    wire: JsonObject = {"name": tool.name, "input_schema": {"type": "object"} | schema}
    return wire | {"description": repaired(tool.description)} if tool.description.strip() else wire
