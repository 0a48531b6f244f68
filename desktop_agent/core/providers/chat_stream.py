"""Reads an answer in Chat Completions: text, thinking, calls, and what a router found in the web.

Pure, in the order the chunks arrive, trusting none of them. A message exists only with a reason why it finished; a
stream that ends without one has broken off, however well the response itself ended. Thinking is not part of the
format: `reasoning_content` is DeepSeek's, llama.cpp's and others'; `reasoning` is OpenRouter's, Ollama's and Groq's,
and `reasoning_details` are OpenRouter's blocks with signatures, which have to go back unmodified
(https://openrouter.ai/docs/guides/best-practices/reasoning-tokens). A router's searches:
https://openrouter.ai/docs/guides/features/server-tools/web-search
"""

import json
from collections.abc import Mapping
from typing import cast

from msgspec.structs import replace

from desktop_agent.core.protocol.codec import object_in, objects_in, text_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    Citation,
    HostedCall,
    JsonObject,
    OpaqueBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
    WebPage,
)
from desktop_agent.core.providers.faults import ErrorEventError, broken_off
from desktop_agent.core.providers.openai import cost_in, read_usage, reported_error, searches_in
from desktop_agent.core.providers.provider import Completion, StreamPiece, TextChunk, ThinkingChunk, ToolInputChunk
from desktop_agent.core.providers.strict_json import (
    TextJoiner,
    is_too_deep,
    parse_arguments,
    repaired,
    repaired_json,
    weight_of,
)
from desktop_agent.core.providers.wire_format import decode_event, message_id_in, runnable_only_if_asked
from desktop_agent.core.system.network.connections import MAX_CALLS, MAX_CHARS, MAX_NAME_CHARS, oversized

THINKING_FIELDS = ("reasoning_content", "reasoning")
DETAILS = "reasoning_details"

_GROWING = ("text", "summary", "data", "signature")
"""The fields of a detail that come in pieces."""


class GrowingThinking:
    def __init__(self) -> None:
        self._field = ""
        self._joiner = TextJoiner()
        self._parts: list[str] = []
        self._details: list[JsonObject] = []

    def add(self, delta: JsonObject) -> ThinkingChunk | None:
        for detail in objects_in(delta, DETAILS):
            self._add_detail(detail)
        for field in THINKING_FIELDS:
            if text := text_in(delta, field):
                self._field = self._field or field
                return self._shown(self._joiner.add(text))
        return None

    def end(self) -> ThinkingChunk | None:
        """Return what is left: nothing, or the half of a character whose other half never came."""
        return self._shown(self._joiner.end())

    def result(self) -> list[AssistantBlock]:
        """Return the blocks that it came to: the text, under the name of its field, and the details as they go back."""
        blocks: list[AssistantBlock] = []
        if self._parts:
            # What has details goes back as these; the text would say it twice.
            signature = DETAILS if self._details else self._field
            blocks.append(ThinkingBlock(thinking="".join(self._parts), signature=signature))
        if self._details:
            if is_too_deep(self._details):
                raise broken_off("a detail of the thinking is nested too deeply to be kept")
            blocks.append(OpaqueBlock(payload={DETAILS: repaired_json(self._details)}))
        return blocks

    def _shown(self, text: str) -> ThinkingChunk | None:
        if not text:
            return None
        self._parts.append(text)
        return ThinkingChunk(text=text)

    def _add_detail(self, detail: JsonObject) -> None:
        """Join a detail to the one before if it is a further piece of it: the same type and place."""
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            so_far = last.get(key)
            is_piece = key in _GROWING and isinstance(so_far, str) and isinstance(value, str)
            if is_piece:
                last[key] = cast("str", so_far) + cast("str", value)
            elif value is not None:
                last[key] = value


WEB_SEARCH: JsonObject = {"type": "openrouter:web_search", "parameters": {"max_results": 5}}
"""Up to as many results as our own tool has."""

_LONGEST_QUOTE = 600
"""What it repeats of a page may be all of it."""


class GrowingCitations:
    """The pages that one message rests on, while they arrive."""

    def __init__(self) -> None:
        self._by_url: dict[str, Citation] = {}

    def add(self, delta: JsonObject) -> None:
        for note in objects_in(delta, "annotations"):
            cited = object_in(note, "url_citation")
            if url := repaired(text_in(cited, "url")):
                title, quote = repaired(text_in(cited, "title")), repaired(text_in(cited, "content")[:_LONGEST_QUOTE])
                self._by_url.setdefault(url, Citation(url=url, title=title, quote=quote))

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Each page once, in the order in which they came."""
        return tuple(self._by_url.values())

    def block(self, message_id: str) -> OpaqueBlock | None:
        """Return what tells of the search; it does not go back. `None` when there was none."""
        if not self._by_url:
            return None
        pages = tuple(WebPage(url=each.url, title=each.title) for each in self.citations)
        return OpaqueBlock(payload={}, call=HostedCall(id=f"search_{message_id}", pages=pages))


class GrowingCalls:
    """Reads also what compatible servers do: no places, a call that comes whole, several calls at one place."""

    def __init__(self) -> None:
        self._calls: list[_GrowingCall] = []
        self._by_place: dict[int, _GrowingCall] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, fields: JsonObject) -> ToolInputChunk:
        """Take one piece of a call and return how far it is. Raises `ProviderError` for what cannot be one."""
        call = self._call_of(fields)
        call.add(object_in(fields, "function"))
        return ToolInputChunk(call_id=call.id, name=call.name, size=call.size)

    def result(self) -> list[AssistantBlock]:
        return [call.result() for call in self._calls]

    def _call_of(self, fields: JsonObject) -> "_GrowingCall":
        place, call_id = _place_in(fields), repaired(text_in(fields, "id"))
        last = self._calls[-1] if self._calls else None
        known = self._by_place.get(place) if place is not None else last
        is_new = known is None or (bool(call_id) and call_id != known.given_id and bool(known.given_id))
        if known is not None and not is_new:
            return known
        if len(self._calls) >= MAX_CALLS:
            raise oversized(f"more than {MAX_CALLS} calls")
        if len(call_id) > MAX_NAME_CHARS:
            raise oversized(f"an id has {len(call_id):,} characters")
        name = repaired(text_in(object_in(fields, "function"), "name"))
        if not name:
            raise broken_off("malformed event: a call without a name")
        if len(name) > MAX_NAME_CHARS:
            raise oversized(f"a name has {len(name):,} characters")
        call = _GrowingCall(call_id, call_id or f"call_{len(self._calls)}", name)
        self._calls.append(call)
        if place is not None:
            self._by_place[place] = call
        return call


def _place_in(fields: JsonObject) -> int | None:
    place = fields.get("index")
    return place if isinstance(place, int) and not isinstance(place, bool) else None


class _GrowingCall:
    """One call. Its arguments are text until the message ends, and count only if that text is one whole object."""

    def __init__(self, given_id: str, call_id: str, name: str) -> None:
        self.given_id = given_id
        """Empty where the server gave none; the turn makes ids unique."""
        self.id = call_id
        self.name = name
        self.size = 0
        self._parts: list[str] = []

    def add(self, function: JsonObject) -> None:
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # decoded already, by some servers
            arguments = json.dumps(arguments)
        if isinstance(arguments, str):
            self._parts.append(arguments)
            self.size += len(arguments)

    def result(self) -> AssistantBlock:
        arguments, rejected = parse_arguments(repaired("".join(self._parts)))
        return ToolUseBlock(id=self.id, name=self.name, arguments=arguments, rejected=rejected)


_DONE = "[DONE]"

_STOP_REASONS: Mapping[str, StopReason] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


class ChatReader:
    """One message, from its first chunk to its last. Every method may raise `ProviderError` with the fault `stream`."""

    def __init__(self, *, reports_cost: bool = False) -> None:
        """`reports_cost` says that the usage has a cost in US dollars, which is believed."""
        self._reports_cost = reports_cost
        self._message_id = ""
        self._usage = Usage()
        self._finish_reason = ""
        self._joiner = TextJoiner()
        self._text: list[str] = []
        self._has_refused = False
        self._thinking = GrowingThinking()
        self._calls = GrowingCalls()
        self._cited = GrowingCitations()
        self._chars = 0
        self.is_untouched = True
        """Whether nothing came at all that this API would send."""
        self.is_whole = False
        """Whether the mark of the end came: nothing after it counts."""

    def add(self, data: str) -> tuple[StreamPiece, ...]:
        if data.strip() == _DONE:
            self.is_whole = True
            return self._end()
        chunk = decode_event(data)
        if chunk is None:
            return ()
        if error := chunk.get("error"):
            fields = object_in(chunk, "error") or {"message": error}
            raise ErrorEventError(reported_error(fields))
        if "choices" in chunk:
            self.is_untouched = False
        self._message_id = self._message_id or message_id_in(chunk)
        if usage := object_in(chunk, "usage"):
            self._usage = read_usage(usage, whole_input="prompt_tokens", output="completion_tokens")
            if self._reports_cost:
                self._usage = replace(self._usage, cost_usd=cost_in(usage), web_searches=searches_in(usage))
        choices = objects_in(chunk, "choices")
        return tuple(self._take(choices[0])) if choices else ()

    def completion(self) -> Completion:
        if not self._finish_reason:
            raise broken_off("the stream ended before the message did")
        if self._finish_reason == "error":
            raise broken_off("the model's server broke off the answer")
        content: list[AssistantBlock] = self._thinking.result()
        if (search := self._cited.block(self._message_id)) is not None:
            content.append(search)
        if text := "".join(self._text):
            content.append(TextBlock(text=text, citations=self._cited.citations))
        content.extend(self._calls.result())
        reason = self._stop_reason()
        return Completion(
            message_id=self._message_id,
            content=tuple(runnable_only_if_asked(block, reason) for block in content),
            stop_reason=reason,
            usage=self._usage,
        )

    def _take(self, choice: JsonObject) -> list[StreamPiece]:
        delta = object_in(choice, "delta")
        self._chars += weight_of(delta)
        if self._chars > MAX_CHARS:
            raise oversized(f"more than {MAX_CHARS:,} characters")
        pieces: list[StreamPiece] = []
        if (thought := self._thinking.add(delta)) is not None:
            pieces.append(thought)
        self._cited.add(delta)
        refusal = text_in(delta, "refusal")
        self._has_refused = self._has_refused or bool(refusal)
        if text := _content_in(delta) + refusal:
            pieces += self._shown(self._joiner.add(text))
        pieces += [self._calls.add(call) for call in objects_in(delta, "tool_calls")]
        if reason := text_in(choice, "finish_reason"):
            self._finish_reason = reason
            pieces += self._end()
        return pieces

    def _end(self) -> tuple[StreamPiece, ...]:
        """Show what waited for the other half of a character."""
        thought = self._thinking.end()
        return (*((thought,) if thought else ()), *self._shown(self._joiner.end()))

    def _shown(self, text: str) -> list[StreamPiece]:
        if not text:
            return []
        self._text.append(text)
        return [TextChunk(text=text)]

    def _stop_reason(self) -> StopReason:
        """Return why it stopped: some servers say `stop` behind calls, and `tool_calls` where there are none."""
        reason = _STOP_REASONS.get(self._finish_reason, "other")
        if reason in ("end_turn", "tool_use"):
            return "tool_use" if self._calls else "refusal" if self._has_refused else "end_turn"
        return reason


def _content_in(delta: JsonObject) -> str:
    """Return the text of a delta, which some servers send in parts, as it is in requests."""
    parts = objects_in(delta, "content")
    return "".join(text_in(part, "text") for part in parts) if parts else text_in(delta, "content")
