"""Chat Completions as a wire format: builds request bodies that the API accepts for any conversation.

Sources: https://platform.openai.com/docs/api-reference/chat and, for the marks of prompt prefixes to cache,
https://openrouter.ai/docs/guides/best-practices/prompt-caching
"""

from collections.abc import Iterable
from typing import cast

from desktop_agent.core.models.vendors import Vendor
from desktop_agent.core.protocol.codec import objects_in
from desktop_agent.core.protocol.model import (
    AssistantMessage,
    BlobRef,
    ImageBlock,
    JsonObject,
    ModelRequest,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers.chat_stream import DETAILS, THINKING_FIELDS, WEB_SEARCH, ChatReader
from desktop_agent.core.providers.openai import OpenAIFormat, result_text
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

_KEPT: JsonObject = {"type": "ephemeral"}


def mark(messages: list[JsonObject], ends: Iterable[int]) -> None:
    """Mark, in place, the last text before each of the `ends`. An end is a number of messages."""
    for end in ends:
        for number in reversed(range(end)):
            if (marked := _marked(messages[number])) is not None:
                messages[number] = marked
                break


def _marked(message: JsonObject) -> JsonObject | None:
    content = message.get("content")
    if isinstance(content, str):
        return message | {"content": [{"type": "text", "text": content, "cache_control": _KEPT}]}
    parts = objects_in(message, "content")
    for number in reversed(range(len(parts))):
        if parts[number].get("type") == "text":
            marked = parts[number] | {"cache_control": _KEPT}
            return message | {"content": [*parts[:number], marked, *parts[number + 1 :]]}
    return None


LONGEST_NAME = 64
LONGEST_CALL_ID = 40

CACHE_KEY = "prompt_cache_key"
PARALLEL = "parallel_tool_calls"

_PICTURES_OF_CALL = "The picture of the result above ({}):"


def _add_to_user(messages: list[JsonObject], text: str) -> None:
    """Append `text` to the user's last message: templates of many local models require alternating roles."""
    last = messages[-1] if messages else {}
    match last:
        case {"role": "user", "content": str(content)}:
            messages[-1] = last | {"content": f"{content}\n\n{text}"}
        case {"role": "user", "content": list()}:
            messages[-1] = last | {"content": [*cast("list[JsonObject]", last["content"]), _text(text)]}
        case _:
            messages.append({"role": "user", "content": text})


def _user_messages(message: UserMessage, pictures: Pictures) -> list[JsonObject]:
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    parts: list[JsonObject] = []
    for result in results:
        for image in result.images:
            parts += [_text(_PICTURES_OF_CALL.format(call_id_in(result.call_id, LONGEST_CALL_ID)))]
            parts += [_picture(image, pictures)]
    for block in message.content:
        if isinstance(block, TextBlock) and block.text.strip():
            parts.append(_text(repaired(block.text)))
        elif isinstance(block, ImageBlock):
            parts.append(_picture(block.image, pictures))
    messages: list[JsonObject] = [
        {"role": "tool", "tool_call_id": call_id_in(result.call_id, LONGEST_CALL_ID), "content": result_text(result)}
        for result in results
    ]
    if parts:
        is_plain = len(parts) == 1 and parts[0]["type"] == "text"
        messages.append({"role": "user", "content": parts[0]["text"] if is_plain else parts})
    return messages


def _assistant_messages(message: AssistantMessage) -> list[JsonObject]:
    wire: JsonObject = {"role": "assistant"}
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
                earlier = cast("list[object]", wire.get(DETAILS, []))
                wire[DETAILS] = [*earlier, *cast("list[object]", payload[DETAILS])]
            case _:
                pass
    return [wire]


def _call(block: ToolUseBlock) -> JsonObject:
    function = {"name": tool_name_in(block.name, LONGEST_NAME), "arguments": arguments_text(block)}
    return {"id": call_id_in(block.id, LONGEST_CALL_ID), "type": "function", "function": function}


def _picture(image: BlobRef, pictures: Pictures) -> JsonObject:
    data = data_of(image, pictures)
    if data is None:
        return _text(PICTURE_GONE)
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


class ChatFormat(OpenAIFormat):
    answers_path = "/chat/completions"
    web_search = WEB_SEARCH

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
        self._limit_field = "max_completion_tokens" if vendor.takes_completion_limit and is_at_home else "max_tokens"

    def body(self, request: ModelRequest, pictures: Pictures) -> JsonObject:
        messages: list[JsonObject] = []
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
        body: JsonObject = {
            "model": request.model,
            self._limit_field: request.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": messages,
        }
        if request.conversation:
            body[CACHE_KEY] = request.conversation
        if request.effort:
            is_inside = self._vendor.effort_field == "reasoning"
            body[self._vendor.effort_field] = {"effort": request.effort} if is_inside else request.effort
        if request.tools:
            body["tools"] = self.tools(request)
            if self._vendor.calls_one_by_one:
                body[PARALLEL] = True
        return body

    def tool(self, tool: ToolDefinition) -> JsonObject:
        return {"type": "function", "function": offered_tool(tool, LONGEST_NAME, "parameters")}

    def reader(self) -> ChatReader:
        return ChatReader(reports_cost=self._vendor.reports_cost)
