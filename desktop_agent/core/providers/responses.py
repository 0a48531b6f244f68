"""OpenAI's Responses as a wire format: reads answers, and builds request bodies for any conversation.

Source: https://platform.openai.com/docs/api-reference/responses
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from msgspec.structs import replace

from desktop_agent.core.protocol.codec import object_in, objects_in, text_in, texts_in
from desktop_agent.core.protocol.events import HostedCallReported, ThinkingDelta
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    BlobRef,
    CacheMiss,
    CacheMissReason,
    Citation,
    HostedCall,
    ImageBlock,
    JsonObject,
    ModelRequest,
    OpaqueBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    WebPage,
)
from desktop_agent.core.providers import sdk_types as sdk
from desktop_agent.core.providers.faults import ErrorEventError, broken_off
from desktop_agent.core.providers.openai import OpenAIFormat, read_usage, reported_error, result_text
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.providers.strict_json import repaired
from desktop_agent.core.providers.wire_format import (
    PICTURE_GONE,
    GrowingAnswer,
    GrowingCall,
    GrowingPart,
    GrowingText,
    MessageReader,
    NumberedParts,
    Pictures,
    arguments_text,
    call_id_in,
    count_in,
    data_of,
    error_in,
    event_type,
    kept_payload,
    message_id_in,
    offered_tool,
    required_index,
    required_name,
    required_object,
    required_text,
    thinking_in,
    tool_name_in,
)

CACHE_KEY: Final = "prompt_cache_key"
CACHE_OPTIONS: Final = "prompt_cache_options"
COMPARED: Final = "comparison_response_id"

CACHE_FIELDS = frozenset({CACHE_KEY, CACHE_OPTIONS})

_REASONS: Mapping[str, CacheMissReason] = {
    "model_changed": "model", "tools_changed": "tools", "input_changed": "messages",
    "context_compacted": "compaction", "prompt_cache_key_changed": "options", "text_format_changed": "options",
    "reasoning_effort_changed": "options", "verbosity_changed": "options", "service_tier_changed": "options",
}  # fmt: skip


def cache_miss_in(response: JsonObject) -> CacheMiss | None:
    diagnostics = object_in(response, "prompt_cache_diagnostics")
    if text_in(diagnostics, "type") != "cache_miss":
        return None
    reason = _REASONS.get(text_in(diagnostics, "reason"), "unknown")
    return CacheMiss(reason=reason, tokens=count_in(diagnostics, "cache_missed_tokens", 0))


WEB_SEARCH: "sdk.ResponsesSearch" = {"type": "web_search"}
SOURCES: Final = "web_search_call.action.sources"

_CALL = "web_search_call"
_SEARCH_FAILED = "The provider's search failed."


def hosted_call_in(item: JsonObject, *, is_done: bool = True) -> HostedCall | None:
    if item.get("type") != _CALL:
        return None
    call_id, action = text_in(item, "id"), object_in(item, "action")
    url, pattern = text_in(action, "url"), text_in(action, "pattern")
    if not is_done:
        return HostedCall(id=call_id, state="started")
    if item.get("status") == "failed":
        return HostedCall(id=call_id, query=_query(action) or url, error=_SEARCH_FAILED, state="failed")
    if text_in(action, "type") in ("open_page", "find_in_page"):
        return HostedCall(id=call_id, tool="web_fetch", query=f"{pattern} — {url}" if pattern else url)
    pages = tuple(WebPage(url=text_in(source, "url")) for source in objects_in(action, "sources"))
    return HostedCall(id=call_id, query=_query(action), pages=tuple(page for page in pages if page.url))


def citations_in(item: JsonObject) -> tuple[Citation, ...]:
    notes = (note for part in objects_in(item, "content") for note in objects_in(part, "annotations"))
    cited = (note for note in notes if note.get("type") == "url_citation" and text_in(note, "url"))
    return tuple(Citation(url=repaired(text_in(each, "url")), title=repaired(text_in(each, "title"))) for each in cited)


def _query(action: JsonObject) -> str:
    return text_in(action, "query") or ", ".join(texts_in(action, "queries"))


PHASE: Final = "phase"
"""The field for the kind of a text: interim commentary, or the final answer. It has to be sent back."""
_PARAGRAPH = "\n\n"


def start_item(item: JsonObject) -> GrowingPart:
    match required_text(item, "type"):
        case "message":
            return _Message()
        case "reasoning":
            return _Reasoning()
        case "function_call":
            return _Call(item)
        case _:
            return _Opaque(item)


def _rest(text: GrowingText, whole: str) -> Iterable[StreamPiece]:
    """Emit the part of `whole` that no piece contained. If the text so far differs from `whole`, it stays."""
    whole, so_far = repaired(whole), text.received
    return text.show(whole.removeprefix(so_far)) if whole.startswith(so_far) else text.end()


class _Message(GrowingPart):
    def __init__(self) -> None:
        self.has_refused = False
        self._text = GrowingAnswer()
        self._phase: object = None
        self._citations: tuple[Citation, ...] = ()

    def add(self, event: JsonObject) -> Iterable[StreamPiece]:
        if event["type"] not in ("response.output_text.delta", "response.refusal.delta"):
            return ()
        self.has_refused = self.has_refused or event["type"] == "response.refusal.delta"
        return self._text.add(required_text(event, "delta"))

    def end(self, whole: JsonObject) -> Iterable[StreamPiece]:
        self._phase = whole.get(PHASE)
        self._citations = citations_in(whole)
        parts = objects_in(whole, "content")
        self.has_refused = self.has_refused or any(part.get("type") == "refusal" for part in parts)
        return _rest(self._text, "".join(text_in(part, "text") + text_in(part, "refusal") for part in parts))

    def result(self) -> Sequence[AssistantBlock]:
        thoughts, said = self._text.split()
        self.mended = ["thoughts_in_text"] if thoughts else ()
        text = [*thinking_in(thoughts), TextBlock(text=said, citations=self._citations)]
        if not isinstance(self._phase, str):
            return text
        return [OpaqueBlock(payload={"type": "message", PHASE: repaired(self._phase)}), *text]


class _Reasoning(GrowingPart):
    """Thinking: a summary, which is shown, and the whole in encrypted form, which is sent back unmodified."""

    def __init__(self) -> None:
        self._text = GrowingText(ThinkingDelta)
        self._item: JsonObject = {}

    def add(self, event: JsonObject) -> Iterable[StreamPiece]:
        match event["type"]:
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._text.add(required_text(event, "delta"))
            case "response.reasoning_summary_part.added" if self._text.so_far:
                return self._text.add(_PARAGRAPH)
            case _:
                return ()

    def end(self, whole: JsonObject) -> Iterable[StreamPiece]:
        item = kept_payload(whole, "an item")
        self._item = {name: value for name, value in item.items() if name != "status" and value is not None}
        parts = objects_in(whole, "summary") or objects_in(whole, "content")
        return _rest(self._text, _PARAGRAPH.join(text_in(part, "text") for part in parts))

    def result(self) -> Sequence[AssistantBlock]:
        shown = self._text.so_far
        whole = OpaqueBlock(payload=self._item | {"type": "reasoning"})
        return [ThinkingBlock(thinking=shown, signature=""), whole] if shown else [whole]


class _Call(GrowingCall):
    def __init__(self, item: JsonObject) -> None:
        call_id, name = required_name(item, "call_id" if item.get("call_id") else "id"), required_name(item, "name")
        super().__init__(call_id, name, "response.function_call_arguments.delta", "delta")

    def add(self, event: JsonObject) -> Iterable[StreamPiece]:
        if event["type"] == "response.function_call_arguments.done":  # all that some servers send
            return self.end(event)
        return super().add(event)

    def end(self, whole: JsonObject) -> Iterable[StreamPiece]:
        if arguments := whole.get("arguments"):
            self._parts, self._size = [], 0
            self.append(arguments)
        return ()


class _Opaque(GrowingPart):
    """An item of unknown type, kept whole so that it can be sent back."""

    def __init__(self, begun: JsonObject) -> None:
        self._begun = begun
        self._item: JsonObject = {}
        self._call: HostedCall | None = None

    def begin(self) -> Iterable[StreamPiece]:
        if (call := hosted_call_in(self._begun, is_done=False)) is not None:
            yield HostedCallReported(call=call)

    def end(self, whole: JsonObject) -> Iterable[StreamPiece]:
        self._item = kept_payload(whole, "an item")
        self._call = hosted_call_in(self._item)
        if self._call is not None:
            yield HostedCallReported(call=self._call)

    def result(self) -> Sequence[AssistantBlock]:
        return [OpaqueBlock(payload=self._item, call=self._call)]


_INCOMPLETE: Mapping[str, StopReason] = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}

_FAILED = ("failed", "cancelled")
_INDEX = "output_index"


class ResponsesReader(MessageReader):
    def __init__(self) -> None:
        super().__init__()
        self._incomplete = ""
        self._items = NumberedParts(times_said=2)

    def completion(self) -> Completion:
        if not self.is_whole:
            raise broken_off("the stream ended before the message did")
        items = self._items.closed()
        content = list(self._results(items))
        self._usage = replace(self._usage, web_searches=sum(map(_searches, content)))
        has_refused = any(isinstance(item, _Message) and item.has_refused for item in items)
        return self._completion(content, self._stop_reason(content, has_refused=has_refused))

    def _is_answer(self, document: JsonObject) -> bool:
        return document.get("object") == "response" or "error" in document

    def _events_of(self, document: JsonObject) -> Iterable[JsonObject]:
        if error := document.get("error"):
            yield {"type": "error", "error": error}
        yield {"type": "response.created", "response": document}
        yield {"type": "response.completed", "response": document}

    def _take(self, event: JsonObject) -> Iterable[StreamPiece]:
        match event_type(event):
            case "response.created" | "response.in_progress":
                self.is_untouched = False
                self._message_id = message_id_in(required_object(event, "response"))
            case "response.output_item.added":
                return self._start(required_index(event, _INDEX), required_object(event, "item"))
            case "response.output_item.done":
                index, item = required_index(event, _INDEX), required_object(event, "item")
                if index not in self._items:  # a server that sends items whole
                    self._start(index, item)
                self._items.measure(item)
                return self._items.end(index, item)
            case "response.completed" | "response.incomplete" | "response.done" as kind:
                response = required_object(event, "response")
                self._conclude(response, is_incomplete=kind == "response.incomplete")
                return self._take_output(response)
            case "response.failed" | "response.cancelled":
                raise ErrorEventError(reported_error(object_in(required_object(event, "response"), "error")))
            case "error":
                raise ErrorEventError(reported_error(error_in(event) or event))
            case _ if _INDEX in event:
                return self._items.add(required_index(event, _INDEX), event)
            case _:
                pass
        return ()

    def _start(self, index: int, item: JsonObject) -> Iterable[StreamPiece]:
        return self._items.begin(index, start_item(item), is_call=item.get("type") == "function_call")

    def _take_output(self, response: JsonObject) -> Iterator[StreamPiece]:
        is_all = not self._items
        for index, item in enumerate(objects_in(response, "output")):
            if is_all or self._items.is_open(index):
                yield from self._take({"type": "response.output_item.done", _INDEX: index, "item": item})

    def _conclude(self, response: JsonObject, *, is_incomplete: bool) -> None:
        if text_in(response, "status") in _FAILED:
            raise ErrorEventError(reported_error(object_in(response, "error")))
        self.is_whole = True
        self._message_id = self._message_id or message_id_in(response)
        self._cache_miss = cache_miss_in(response)
        usage = object_in(response, "usage")
        self._usage = read_usage(usage, whole_input="input_tokens", output="output_tokens")
        if is_incomplete or text_in(response, "status") == "incomplete":
            self._incomplete = text_in(object_in(response, "incomplete_details"), "reason") or "unknown"

    def _stop_reason(self, content: list[AssistantBlock], *, has_refused: bool) -> StopReason:
        if self._incomplete:
            return _INCOMPLETE.get(self._incomplete, "other")
        if any(isinstance(block, ToolUseBlock) for block in content):
            return "tool_use"
        return "refusal" if has_refused else "end_turn"


def _searches(block: AssistantBlock) -> bool:
    call = block.call if isinstance(block, OpaqueBlock) else None
    return call is not None and call.tool == "web_search" and call.state == "completed"


# -- requests --

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
