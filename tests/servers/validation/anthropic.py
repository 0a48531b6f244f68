"""Would the Messages API accept this request? `check_request(body)` returns problems as `path: problem`."""

import re
from collections import Counter
from collections.abc import Iterator, Set
from typing import cast

from desktop_agent.core.models.known_model import LEVELS
from desktop_agent.core.protocol.model import JsonObject
from tests.servers.validation import rules
from tests.servers.validation.rules import fields_of, objects

_LONGEST_NAME = 128
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MOST_BREAKPOINTS = 4
_LARGEST_PICTURE = 5 * 1024 * 1024

COUNTED = frozenset({"model", "messages", "system", "tools", "output_config"})
FIELDS = COUNTED | {"max_tokens", "stream", "diagnostics"}
KINDS = frozenset({"text", "image", "thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use"}) | {
    f"{tool}_tool_result" for tool in ("web_search", "web_fetch")
}


def check_request(body: object, known: Set[str] = FIELDS) -> list[str]:
    """Return what is wrong. The outermost fields are compared with `known`: some are removed on the way."""
    unknown = sorted(fields_of(body).keys() - known)
    return [*(f"body.{name}: unknown field" for name in unknown), *_nonsense(fields_of(body))]


def check_count_request(body: object) -> list[str]:
    return check_request(body, COUNTED)


def _nonsense(body: JsonObject) -> Iterator[str]:
    messages = objects(body.get("messages"))
    for number, message in enumerate(messages):
        yield from rules.kinds(_blocks(message), KINDS, f"messages.{number}.content")
    wanted = fields_of(body.get("output_config")).get("effort")
    yield from rules.effort(wanted, LEVELS["anthropic"], "output_config.effort")
    yield from _roles(messages)
    yield from _pairing(messages)
    yield from _hosted_calls(messages)
    for number, message in enumerate(messages):
        yield from _content(_blocks(message), f"messages.{number}")
    yield from rules.functions(objects(body.get("tools")), "input_schema", longest=_LONGEST_NAME)
    yield from _content(objects(body.get("system")), "system")
    breakpoints = _breakpoints(body)
    if breakpoints > _MOST_BREAKPOINTS:
        yield f"body: {breakpoints} blocks with cache_control, {_MOST_BREAKPOINTS} at most"


def _roles(messages: list[JsonObject]) -> Iterator[str]:
    if not messages:
        yield "messages: empty"
    for number, message in enumerate(messages):
        expected = "assistant" if number % 2 else "user"
        if message["role"] != expected:
            yield f"messages.{number}: a message of {message['role']} where one of {expected} belongs"
        if not _blocks(message):
            yield f"messages.{number}.content: empty"


def _pairing(messages: list[JsonObject]) -> Iterator[str]:
    """Every call has one answer at the start of the next message; nothing else is answered."""
    ids = Counter(block["id"] for message in messages for block in _blocks(message) if block["type"] == "tool_use")
    yield from (f"tool_use {call_id}: {count} calls have this id" for call_id, count in ids.items() if count > 1)
    for number, message in enumerate(messages):
        asked = _calls(messages[number - 1]) if number and message["role"] == "user" else []
        results = [block for block in _blocks(message) if block["type"] == "tool_result"]
        answered = [block["tool_use_id"] for block in results]
        if missing := [call for call in asked if call not in answered]:
            yield f"messages.{number}: no tool_result for {missing}"
        if strange := [call for call in answered if call not in asked]:
            yield f"messages.{number}: tool_result without its tool_use: {strange}"
        if len(set(map(str, answered))) < len(answered):
            yield f"messages.{number}: a tool_use is answered twice"
        if _blocks(message)[: len(results)] != results:
            yield f"messages.{number}: tool_result blocks must come first"
    if messages and (unanswered := _calls(messages[-1])):
        yield f"messages: the conversation ends with unanswered calls: {unanswered}"


def _hosted_calls(messages: list[JsonObject]) -> Iterator[str]:
    """A hosted call has its result later in the same message, unless the last answer continues."""
    for number, message in enumerate(messages):
        blocks = _blocks(message)
        begun: list[object] = []
        for block in blocks:
            if block["type"] == "server_tool_use":
                begun.append(block["id"])
            elif str(block["type"]).endswith("_tool_result") and block["type"] != "tool_result":
                if block["tool_use_id"] not in begun:
                    yield f"messages.{number}: {block['type']} without its server_tool_use: {block['tool_use_id']}"
                else:
                    begun.remove(block["tool_use_id"])
        after = [block for later in messages[number + 1 :] for block in _blocks(later)]
        if begun and after and after[0]["type"] != "tool_result":
            yield f"messages.{number}: server_tool_use without its result: {begun}"


def _content(blocks: list[JsonObject], path: str) -> Iterator[str]:
    for number, block in enumerate(blocks):
        where = f"{path}.content.{number}"
        if block.get("type") == "tool_result":
            yield from _pictures(objects(block.get("content")), where, is_error=block.get("is_error") is True)
        match block:
            case {"type": "text", "text": str(text)} if not text.strip():
                yield f"{where}: text must not be blank"
            case {"type": "thinking", "signature": ""}:
                yield f"{where}: thinking without a signature"
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                if not _CALL_ID.fullmatch(call_id):
                    yield f"{where}.id: {call_id!r} has characters that ids do not have"
                yield from rules.tool_name(name, f"{where}.name", longest=_LONGEST_NAME)
            case {"type": "tool_result", "is_error": True} if not block.get("content"):
                yield f"{where}: an error must have content"
            case {"type": "tool_result", "tool_use_id": str(call_id)} if not _CALL_ID.fullmatch(call_id):
                yield f"{where}.tool_use_id: {call_id!r} has characters that ids do not have"
            case _:
                pass


def _pictures(blocks: list[JsonObject], path: str, *, is_error: bool) -> Iterator[str]:
    for number, block in enumerate(blocks):
        match block:
            case {"type": "image"} if is_error:
                yield f"{path}.content.{number}: an error may have text only"
            case {"type": "image", "source": {"type": "base64", "media_type": str(media_type), "data": str(data)}}:
                if len(data) > _LARGEST_PICTURE:
                    yield f"{path}.content.{number}: image exceeds 5 MB maximum: {len(data)} bytes > {_LARGEST_PICTURE}"
                yield from rules.picture(f"data:{media_type};base64,{data}", f"{path}.content.{number}")
            case {"type": "text", "text": str(text)} if not text.strip():
                yield f"{path}.content.{number}: text must not be blank"
            case _:
                pass


def _breakpoints(value: object) -> int:
    match value:
        case dict():
            fields = cast("JsonObject", value)
            inner = (item for name, item in fields.items() if name not in ("input", "input_schema"))
            return (fields.get("cache_control") is not None) + sum(map(_breakpoints, inner))
        case list():
            return sum(map(_breakpoints, cast("list[object]", value)))
        case _:
            return 0


def _calls(message: JsonObject) -> list[object]:
    if message["role"] != "assistant":
        return []
    return [block["id"] for block in _blocks(message) if block["type"] == "tool_use"]


def _blocks(message: JsonObject) -> list[JsonObject]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
