"""OpenAI's Responses as a wire format, and its requests: valid whatever the conversation went through.

The vendor stores nothing (`store` is false), so thinking goes back encrypted, as the items that it came in. The API
refuses such an item unless what it led to follows: a message or a call of the same answer. Source:
https://platform.openai.com/docs/api-reference/responses
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.vendors import WireName
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
from desktop_agent.core.providers.faults import FailedCall, Refusal, RefusedError
from desktop_agent.core.providers.openai import read_models, read_refusal
from desktop_agent.core.providers.responses_stream import (
    CACHE_FIELDS,
    CACHE_OPTIONS,
    COMPARED,
    PHASE,
    SOURCES,
    WEB_SEARCH,
    ResponsesReader,
    cache_fields,
)
from desktop_agent.core.providers.strict_json import repaired, repaired_json
from desktop_agent.core.providers.wire_format import (
    PICTURE_GONE,
    EncodedPictures,
    HostedSearch,
    LeftOut,
    Pictures,
    call_id_in,
    data_of,
    encode_body,
    require_tool_name,
    tool_name_in,
)

LONGEST_NAME = 64
LONGEST_CALL_ID = 64

ENCRYPTED = "reasoning.encrypted_content"

_CALL_FAILED = "The call failed without saying why."
_NOTHING = "(no output)"


class Shape(NamedTuple):
    """How a body differs from the usual one: what the model was found not to take, and what it takes besides."""

    left_out: frozenset[str] = frozenset()
    searches: bool = False
    """Whether the API's own web search takes the place of ours."""
    names_sources: bool = False
    """Whether a search says, when asked, which pages it found."""


USUAL_SHAPE = Shape()


def request_body(request: ModelRequest, pictures: Pictures, shape: Shape = USUAL_SHAPE) -> JsonObject:
    items: list[JsonObject] = []
    for message in request.messages:
        match message:
            case UserMessage():
                items.extend(_user_items(message, pictures))
            case AssistantMessage():
                items.extend(_assistant_items(message.content))
    if request.pinned.strip():
        items.append(_user_message([_text(request.pinned)]))
    body: JsonObject = {
        "model": request.model,
        "max_output_tokens": request.max_tokens,
        "stream": True,
        "store": False,
        "include": [ENCRYPTED, SOURCES] if shape.searches and shape.names_sources else [ENCRYPTED],
        "input": items,
    } | cache_fields(request)
    if request.system.strip():
        body["instructions"] = repaired(request.system)
    if request.tools:
        body["tools"] = [
            WEB_SEARCH if tool.hosted_tool == "web_search" and shape.searches else _tool(tool) for tool in request.tools
        ]
    if reasoning := _reasoning(request, shape.left_out):
        body["reasoning"] = reasoning
    if f"{CACHE_OPTIONS}.{COMPARED}" in shape.left_out:
        body.pop(CACHE_OPTIONS, None)
    return {name: value for name, value in body.items() if name not in shape.left_out}


def _reasoning(request: ModelRequest, left_out: frozenset[str]) -> JsonObject:
    wanted: JsonObject = {"summary": "auto"}
    if request.effort:
        wanted["effort"] = request.effort
    return {name: value for name, value in wanted.items() if f"reasoning.{name}" not in left_out}


def _user_items(message: UserMessage, pictures: Pictures) -> Iterator[JsonObject]:
    parts: list[JsonObject] = []
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


def _assistant_items(content: Sequence[AssistantBlock]) -> Iterator[JsonObject]:
    """Yield the items of one answer; thinking waits for what it led to."""
    waiting: list[JsonObject] = []
    phase: object = None
    for block in content:
        match block:
            case OpaqueBlock(payload={"type": "reasoning"} as item):
                waiting.append(dict(item))
            case OpaqueBlock(payload={"type": "message", "phase": phase}):
                pass  # it belongs to the text that follows
            case OpaqueBlock(payload=item) if item:
                yield from waiting
                waiting.clear()
                yield dict(item)
            case TextBlock(text=text) if text.strip():
                yield from waiting
                waiting.clear()
                said: JsonObject = {"type": "message", "role": "assistant", "content": repaired(text)}
                yield said | ({PHASE: phase} if phase else {})
                phase = None
            case ToolUseBlock():
                yield from waiting
                waiting.clear()
                yield _call(block)
            case _:
                pass


def _call(block: ToolUseBlock) -> JsonObject:
    arguments = json.dumps(repaired_json(block.arguments), ensure_ascii=False, separators=(",", ":"))
    call_id, name = call_id_in(block.id, LONGEST_CALL_ID), tool_name_in(block.name, LONGEST_NAME)
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def _result(result: ToolResultBlock, pictures: Pictures) -> JsonObject:
    content = repaired(result.content) if result.content.strip() else _CALL_FAILED if result.is_error else _NOTHING
    item: JsonObject = {"type": "function_call_output", "call_id": call_id_in(result.call_id, LONGEST_CALL_ID)}
    if not result.images:
        return item | {"output": content}
    return item | {"output": [_text(content), *(_picture(image, pictures) for image in result.images)]}


def _user_message(content: list[JsonObject]) -> JsonObject:
    return {"type": "message", "role": "user", "content": content}


def _picture(image: BlobRef, pictures: Pictures) -> JsonObject:
    data = data_of(image, pictures)
    if data is None:
        return _text(PICTURE_GONE)
    return {"type": "input_image", "detail": "auto", "image_url": f"data:{image.media_type};base64,{data}"}


def _text(text: str) -> JsonObject:
    return {"type": "input_text", "text": repaired(text)}


def _tool(tool: ToolDefinition) -> JsonObject:
    require_tool_name(tool.name, LONGEST_NAME)
    schema = cast("JsonObject", repaired_json(tool.input_schema))
    # Not strict: that would want every property required, and a tool's schema is passed on as it is.
    wire: JsonObject = {
        "type": "function",
        "name": tool.name,
        "parameters": {"type": "object"} | schema,
        "strict": False,
    }
    return wire | {"description": repaired(tool.description)} if tool.description.strip() else wire


NOT_ON_A_PLAN = frozenset({"max_output_tokens", *CACHE_FIELDS})
"""What is refused of us when a request counts against a ChatGPT plan. It wants `stream` and no `store`, as we have it.

Source: https://developers.openai.com/siwc/token-sharing-open-source/models-and-inference
"""

_EFFORT = frozenset({"reasoning", "reasoning.effort"})
"""The field of the level of effort, and the one that it is in."""


class ResponsesFormat:
    name: WireName = "openai-responses"
    answers_path = "/responses"
    models_path = "/models"
    counting = None

    def __init__(self, *, never: Collection[str] = (), searches: bool = False, names_sources: bool = False) -> None:
        """`never` names the fields that are left out of every request; `searches` says that the API searches the web.

        `names_sources` says that a search tells which pages it found.
        """
        self.headers: Mapping[str, str] = {}
        self._hosted_search = HostedSearch(is_there=searches)
        self._names_sources = names_sources
        # Models that do not think refuse `reasoning` and `include`; a summary also needs an organisation that was
        # verified. Older models do not know `prompt_cache_options`.
        self._left_out = LeftOut(
            "include",
            "reasoning.summary",
            *_EFFORT,
            "max_output_tokens",
            *CACHE_FIELDS,
            f"{CACHE_OPTIONS}.{COMPARED}",
            never=never,
        )

    def encode(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        shape = Shape(
            self._left_out.for_model(request.model),
            searches=self._hosted_search.is_offered(request),
            names_sources=self._names_sources,
        )
        return encode_body(request, lambda each, data: request_body(each, data, shape), pictures)

    def reader(self) -> ResponsesReader:
        return ResponsesReader()

    def refusal(self, error: RefusedError) -> Refusal:
        return read_refusal(error)

    def leave_out(self, refusal: Refusal, model: str) -> bool:
        return self._left_out.add(refusal, model) or self._hosted_search.is_refused(refusal, model)

    def sends_effort(self, model: str) -> bool:
        return self._left_out.for_model(model).isdisjoint(_EFFORT)

    def read_models(self, page: bytes, call: FailedCall) -> Sequence[ListedModel]:
        return read_models(page, call)
