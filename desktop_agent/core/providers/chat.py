"""Chat Completions as a wire format: reads answers, and builds request bodies for any conversation.

`reasoning_content` is DeepSeek's and llama.cpp's; `reasoning` is OpenRouter's, Ollama's and Groq's. `reasoning_details`
have signatures, and go back unmodified. Sources: https://platform.openai.com/docs/api-reference/chat,
https://openrouter.ai/docs/guides/best-practices/reasoning-tokens,
https://openrouter.ai/docs/guides/features/server-tools/web-search and, for the marks of prompt prefixes to cache,
https://openrouter.ai/docs/guides/best-practices/prompt-caching
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, cast

from msgspec.structs import replace

from desktop_agent.core.models.vendors import Vendor
from desktop_agent.core.protocol.codec import object_in, objects_in, text_in
from desktop_agent.core.protocol.events import ThinkingDelta
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    BlobRef,
    Citation,
    Flaw,
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
from desktop_agent.core.providers.openai import (
    OpenAIFormat,
    cost_in,
    read_usage,
    reported_error,
    result_text,
)
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.providers.strict_json import parse_arguments, repaired, weight_of, with_joined_pairs
from desktop_agent.core.providers.wire_format import (
    PICTURE_GONE,
    GrowingAnswer,
    GrowingCall,
    GrowingText,
    MessageReader,
    Pictures,
    arguments_text,
    call_id_in,
    count_in,
    data_of,
    error_in,
    kept_payload,
    message_id_in,
    offered_tool,
    stop_reason_of,
    thinking_in,
    tool_name_in,
)
from desktop_agent.core.system.network.connections import MAX_CALLS, MAX_CHARS, MAX_NAME_CHARS, oversized

THINKING_FIELDS: Final = ("reasoning_content", "reasoning")
DETAILS: Final = "reasoning_details"

_SAYING = ("content", "refusal", "tool_calls", "function_call", "annotations", DETAILS, *THINKING_FIELDS)

_GROWING = ("text", "summary", "data", "signature")


class _Thinking(GrowingText):
    def __init__(self) -> None:
        super().__init__(ThinkingDelta)
        self._field = ""
        self._details: list[JsonObject] = []

    def take(self, delta: JsonObject) -> Iterator[StreamPiece]:
        for detail in objects_in(delta, DETAILS):
            self._add_detail(detail)
        for part in objects_in(delta, "content"):  # Mistral's way
            yield from self.add("".join(text_in(each, "text") for each in objects_in(part, "thinking")))
        for field in THINKING_FIELDS:
            if text := text_in(delta, field):
                self._field = self._field or field
                yield from self.add(text)
                return

    def result(self) -> list[AssistantBlock]:
        blocks: list[AssistantBlock] = []
        if shown := self.so_far:
            # Reasoning with details is sent back as those; its text would say it twice.
            blocks.append(ThinkingBlock(thinking=shown, signature=DETAILS if self._details else self._field))
        if self._details:
            blocks.append(OpaqueBlock(payload=kept_payload({DETAILS: self._details}, "a detail of the thinking")))
        return blocks

    def _add_detail(self, detail: JsonObject) -> None:
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


WEB_SEARCH = cast("sdk.ChatTool", {"type": "openrouter:web_search", "parameters": {"max_results": 5}})
"""A tool of OpenRouter's own, which OpenAI does not know."""

_LONGEST_QUOTE = 600


class _Calls:
    """The calls of an answer. Compatible servers may send them in one piece, without an index, or with a shared one."""

    def __init__(self) -> None:
        self.all: list[_Call] = []
        self.mended: list[Flaw] = []
        self._by_place: dict[str, _Call] = {}

    def add(self, fields: JsonObject) -> Iterable[StreamPiece]:
        function = object_in(fields, "function")
        call = self._call_of(fields, repaired(text_in(function, "name")))
        if (arguments := function.get("arguments")) is not None:
            call.append(arguments)
        return call.begin() if call.name else ()

    def _call_of(self, fields: JsonObject, name: str) -> "_Call":
        index, call_id = fields.get("index"), repaired(text_in(fields, "id"))
        place = str(index) if isinstance(index, int | str) else ""
        last = self.all[-1] if self.all else None
        known = self._by_place.get(place) if place else last
        if call_id and known is not None and known.given_id != call_id:
            same = (call for call in self.all if call.given_id == call_id and place in ("", call.place))
            known = next(same, known)
        if len(call_id) > MAX_NAME_CHARS:
            raise oversized(f"an id has {len(call_id):,} characters")
        if len(name) > MAX_NAME_CHARS:
            raise oversized(f"a name has {len(name):,} characters")
        if known is not None and not self._is_next(known, call_id, name):
            known.name = name if name.startswith(known.name) else known.name  # some send it in growing pieces
            return known
        if len(self.all) >= MAX_CALLS:
            raise oversized(f"more than {MAX_CALLS} calls")
        call = _Call(call_id or f"call_{len(self.all)}", name)
        call.given_id, call.place = call_id, place
        self.all.append(call)
        self._by_place[place] = call
        return call

    def _is_next(self, known: "_Call", call_id: str, name: str) -> bool:
        """Whether a piece begins a new call, although its index is that of `known`."""
        is_other = bool(call_id) and bool(known.given_id) and call_id != known.given_id
        if is_other and not name:
            self.mended.append("changing_call_id")
            return False
        if not name or not known.name:
            return False
        # Some servers repeat the name with every piece, others leave out IDs: a whole object has ended a call.
        is_renamed = name != known.name
        if call_id and call_id == known.given_id:
            is_next = is_renamed and known.is_whole()
        else:
            is_next = is_other or is_renamed or known.is_whole()
        if is_next and not is_other:
            self.mended.append("calls_at_one_index")
        return is_next


class _Call(GrowingCall):
    given_id = ""
    """The ID that the server gave the call; empty if it gave none. The turn makes IDs unique."""
    place = ""
    """The index under which the server sends the call, as text; empty if it has none."""

    def is_whole(self) -> bool:
        last = next((part for part in reversed(self._parts) if part.strip()), "")
        return last.rstrip().endswith("}") and not parse_arguments(with_joined_pairs("".join(self._parts))).rejected


_DONE = "[DONE]"

_BROKEN_OFF = ("error", "abort", "network_error", "insufficient_system_resource")
"""The stop reasons with which Mistral, vLLM, GLM and DeepSeek report that an answer was broken off."""


def _error_in(event: JsonObject) -> JsonObject:
    """Return the error in an event: in its field, in its choice (OpenRouter), or the event itself (vLLM, FastChat)."""
    choices = objects_in(event, "choices")
    status = object_in(event, "base_resp")  # MiniMax
    said = text_in(event, "message") or (text_in(event, "text") if event.get("error_code") else "")
    said = said or text_in(event, "detail") or (text_in(event, "msg") if event.get("code") else "")
    said = said or (text_in(status, "status_msg") if status.get("status_code") else "")
    of_its_own = {**event, "message": said} if said and not choices else {}
    return error_in(event) or error_in(choices[0] if choices else {}) or of_its_own


def _content_of(delta: JsonObject) -> str:
    """Return the text of a delta. Some servers send it in parts, as it is in requests."""
    parts = objects_in(delta, "content")
    return "".join(text_in(part, "text") for part in parts) if parts else text_in(delta, "content")


class ChatReader(MessageReader):
    def __init__(self, *, reports_cost: bool = False) -> None:
        """If `reports_cost`, the cost in US dollars that the server reports is trusted."""
        super().__init__()
        self._reports_cost = reports_cost
        self._finish_reason = ""
        self._text = GrowingAnswer()
        self._has_refused = False
        self._thinking = _Thinking()
        self._calls = _Calls()
        self._citations: dict[str, Citation] = {}
        """The cited pages by address, without duplicates, in the order in which they arrived."""
        self._chars = 0
        self._has_deltas = False

    def add(self, data: str) -> Sequence[StreamPiece]:
        if data.strip().strip('"').upper() != _DONE:
            return super().add(data)
        self.is_whole = True
        return tuple(self._end())

    def completion(self) -> Completion:
        if not self._finish_reason and not self.is_whole:
            raise broken_off("the stream ended before the message did")
        if not self._finish_reason:
            self.mend_missing_reason()
        if self._finish_reason in _BROKEN_OFF:
            raise broken_off("the model's server broke off the answer")
        content: list[AssistantBlock] = self._thinking.result()
        cited = tuple(self._citations.values())
        if cited:  # tells of the search, and does not go back
            pages = tuple(WebPage(url=each.url, title=each.title) for each in cited)
            content.append(OpaqueBlock(payload={}, call=HostedCall(id=f"search_{self._message_id}", pages=pages)))
        thoughts, text = self._text.split()
        if thoughts:
            self.mend("thoughts_in_text")
            content += thinking_in(thoughts)
        if text:
            content.append(TextBlock(text=text, citations=cited))
        content += self._results(self._calls.all)
        for flaw in self._calls.mended:
            self.mend(flaw)
        return self._completion(content, self._stop_reason())

    def _is_answer(self, document: JsonObject) -> bool:
        return bool(_error_in(document) or objects_in(document, "choices"))

    def _events_of(self, document: JsonObject) -> Iterable[JsonObject]:
        yield document
        if not self._finish_reason:
            yield {"choices": [{"finish_reason": "stop"}]}

    def _take(self, event: JsonObject) -> Iterable[StreamPiece]:
        if error := _error_in(event):
            raise ErrorEventError(reported_error(error))
        if "choices" in event:
            self.is_untouched = False
        self._message_id = self._message_id or message_id_in(event)
        choices = objects_in(event, "choices")
        if usage := object_in(event, "usage") or (object_in(choices[0], "usage") if choices else {}):  # Kimi's place
            self._usage = read_usage(usage, whole_input="prompt_tokens", output="completion_tokens")
            if self._reports_cost:
                searches = count_in(object_in(usage, "server_tool_use"), "web_search_requests", 0)
                self._usage = replace(self._usage, cost_usd=cost_in(usage), web_searches=searches)
        return self._take_choice(choices[0]) if choices else ()

    def _take_choice(self, choice: JsonObject) -> Iterator[StreamPiece]:
        delta = object_in(choice, "delta")
        self._has_deltas = self._has_deltas or any(delta.get(name) for name in _SAYING)
        if not delta and (delta := self._unsaid(object_in(choice, "message"))):
            self.mend("whole_message")
        self._chars += weight_of(delta)
        if self._chars > MAX_CHARS:
            raise oversized(f"more than {MAX_CHARS:,} characters")
        yield from self._thinking.take(delta)
        self._cite(delta)
        refusal = text_in(delta, "refusal")
        self._has_refused = self._has_refused or bool(refusal)
        yield from self._text.add(_content_of(delta) + refusal)
        alone = object_in(delta, "function_call")  # as it was before there were several
        for call in objects_in(delta, "tool_calls") or ([{"function": alone}] if alone else []):
            yield from self._calls.add(call)
        if (reason := text_in(choice, "finish_reason").lower()) not in ("", "null"):
            self._finish_reason = reason
            yield from self._end()

    def _unsaid(self, message: JsonObject) -> JsonObject:
        """Return what is new in a message: one that repeats the deltas, or one of several that grow or follow."""
        content, so_far = _content_of(message), self._text.received
        if so_far and (content.startswith(so_far) or not self._has_deltas):
            message = {**message, "content": content.removeprefix(so_far)}
            so_far = ""
        said = ("content", "refusal") if so_far else ()
        said += ("tool_calls", "function_call") if self._calls.all else ()
        said += (*THINKING_FIELDS, DETAILS) if self._thinking.so_far else ()
        unsaid = {name: value for name, value in message.items() if name in _SAYING and name not in said}
        return unsaid if any(unsaid.values()) else {}

    def _cite(self, delta: JsonObject) -> None:
        for note in objects_in(delta, "annotations"):
            cited = object_in(note, "url_citation")
            if url := repaired(text_in(cited, "url")):
                title, quote = repaired(text_in(cited, "title")), repaired(text_in(cited, "content")[:_LONGEST_QUOTE])
                self._citations.setdefault(url, Citation(url=url, title=title, quote=quote))

    def _end(self) -> Iterator[StreamPiece]:
        yield from self._thinking.end()
        yield from self._text.end()

    def _stop_reason(self) -> StopReason:
        """Return the reason to stop by the calls: some servers say `stop` after calls, or `tool_calls` without any."""
        reason = stop_reason_of(self._finish_reason or "stop")
        if reason in ("end_turn", "stop_sequence", "tool_use"):
            return "tool_use" if self._calls.all else "refusal" if self._has_refused else "end_turn"
        return reason


# -- requests --


def mark(messages: "list[sdk.ChatMessage]", ends: Iterable[int]) -> None:
    """Mark, in place, the last text before each of the `ends`. An end is a number of messages."""
    for end in ends:
        for message in reversed(messages[:end]):
            if _marks(message):
                break


def _marks(message: "sdk.ChatMessage") -> bool:
    """Mark the last text of a message, in place. Return whether it has one."""
    content = message.get("content")
    if isinstance(content, str):
        text: sdk.ChatText = {"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}
        message["content"] = [text]
        return True
    for part in reversed(list(content or ())):
        if part["type"] == "text":
            cast("sdk.ChatText", part)["cache_control"] = {"type": "ephemeral"}  # made here, by `_text`
            return True
    return False


LONGEST_NAME = 64
LONGEST_CALL_ID = 40

CACHE_KEY: Final = "prompt_cache_key"
PARALLEL: Final = "parallel_tool_calls"

_PICTURES_OF_CALL = "The picture of the result above ({}):"


def _add_to_user(messages: "list[sdk.ChatMessage]", text: str) -> None:
    """Append `text` to the user's last message: templates of many local models require alternating roles."""
    match messages:
        case [*_, {"role": "user", "content": content} as last]:
            last["content"] = f"{content}\n\n{text}" if isinstance(content, str) else [*content, _text(text)]
        case _:
            messages.append({"role": "user", "content": text})


def _user_messages(message: UserMessage, pictures: Pictures) -> "list[sdk.ChatMessage]":
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    parts: list[sdk.ChatPart] = []
    for result in results:
        for image in result.images:
            parts += [_text(_PICTURES_OF_CALL.format(call_id_in(result.call_id, LONGEST_CALL_ID)))]
            parts += [_picture(image, pictures)]
    for block in message.content:
        if isinstance(block, TextBlock) and block.text.strip():
            parts.append(_text(repaired(block.text)))
        elif isinstance(block, ImageBlock):
            parts.append(_picture(block.image, pictures))
    messages: list[sdk.ChatMessage] = [
        {"role": "tool", "tool_call_id": call_id_in(result.call_id, LONGEST_CALL_ID), "content": result_text(result)}
        for result in results
    ]
    match parts:
        case []:
            pass
        case [{"type": "text", "text": text}]:
            messages.append({"role": "user", "content": text})
        case _:
            messages.append({"role": "user", "content": parts})
    return messages


def _assistant_messages(message: AssistantMessage) -> "list[sdk.ChatMessage]":
    wire: sdk.ChatAssistant = {"role": "assistant"}
    if text := "".join(block.text for block in message.content if isinstance(block, TextBlock)).strip():
        wire["content"] = repaired(text)
    if calls := [_call(block) for block in message.content if isinstance(block, ToolUseBlock)]:
        wire["tool_calls"] = calls
    if len(wire) == 1:
        return []
    for block in message.content:
        match block:
            case ThinkingBlock(thinking=thinking, signature=field) if field in THINKING_FIELDS:
                wire[field] = f"{wire.get(field, '')}{repaired(thinking)}"
            case OpaqueBlock(payload=payload) if DETAILS in payload:
                wire[DETAILS] = [*wire.get(DETAILS, ()), *cast("list[object]", payload[DETAILS])]
            case _:
                pass
    return [wire]


def _call(block: ToolUseBlock) -> "sdk.ChatCall":
    return {
        "id": call_id_in(block.id, LONGEST_CALL_ID),
        "type": "function",
        "function": {"name": tool_name_in(block.name, LONGEST_NAME), "arguments": arguments_text(block)},
    }


def _picture(image: BlobRef, pictures: Pictures) -> "sdk.ChatPart":
    data = data_of(image, pictures)
    if data is None:
        return _text(PICTURE_GONE)
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}


def _text(text: str) -> "sdk.ChatText":
    return {"type": "text", "text": text}


def _tool(tool: ToolDefinition) -> "sdk.ChatTool":
    name, schema, description = offered_tool(tool, LONGEST_NAME)
    wire: sdk.ChatTool = {"type": "function", "function": {"name": name, "parameters": schema}}
    if description:
        wire["function"]["description"] = description
    return wire


class ChatFormat(OpenAIFormat):
    answers_path = "/chat/completions"

    def __init__(self, vendor: Vendor, *, is_at_home: bool) -> None:
        super().__init__(
            "stream_options",
            PARALLEL,
            CACHE_KEY,
            vendor.effort_field,
            never=() if vendor.takes_cache_key and is_at_home else (CACHE_KEY,),
            searches=vendor.searches,
            effort_fields=(vendor.effort_field,),
        )
        self._vendor = vendor
        self._limit_field: Literal["max_completion_tokens", "max_tokens"] = (
            "max_completion_tokens" if vendor.takes_completion_limit and is_at_home else "max_tokens"
        )

    def _messages(self, request: ModelRequest, pictures: Pictures) -> "list[sdk.ChatMessage]":
        messages: list[sdk.ChatMessage] = []
        if request.system.strip():
            messages.append({"role": "system", "content": repaired(request.system)})
        ends = [len(messages)]
        for number, message in enumerate(request.messages, 1):
            match message:
                case UserMessage():
                    messages.extend(_user_messages(message, pictures))
                case AssistantMessage():
                    messages.extend(_assistant_messages(message))
            if number in (request.stable_messages, len(request.messages)):
                ends.append(len(messages))
        if request.model.startswith(self._vendor.cache_marks_for):
            mark(messages, ends)
        if request.pinned.strip():
            _add_to_user(messages, repaired(request.pinned))
        return messages

    def body(self, request: ModelRequest, pictures: Pictures) -> "sdk.ChatBody":
        body: sdk.ChatBody = {
            "model": request.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": self._messages(request, pictures),
        }
        body[self._limit_field] = request.max_tokens
        if request.conversation:
            body[CACHE_KEY] = request.conversation
        if request.effort and self._vendor.effort_field == "reasoning":
            body["reasoning"] = {"effort": request.effort}
        elif request.effort:
            # The level is of the model's own list, which can be newer than the SDK.
            body["reasoning_effort"] = cast("sdk.Effort", request.effort)
        if request.tools:
            body["tools"] = self.tools(request, _tool, WEB_SEARCH)
            if self._vendor.calls_one_by_one:
                body[PARALLEL] = True
        return body

    def reader(self) -> ChatReader:
        return ChatReader(reports_cost=self._vendor.reports_cost)
