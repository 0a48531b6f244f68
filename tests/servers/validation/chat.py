"""Would the Chat Completions API accept this request? `check_request(body)` returns problems as `path: problem`."""

from collections import Counter
from collections.abc import Iterator, Set
from itertools import pairwise

from desktop_agent.core.models.known_model import LEVELS
from desktop_agent.core.protocol.model import JsonObject
from tests.servers.validation import rules
from tests.servers.validation.rules import fields_of, is_blank, objects

_LONGEST_CALL_ID = 40
_OTHERS = {"reasoning", "messages.*.content.*.cache_control"} | {
    f"messages.*.{field}" for field in ("reasoning", "reasoning_content", "reasoning_details")
}
"""The fields of compatible servers."""
_LEADERS = ("system", "developer")


def check_request(
    body: object, takes: Set[str] = frozenset(), server_tools: Set[str] = frozenset(), *, alternates: bool = False
) -> list[str]:
    """Return what is wrong with the body of a streaming request.

    `takes` are those of `_OTHERS` that the server knows, and `server_tools` the types of tools that it runs itself.
    """
    fields = fields_of(body)
    unknown = (f"body.{name}: unknown field" for name in sorted(_OTHERS.intersection(_paths(fields)) - takes))
    return [*unknown, *_nonsense(fields, server_tools, alternates=alternates)]


def _paths(value: object, path: str = "") -> Iterator[str]:
    yield path.removeprefix(".")
    for name, item in fields_of(value).items():
        yield from _paths(item, f"{path}.{name}")
    for item in objects(value):
        yield from _paths(item, f"{path}.*")


def _nonsense(body: JsonObject, server_tools: Set[str], *, alternates: bool) -> Iterator[str]:
    messages = objects(body.get("messages"))
    yield from rules.effort(body.get("reasoning_effort"), LEVELS["openai-chat"], "reasoning_effort")
    yield from _order(messages)
    yield from _pairing(messages)
    for number, message in enumerate(messages):
        yield from _message(message, f"messages.{number}")
    if alternates:
        yield from _turns(messages)
    yield from _tools(body, server_tools)
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        yield "body: max_tokens and max_completion_tokens exclude each other"


def _order(messages: list[JsonObject]) -> Iterator[str]:
    """The system comes first, then the user; the last message is not the model's."""
    roles = [str(message["role"]) for message in messages]
    said = [(number, role) for number, role in enumerate(roles) if role not in _LEADERS]
    if not said:
        yield "messages: nothing but the system" if roles else "messages: empty"
        return
    first, role = said[0]
    if role != "user":
        yield f"messages.{first}: a message of {role} where one of user belongs"
    yield from (
        f"messages.{number}: a message of {role} in the middle"
        for number, role in enumerate(roles)
        if number > first and role in _LEADERS
    )
    if roles[-1] == "assistant":
        yield "messages: the last word is the assistant's"


def _turns(messages: list[JsonObject]) -> Iterator[str]:
    for number, (one, other) in enumerate(pairwise(messages), 1):
        if one["role"] == other["role"] and one["role"] != "tool":
            yield f"messages.{number}: a second message of {other['role']} in a row"


def _pairing(messages: list[JsonObject]) -> Iterator[str]:
    open_calls: list[object] = []
    done: list[object] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            answered = message["tool_call_id"]
            if answered in open_calls:
                open_calls.remove(answered)
                done.append(answered)
            elif answered in done:
                yield f"messages.{number}: the call {answered!r} is answered twice"
            else:
                yield f"messages.{number}: a tool message without its call: {answered!r}"
            continue
        if open_calls:
            yield f"messages.{number}: no tool message for {open_calls}"
        open_calls = [call["id"] for call in objects(message.get("tool_calls"))]
        done = []
        twice = [each for each, count in Counter(open_calls).items() if count > 1]
        yield from (f"messages.{number}: more than one call {each!r}" for each in twice)
    if open_calls:
        yield f"messages: the conversation ends with unanswered calls: {open_calls}"


def _message(message: JsonObject, path: str) -> Iterator[str]:
    content, calls = message.get("content"), message.get("tool_calls")
    yield from _parts(objects(content), f"{path}.content")
    if content == []:
        yield f"{path}.content: empty"
    match message["role"]:
        case "assistant":
            if calls == []:
                yield f"{path}.tool_calls: empty"
            if not calls and not objects(content) and is_blank(content) and is_blank(message.get("refusal")):
                yield f"{path}: neither content nor calls"
        case "tool":
            yield from rules.call_id(message["tool_call_id"], f"{path}.tool_call_id", longest=_LONGEST_CALL_ID)
        case _ if isinstance(content, str) and is_blank(content):
            yield f"{path}.content: text must not be blank"
        case _:
            pass
    for number, call in enumerate(objects(calls)):
        where, function = f"{path}.tool_calls.{number}", fields_of(call.get("function"))
        yield from rules.call_id(call["id"], f"{where}.id", longest=_LONGEST_CALL_ID)
        yield from rules.tool_name(function.get("name"), f"{where}.name")
        yield from rules.arguments(function.get("arguments"), f"{where}.arguments")


def _parts(parts: list[JsonObject], path: str) -> Iterator[str]:
    for number, part in enumerate(parts):
        if part["type"] == "text" and is_blank(part["text"]):
            yield f"{path}.{number}: text must not be blank"
        yield from rules.picture(fields_of(part.get("image_url")).get("url"), f"{path}.{number}.image_url")


def _tools(body: JsonObject, server_tools: Set[str]) -> Iterator[str]:
    declared = objects(body.get("tools"))
    yield from rules.functions([fields_of(tool["function"]) for tool in declared if tool["type"] == "function"])
    yield from rules.kinds(declared, server_tools | {"function"}, "tools")
    if body.get("tools") == []:
        yield "tools: empty"
    if not declared:
        yield from (f"{name}: only with tools" for name in ("tool_choice", "parallel_tool_calls") if name in body)
