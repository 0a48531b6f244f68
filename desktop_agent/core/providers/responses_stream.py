"""Reads an answer of OpenAI's Responses: its items while they arrive, its web searches, and what missed the cache.

Pure, in the order the events arrive, trusting none of them. A message exists only after the event that concludes the
response, with every item closed; a stream that ends without it has broken off, however well the HTTP response ended.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from desktop_agent.core.protocol.codec import object_in, objects_in, text_in, texts_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    CacheMiss,
    CacheMissReason,
    Citation,
    HostedCall,
    JsonObject,
    ModelRequest,
    OpaqueBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
    WebPage,
)
from desktop_agent.core.providers.faults import ErrorEventError, broken_off
from desktop_agent.core.providers.openai import read_usage, reported_error
from desktop_agent.core.providers.provider import (
    Completion,
    HostedCallChunk,
    StreamPiece,
    TextChunk,
    ThinkingChunk,
    ToolInputChunk,
)
from desktop_agent.core.providers.strict_json import TextJoiner, is_too_deep, parse_arguments, repaired, repaired_json
from desktop_agent.core.providers.wire_format import (
    NumberedParts,
    count_in,
    decode_event,
    message_id_in,
    required_name,
    required_object,
    required_text,
    runnable_only_if_asked,
)

CACHE_KEY = "prompt_cache_key"
CACHE_OPTIONS = "prompt_cache_options"
COMPARED = "comparison_response_id"

CACHE_FIELDS = frozenset({CACHE_KEY, CACHE_OPTIONS})
"""What servers that speak this format need not know."""

_REASONS: Mapping[str, CacheMissReason] = {
    "model_changed": "model",
    "tools_changed": "tools",
    "input_changed": "messages",
    "context_compacted": "compaction",
    "prompt_cache_key_changed": "options",
    "text_format_changed": "options",
    "reasoning_effort_changed": "options",
    "verbosity_changed": "options",
    "service_tier_changed": "options",
}


def cache_fields(request: ModelRequest) -> JsonObject:
    """Return the fields of a body that are about caching: whose cache, and which answer to compare with."""
    fields: JsonObject = {}
    if request.conversation:
        fields[CACHE_KEY] = request.conversation
    if request.follows:
        fields[CACHE_OPTIONS] = {COMPARED: request.follows}
    return fields


def cache_miss_in(response: JsonObject) -> CacheMiss | None:
    diagnostics = object_in(response, "prompt_cache_diagnostics")
    if text_in(diagnostics, "type") != "cache_miss":
        return None
    reason = _REASONS.get(text_in(diagnostics, "reason"), "unknown")
    return CacheMiss(reason=reason, tokens=count_in(diagnostics, "cache_missed_tokens", 0))


WEB_SEARCH: JsonObject = {"type": "web_search"}
SOURCES = "web_search_call.action.sources"
"""What to include for a call to say which pages it found."""

_CALL = "web_search_call"
_SEARCH_FAILED = "The provider's search failed."


def hosted_call_in(item: JsonObject, *, is_done: bool = True) -> HostedCall | None:
    """Return what an item tells of a search, or of a page that was read; `None` for any other item."""
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


def is_charged(call: HostedCall) -> bool:
    """Whether the vendor charges for a call: for each search, but not for reading a page that it found."""
    return call.tool == "web_search" and call.state == "completed"


def citations_in(item: JsonObject) -> tuple[Citation, ...]:
    notes = (note for part in objects_in(item, "content") for note in objects_in(part, "annotations"))
    cited = (note for note in notes if note.get("type") == "url_citation" and text_in(note, "url"))
    return tuple(Citation(url=repaired(text_in(each, "url")), title=repaired(text_in(each, "title"))) for each in cited)


def _query(action: JsonObject) -> str:
    return text_in(action, "query") or ", ".join(texts_in(action, "queries"))


PHASE = "phase"
"""What the API calls a text: commentary on the way, or the final answer. It wants to be told again."""
_PARAGRAPH = "\n\n"
"""Between two parts of a summary."""


class GrowingItem(ABC):
    """An item between its start and its end. Each step returns what there is to show, or `None`."""

    has_refused = False
    """Whether the model declined in it."""

    def begin(self) -> StreamPiece | None:
        """Return what the start already brought."""
        return None

    def add(self, event: JsonObject) -> StreamPiece | None:
        """Take an event that is about this item. Kinds that it does not know are passed over."""
        return None

    @abstractmethod
    def end(self, item: JsonObject) -> StreamPiece | None:
        """Take the whole item, as its end brings it. No event may follow."""

    @abstractmethod
    def result(self) -> Sequence[AssistantBlock]:
        """Return its blocks. Only after `end`."""


def start_item(item: JsonObject) -> GrowingItem:
    """Return the item that is added to an answer; of a type that is not known, an opaque one."""
    match required_text(item, "type"):
        case "message":
            return _GrowingMessage()
        case "reasoning":
            return _GrowingReasoning()
        case "function_call":
            return _GrowingCall(item)
        case _:
            return _GrowingOpaque(item)


class _GrowingText(GrowingItem):
    def __init__(self) -> None:
        self._joiner = TextJoiner()
        self._parts: list[str] = []
        self._shown_as: type[TextChunk | ThinkingChunk] = TextChunk

    def _more(self, text: str) -> StreamPiece | None:
        return self._shown(self._joiner.add(text))

    def _rest(self, whole: str) -> StreamPiece | None:
        """Return what the end brings that no piece had: all of it, from a server that sends no pieces.

        Where the whole differs from its pieces otherwise, what the user has read stands.
        """
        so_far = "".join(self._parts)
        rest = repaired(whole).removeprefix(so_far) if repaired(whole).startswith(so_far) else self._joiner.end()
        return self._shown(rest)

    def _shown(self, text: str) -> StreamPiece | None:
        if not text:
            return None
        self._parts.append(text)
        return self._shown_as(text=text)


class _GrowingMessage(_GrowingText):
    def __init__(self) -> None:
        super().__init__()
        self._phase: object = None
        self._citations: tuple[Citation, ...] = ()

    def add(self, event: JsonObject) -> StreamPiece | None:
        match event["type"]:
            case "response.output_text.delta":
                return self._more(required_text(event, "delta"))
            case "response.refusal.delta":
                self.has_refused = True
                return self._more(required_text(event, "delta"))
            case _:
                return None

    def end(self, item: JsonObject) -> StreamPiece | None:
        self._phase = item.get(PHASE)
        self._citations = citations_in(item)
        parts = objects_in(item, "content")
        self.has_refused = self.has_refused or any(part.get("type") == "refusal" for part in parts)
        return self._rest("".join(text_in(part, "text") + text_in(part, "refusal") for part in parts))

    def result(self) -> Sequence[AssistantBlock]:
        text = TextBlock(text="".join(self._parts), citations=self._citations)
        if not isinstance(self._phase, str):
            return [text]
        return [OpaqueBlock(payload={"type": "message", PHASE: repaired(self._phase)}), text]


class _GrowingReasoning(_GrowingText):
    """Thinking: a summary that is shown, and the encrypted whole that goes back as it came."""

    def __init__(self) -> None:
        super().__init__()
        self._shown_as = ThinkingChunk
        self._item: JsonObject = {}

    def add(self, event: JsonObject) -> StreamPiece | None:
        match event["type"]:
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._more(required_text(event, "delta"))
            case "response.reasoning_summary_part.added" if self._parts:
                return self._more(_PARAGRAPH)
            case _:
                return None

    def end(self, item: JsonObject) -> StreamPiece | None:
        if is_too_deep(item):
            raise broken_off("an item is nested too deeply to be kept")
        kept = {name: value for name, value in item.items() if name != "status" and value is not None}
        self._item = cast("JsonObject", repaired_json(kept))
        parts = objects_in(item, "summary") or objects_in(item, "content")
        return self._rest(_PARAGRAPH.join(text_in(part, "text") for part in parts))

    def result(self) -> Sequence[AssistantBlock]:
        shown = "".join(self._parts)
        whole = OpaqueBlock(payload=self._item | {"type": "reasoning"})
        return [ThinkingBlock(thinking=shown, signature=""), whole] if shown else [whole]


class _GrowingCall(GrowingItem):
    """A tool call. Its arguments are text until the item ends, and count only if that text is one whole object."""

    def __init__(self, item: JsonObject) -> None:
        self._id = required_name(item, "call_id")
        self._name = required_name(item, "name")
        self._parts: list[str] = []
        self._size = 0

    def begin(self) -> StreamPiece | None:
        return self._shown()

    def add(self, event: JsonObject) -> StreamPiece | None:
        if event["type"] != "response.function_call_arguments.delta":
            return None
        part = required_text(event, "delta")
        if not part:
            return None
        self._parts.append(part)
        self._size += len(part)
        return self._shown()

    def end(self, item: JsonObject) -> StreamPiece | None:
        if whole := text_in(item, "arguments"):
            self._parts = [whole]
        return None

    def result(self) -> Sequence[AssistantBlock]:
        arguments, rejected = parse_arguments(repaired("".join(self._parts)))
        return [ToolUseBlock(id=self._id, name=self._name, arguments=arguments, rejected=rejected)]

    def _shown(self) -> StreamPiece:
        return ToolInputChunk(call_id=self._id, name=self._name, size=self._size)


class _GrowingOpaque(GrowingItem):
    """An item of a type that we do not know, kept whole so that it can go back."""

    def __init__(self, begun: JsonObject) -> None:
        self._begun = begun
        self._item: JsonObject = {}
        self.call: HostedCall | None = None
        """What it tells of a call that ran at the provider, when it has ended."""

    def begin(self) -> StreamPiece | None:
        call = hosted_call_in(self._begun, is_done=False)
        return HostedCallChunk(call=call) if call is not None else None

    def end(self, item: JsonObject) -> StreamPiece | None:
        if is_too_deep(item):
            raise broken_off("an item is nested too deeply to be kept")
        self._item = cast("JsonObject", repaired_json(item))
        self.call = hosted_call_in(self._item)
        return HostedCallChunk(call=self.call) if self.call is not None else None

    def result(self) -> Sequence[AssistantBlock]:
        return [OpaqueBlock(payload=self._item, call=self.call)]


_INCOMPLETE: Mapping[str, StopReason] = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}

_FAILED = ("failed", "cancelled")


class ResponsesReader:
    """One message, from its first event to its last. Every method may raise `ProviderError` with the fault `stream`."""

    def __init__(self) -> None:
        self._message_id = ""
        self._usage = Usage()
        self._incomplete = ""
        self._cache_miss: CacheMiss | None = None
        self._items = NumberedParts[GrowingItem](times_said=2)
        self.is_untouched = True
        """Whether nothing came at all that this API would send."""
        self.is_whole = False
        """Whether the response was concluded: nothing after it counts."""

    def add(self, data: str) -> tuple[StreamPiece, ...]:
        if data.strip() == "[DONE]":  # some compatible servers end with it, as Chat Completions do
            return ()
        event = decode_event(data)
        piece = self._take(event) if event is not None else None
        return (piece,) if piece is not None else ()

    def completion(self) -> Completion:
        if not self.is_whole:
            raise broken_off("the stream ended before the message did")
        if self._items.has_open:
            raise broken_off("the message ended inside an item")
        items = self._items.in_order()
        content: list[AssistantBlock] = [block for item in items for block in item.result()]
        reason = self._stop_reason(content, has_refused=any(item.has_refused for item in items))
        return Completion(
            message_id=self._message_id,
            content=tuple(runnable_only_if_asked(block, reason) for block in content),
            stop_reason=reason,
            usage=replace(self._usage, web_searches=sum(map(_searches, content))),
            cache_miss=self._cache_miss,
        )

    def _take(self, event: JsonObject) -> StreamPiece | None:
        match required_text(event, "type"):
            case "response.created" | "response.in_progress":
                self.is_untouched = False
                self._message_id = message_id_in(required_object(event, "response"))
            case "response.output_item.added":
                return self._start(_index(event), required_object(event, "item"))
            case "response.output_item.done":
                return self._end(_index(event), required_object(event, "item"))
            case "response.completed" | "response.incomplete" | "response.done":
                self._conclude(required_object(event, "response"))
            case "response.failed" | "response.cancelled":
                raise ErrorEventError(reported_error(object_in(required_object(event, "response"), "error")))
            case "error":
                raise ErrorEventError(reported_error(object_in(event, "error") or event))
            case _ if "output_index" in event:
                self._items.measure(event)
                return self._items.at(_index(event)).add(event)
            case _:
                pass
        return None

    def _start(self, index: int, item: JsonObject) -> StreamPiece | None:
        growing = start_item(item)
        self._items.begin(index, growing, is_call=item.get("type") == "function_call")
        return growing.begin()

    def _end(self, index: int, item: JsonObject) -> StreamPiece | None:
        if index not in self._items:  # a server that sends items whole
            self._start(index, item)
        self._items.measure(item)
        return self._items.end(index).end(item)

    def _conclude(self, response: JsonObject) -> None:
        if text_in(response, "status") in _FAILED:
            raise ErrorEventError(reported_error(object_in(response, "error")))
        self.is_whole = True
        self._message_id = self._message_id or message_id_in(response)
        self._cache_miss = cache_miss_in(response)
        usage = object_in(response, "usage")
        self._usage = read_usage(usage, whole_input="input_tokens", output="output_tokens")
        if text_in(response, "status") == "incomplete":
            self._incomplete = text_in(object_in(response, "incomplete_details"), "reason") or "unknown"

    def _stop_reason(self, content: list[AssistantBlock], *, has_refused: bool) -> StopReason:
        if self._incomplete:
            return _INCOMPLETE.get(self._incomplete, "other")
        if any(isinstance(block, ToolUseBlock) for block in content):
            return "tool_use"
        return "refusal" if has_refused else "end_turn"


def _searches(block: AssistantBlock) -> bool:
    return isinstance(block, OpaqueBlock) and block.call is not None and is_charged(block.call)


def _index(event: JsonObject) -> int:
    value = event.get("output_index")
    if not isinstance(value, int) or isinstance(value, bool):
        raise broken_off("malformed event: output_index is not a number")
    return value
