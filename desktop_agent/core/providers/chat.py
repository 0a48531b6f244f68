"""Chat Completions as a wire format: builds request bodies that the API accepts for any conversation.

Sources: https://platform.openai.com/docs/api-reference/chat and, for the marks of prompt prefixes to cache,
https://openrouter.ai/docs/guides/best-practices/prompt-caching
"""

from collections.abc import Iterable
from typing import Final, Literal, cast

from desktop_agent.core.models.vendors import Vendor
from desktop_agent.core.protocol.model import (
    AssistantMessage,
    BlobRef,
    ImageBlock,
    ModelRequest,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers import sdk_types as sdk
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
