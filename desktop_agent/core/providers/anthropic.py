"""Anthropic's Messages API as a wire format: builds request bodies that the API accepts for any conversation.

Source: https://platform.claude.com/docs/en/api/messages
"""

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, assert_never, cast

from desktop_agent.core.models.known_model import LEVELS, ListedModel
from desktop_agent.core.models.vendors import Cloud
from desktop_agent.core.protocol.codec import object_in, objects_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    BlobRef,
    ImageBlock,
    JsonObject,
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
from desktop_agent.core.providers import sdk_types as sdk
from desktop_agent.core.providers.anthropic_stream import WEB_SEARCH, AnthropicReader, read_refusal, settle, text_block
from desktop_agent.core.providers.faults import FailedCall, Refusal, RefusedError, not_the_api
from desktop_agent.core.providers.strict_json import repaired, repaired_object
from desktop_agent.core.providers.wire_format import (
    PICTURE_GONE,
    EncodedPictures,
    Pictures,
    WireFormat,
    call_id_in,
    data_of,
    json_object,
    offered_tool,
    size_in,
    tool_name_in,
)

_LONGEST_NAME = 128
_LONGEST_CALL_ID = 1_000
_CACHED: "sdk.AnthropicMark" = {"type": "ephemeral"}
_ONLY_FOR_ANSWERS = frozenset({"max_tokens", "stream", "diagnostics"})


class _Entry(NamedTuple):
    role: Literal["user", "assistant"]
    blocks: "list[sdk.AnthropicBlock]"


def _mark(entries: list[_Entry]) -> None:
    for entry in reversed(entries):
        for block in reversed(entry.blocks):
            match block:
                case {"type": "text" | "tool_use" | "tool_result"}:
                    block["cache_control"] = _CACHED
                    return
                case _:
                    pass


def _joined(entries: list[_Entry]) -> "list[sdk.AnthropicMessage]":
    """Drop empty messages and join neighbours of one role, with tool results first."""
    joined: list[_Entry] = []
    for entry in entries:
        if not entry.blocks:
            continue
        if joined and joined[-1].role == entry.role:
            joined[-1].blocks.extend(entry.blocks)
        else:
            joined.append(entry)
    for entry in joined:
        entry.blocks.sort(key=lambda block: block.get("type") != "tool_result")
    return [
        {"role": "user", "content": blocks} if role == "user" else {"role": "assistant", "content": blocks}
        for role, blocks in joined
    ]


def _block(part: AssistantBlock | UserBlock, pictures: Pictures) -> "sdk.AnthropicBlock | None":
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
            arguments = repaired_object(part.arguments)
            call_id, name = call_id_in(part.id, _LONGEST_CALL_ID), tool_name_in(part.name, _LONGEST_NAME)
            return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        case ToolResultBlock():
            return _tool_result(part, pictures)
        case ImageBlock(image=image):
            return _picture(image, pictures)
        case OpaqueBlock():
            # A block of the API's own, sent back as it came: it can be newer than the SDK.
            return cast("sdk.AnthropicBlock", dict(part.payload)) if part.payload else None
        case _:
            assert_never(part)


def _tool_result(result: ToolResultBlock, pictures: Pictures) -> "sdk.AnthropicResult":
    call_id = call_id_in(result.call_id, _LONGEST_CALL_ID)
    block: sdk.AnthropicResult = {"type": "tool_result", "tool_use_id": call_id}
    content = repaired(result.content) if result.content.strip() else ""
    if result.is_error:  # an error must say something
        block["content"] = content or "The call failed without saying why."
        block["is_error"] = True
    elif result.images:
        text: list[sdk.AnthropicText] = [{"type": "text", "text": content}] if content else []
        block["content"] = [*text, *(_picture(image, pictures) for image in result.images)]
    elif content:
        block["content"] = content
    return block


def _picture(image: BlobRef, pictures: Pictures) -> "sdk.AnthropicText | sdk.AnthropicPicture":
    data = data_of(image, pictures)
    if data is None:
        return {"type": "text", "text": PICTURE_GONE}
    source = cast("sdk.AnthropicSource", {"type": "base64", "media_type": image.media_type, "data": data})
    return {"type": "image", "source": source}  # the type is one of the four that `data_of` knows


def _tool(tool: ToolDefinition) -> "sdk.AnthropicTool":
    name, schema, description = offered_tool(tool, _LONGEST_NAME)
    wire: sdk.AnthropicTool = {"name": name, "input_schema": schema}
    if description:
        wire["description"] = description
    return wire


def _listed(entry: JsonObject) -> ListedModel:
    can = object_in(entry, "capabilities")
    efforts = object_in(can, "effort")
    label = entry.get("display_name")
    return ListedModel(
        name=cast("str", entry["id"]),
        label=label if isinstance(label, str) else "",
        context_tokens=size_in(entry, "max_input_tokens"),
        output_tokens=size_in(entry, "max_tokens"),
        takes_images=_supports(can, "image_input"),
        thinks=_supports(can, "thinking"),
        takes_tools=True if can else None,
        efforts=tuple(level for level in LEVELS["anthropic"] if _supports(efforts, level)) if "effort" in can else None,
    )


def _supports(abilities: JsonObject, name: str) -> bool | None:
    said = object_in(abilities, name).get("supported")
    return said if isinstance(said, bool) else None


API_VERSION = "2026-10-21"

ONLY_AT_HOME = frozenset({"diagnostics"})
"""Optional fields that are sent only to Anthropic itself, and not to other servers of this format."""


class AnthropicFormat(WireFormat):
    answers_path = "/v1/messages"
    models_path = "/v1/models?limit=1000"  # the API's largest page, the newest first
    count_path = "/v1/messages/count_tokens"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": API_VERSION}

    def __init__(self, *, never: Collection[str] = (), searches: bool = False, cloud: Cloud | None = None) -> None:
        super().__init__("diagnostics", never=never, searches=searches)
        if cloud is not None:
            self.models_path = ""
            self.count_path = self.count_path if cloud.counts else ""

    def body(self, request: ModelRequest, pictures: Pictures) -> "sdk.AnthropicBody":
        """Return the body as a JSON object. The body shares parts with `request`, so do not modify it."""
        entries = [
            _Entry(message.role, [block for part in message.content if (block := _block(part, pictures)) is not None])
            for message in request.messages
        ]
        settle(entries)
        _mark(entries[: request.stable_messages])
        _mark(entries)
        if request.pinned.strip() and entries and entries[-1].role == "user":
            # Behind the breakpoint: the next request has this message without it, and finds the rest in the cache.
            entries[-1].blocks.append({"type": "text", "text": repaired(request.pinned)})
        body: sdk.AnthropicBody = {
            "model": request.model,
            "max_tokens": request.max_tokens,
            "stream": True,
            "messages": _joined(entries),
        }
        if request.effort:
            # The level is of the model's own list, which can be newer than the SDK.
            body["output_config"] = cast("sdk.AnthropicOutput", {"effort": request.effort})
        if request.system.strip():
            body["system"] = [{"type": "text", "text": repaired(request.system), "cache_control": _CACHED}]
        if request.tools:
            tools = self.tools(request, _tool, WEB_SEARCH)
            tools[-1]["cache_control"] = _CACHED
            body["tools"] = tools
        if request.follows is not None:
            body["diagnostics"] = {"previous_message_id": request.follows or None}
        return body

    def reader(self) -> AnthropicReader:
        return AnthropicReader()

    def refusal(self, error: RefusedError) -> Refusal:
        return read_refusal(error)

    def encode_count(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        return self._encoded(request, pictures, _ONLY_FOR_ANSWERS)

    def read_count(self, answer: bytes, call: FailedCall) -> int:
        count = size_in(json_object(answer, call, "the count of tokens is not JSON"), "input_tokens")
        if count is None:
            raise not_the_api(call, "the count of tokens has no number")
        return count

    def read_models(self, page: bytes, call: FailedCall) -> Sequence[ListedModel]:
        """Return the models of a `GET /v1/models` answer that are not retired, in the answer's order."""
        answer = json_object(page, call, "the list of models is not JSON")
        if not isinstance(answer.get("data"), list):
            raise not_the_api(call, "the list of models has no data")
        entries = objects_in(answer, "data")
        return [
            _listed(entry)
            for entry in entries
            if isinstance(entry.get("id"), str) and entry.get("lifecycle") != "retired"
        ]
