"""OpenAI's Responses as a wire format: builds request bodies that the API accepts for any conversation.

Source: https://platform.openai.com/docs/api-reference/responses
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, cast

from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    BlobRef,
    ImageBlock,
    JsonObject,
    ModelRequest,
    OpaqueBlock,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers import sdk_types as sdk
from desktop_agent.core.providers.openai import OpenAIFormat, result_text
from desktop_agent.core.providers.responses_stream import (
    CACHE_FIELDS,
    CACHE_KEY,
    CACHE_OPTIONS,
    COMPARED,
    PHASE,
    SOURCES,
    WEB_SEARCH,
    ResponsesReader,
)
from desktop_agent.core.providers.strict_json import repaired
from desktop_agent.core.providers.wire_format import (
    PICTURE_GONE,
    Pictures,
    arguments_text,
    call_id_in,
    data_of,
    offered_tool,
    tool_name_in,
)

LONGEST_NAME = 64
LONGEST_CALL_ID = 64

ENCRYPTED: Final = "reasoning.encrypted_content"


def _reasoning(request: ModelRequest, left_out: frozenset[str]) -> "sdk.ResponsesReasoning":
    wanted: sdk.ResponsesReasoning = {}
    if "reasoning.summary" not in left_out:
        wanted["summary"] = "auto"
    if request.effort and "reasoning.effort" not in left_out:
        # The level is of the model's own list, which can be newer than the SDK.
        wanted["effort"] = cast("sdk.Effort", request.effort)
    return wanted


def _user_items(message: UserMessage, pictures: Pictures) -> "Iterator[sdk.ResponsesItem]":
    parts: list[sdk.ResponsesPart] = []
    for block in message.content:
        match block:
            case ToolResultBlock():
                yield _result(block, pictures)
            case TextBlock(text=text) if text.strip():
                parts.append(_text(text))
            case ImageBlock(image=image):
                parts.append(_picture(image, pictures))
            case TextBlock():
                pass
    if parts:
        yield _user_message(parts)


def _assistant_items(content: Sequence[AssistantBlock]) -> "Iterator[sdk.ResponsesItem]":
    """Yield the items of one answer. The API refuses thinking unless a message or a call follows it."""
    waiting: list[sdk.ResponsesItem] = []
    phase: object = None
    for block in content:
        match block:
            case OpaqueBlock(payload={"type": "reasoning"} as item):
                waiting.append(_returned(item))
            case OpaqueBlock(payload={"type": "message", "phase": phase}):
                pass  # it belongs to the text that follows
            case OpaqueBlock(payload=item) if item:
                yield from waiting
                waiting.clear()
                yield _returned(item)
            case TextBlock(text=text) if text.strip():
                yield from waiting
                waiting.clear()
                said: sdk.ResponsesMessage = {"type": "message", "role": "assistant", "content": repaired(text)}
                if phase:
                    said[PHASE] = cast("sdk.ResponsesPhase", phase)  # as it came, even if it is newer than the SDK
                yield said
                phase = None
            case ToolUseBlock():
                yield from waiting
                waiting.clear()
                call_id, name = call_id_in(block.id, LONGEST_CALL_ID), tool_name_in(block.name, LONGEST_NAME)
                arguments = arguments_text(block)
                yield {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
            case _:
                pass


def _returned(item: JsonObject) -> "sdk.ResponsesItem":
    """Return a copy of an item of the API's own, sent back as it came: it can be newer than the SDK."""
    return cast("sdk.ResponsesItem", dict(item))


def _result(result: ToolResultBlock, pictures: Pictures) -> "sdk.ResponsesItem":
    content, call_id = result_text(result), call_id_in(result.call_id, LONGEST_CALL_ID)
    if not result.images:
        return {"type": "function_call_output", "call_id": call_id, "output": content}
    parts = [_text(content), *(_picture(image, pictures) for image in result.images)]
    # The SDK declares these parts twice: for messages, and here with optional fields.
    return {"type": "function_call_output", "call_id": call_id, "output": cast("sdk.ResponsesOutput", parts)}


def _user_message(content: "list[sdk.ResponsesPart]") -> "sdk.ResponsesMessage":
    return {"type": "message", "role": "user", "content": content}


def _picture(image: BlobRef, pictures: Pictures) -> "sdk.ResponsesPart":
    data = data_of(image, pictures)
    if data is None:
        return _text(PICTURE_GONE)
    return {"type": "input_image", "detail": "auto", "image_url": f"data:{image.media_type};base64,{data}"}


def _text(text: str) -> "sdk.ResponsesPart":
    return {"type": "input_text", "text": repaired(text)}


def _tool(tool: ToolDefinition) -> "sdk.ResponsesTool":
    name, schema, description = offered_tool(tool, LONGEST_NAME)
    # Not strict: that would want every property required, and a tool's schema is passed on as it is.
    wire: sdk.ResponsesTool = {"type": "function", "strict": False, "name": name, "parameters": schema}
    if description:
        wire["description"] = description
    return wire


NOT_ON_A_PLAN = frozenset({"max_output_tokens", *CACHE_FIELDS})
"""Fields that a request must not have if it counts against a ChatGPT plan.

Source: https://developers.openai.com/siwc/token-sharing-open-source/models-and-inference
"""

_EFFORT = frozenset({"reasoning", "reasoning.effort"})


class ResponsesFormat(OpenAIFormat):
    answers_path = "/responses"

    def __init__(self, *, never: Collection[str] = (), searches: bool = False, names_sources: bool = False) -> None:
        # Models that do not think refuse `reasoning` and `include`; a summary also needs an organisation that was
        # verified. Older models do not know `prompt_cache_options`.
        super().__init__(
            "include",
            "reasoning.summary",
            *_EFFORT,
            "max_output_tokens",
            *CACHE_FIELDS,
            f"{CACHE_OPTIONS}.{COMPARED}",
            never=never,
            searches=searches,
            effort_fields=_EFFORT,
        )
        self._names_sources = names_sources

    def body(self, request: ModelRequest, pictures: Pictures) -> "sdk.ResponsesBody":
        left_out, searches = self.left_out(request.model), self.offers_search(request)
        items: list[sdk.ResponsesItem] = []
        for message in request.messages:
            match message:
                case UserMessage():
                    items.extend(_user_items(message, pictures))
                case AssistantMessage():
                    items.extend(_assistant_items(message.content))
        if request.pinned.strip():
            items.append(_user_message([_text(request.pinned)]))
        body: sdk.ResponsesBody = {
            "model": request.model,
            "max_output_tokens": request.max_tokens,
            "stream": True,
            "store": False,
            "include": [ENCRYPTED, SOURCES] if searches and self._names_sources else [ENCRYPTED],
            "input": items,
        }
        if request.conversation:
            body[CACHE_KEY] = request.conversation
        if request.follows and f"{CACHE_OPTIONS}.{COMPARED}" not in left_out:
            body[CACHE_OPTIONS] = {COMPARED: request.follows}
        if request.system.strip():
            body["instructions"] = repaired(request.system)
        if request.tools:
            body["tools"] = self.tools(request, _tool, WEB_SEARCH)
        if reasoning := _reasoning(request, left_out):
            body["reasoning"] = reasoning
        return body

    def reader(self) -> ResponsesReader:
        return ResponsesReader()
