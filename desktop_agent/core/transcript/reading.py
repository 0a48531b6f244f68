"""What is read out of single events: readable blocks, plans, first lines. Pure."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Literal, cast, get_args

from desktop_agent.core.base.plain_text import money
from desktop_agent.core.protocol.events import TurnEnded
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalRequest,
    AssistantBlock,
    Denied,
    JsonObject,
    OpaqueBlock,
    OutsideFile,
    RefChange,
    TextBlock,
    ThinkingBlock,
    TodoItem,
    TodoStatus,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.transcript.entries import SpendingEntry


def todos_of(result: ToolResult) -> tuple[TodoItem, ...] | None:
    """Return the plan that a call wrote (`todos` in its metadata), or None when it wrote none. Never raises."""
    listed = result.metadata.get("todos")
    if not isinstance(listed, list):
        return None
    items = (cast("JsonObject", item) for item in cast("list[object]", listed) if isinstance(item, dict))
    return tuple(
        TodoItem(id=str(item.get("id", "")), content=str(item.get("content", "")), status=_todo_status(item))
        for item in items
    )


def _todo_status(item: JsonObject) -> TodoStatus:
    status = item.get("status")
    return cast("TodoStatus", status) if status in get_args(TodoStatus) else "pending"


def spending_line(entry: SpendingEntry) -> str:
    """Return the question whether to spend more, and the answer once there is one, in one line."""
    title, question = entry.request.title, entry.request.spending
    match entry.decision:
        case None:
            return title
        case Allowed():
            return f"{title} Yes, up to {money(question.until_usd)}." if question is not None else f"{title} Yes."
        case Denied():
            return f"{title} No."
        case Aborted(reason=reason):
            return f"{title} No answer: {reason}"


CUT_OFF_KEY = "cut_off"
"""The key in a result's metadata that is true if the application ended before the call had a result."""


def how_it_ended(end: TurnEnded) -> str:
    """Return how a turn ended, for a line that begins with the turn."""
    if end.is_cut_off:
        return "cut off, because the application ended"
    return end.reason.replace("_", " ")


_PLAIN_NAME = re.compile(r"[\w.-]+")
_LONGEST_INLINE = 100
"""The longest list or object on one line; longer ones have a line for each item."""
_DEEPEST_MARGIN = 100
"""What is nested deeper stands on one line."""
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_EXPLAINED = ("run_terminal_cmd",)
"""Our tools that let the model say what a call is for."""


def asked_call(request: ApprovalRequest, at_least: int | None = None) -> str:
    """Return the exact call: the tool, then its arguments, one on each line.

    Empty if the command or the changes say everything. Values are JSON, but texts of several lines stand as they are,
    indented below their name, so that no line can pass for another argument. With `at_least`, it may end after that
    many characters: a caller that shows only the beginning need not wait for the rest.
    """
    if not (request.server or request.arguments):
        return ""
    lines = [f"{request.server}/{request.server_tool}" if request.server else request.tool]
    size = len(lines[0])
    for line in _items(request.arguments, "  "):
        lines.append(line)
        size += 1 + len(line)
        if at_least is not None and size >= at_least:
            break
    return "\n".join(lines)


def _items(values: JsonObject, margin: str) -> Iterator[str]:
    for name, value in values.items():
        shown = name if _PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
        yield from _value(f"{margin}{shown}:", value, f"{margin}  ")


def _value(head: str, value: object, margin: str) -> Iterator[str]:
    """Write a value after `head`, or indented below it."""
    if isinstance(value, str) and "\n" in value:
        is_ended = value.endswith("\n")
        ends_plainly = is_ended and value != "\n" and not value.endswith("\n\n")
        yield f"{head} {'|' if ends_plainly else '|+' if is_ended else '|-'}"
        yield from (f"{margin}{line}" for line in _lines(value))
        return
    if not (isinstance(value, dict | list) and value) or len(margin) > _DEEPEST_MARGIN:
        yield f"{head} {json.dumps(value, ensure_ascii=False)}"
    elif (inline := _inline(cast("JsonObject | list[object]", value))) is not None:
        yield f"{head} {inline}"
    elif isinstance(value, dict):
        yield head
        yield from _items(cast("JsonObject", value), margin)
    else:
        yield head
        for item in cast("list[object]", value):
            yield from _value(f"{margin}-", item, f"{margin}  ")


def _lines(text: str) -> Iterator[str]:
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    if start < len(text):
        yield text[start:]


def _inline(value: object) -> str | None:
    """Return it on one line, if it is short and has no text of several lines. Reads no more of it than that takes."""
    text = ""
    for piece in _ENCODER.iterencode(value):
        text += piece
        if len(text) > _LONGEST_INLINE:
            return None
    return None if "\\n" in text else text


def explanation_of(call: ToolCall) -> str:
    """Return what the model said a call is for, in a sentence; empty if it said nothing."""
    said = call.arguments.get("explanation") if call.name in _EXPLAINED else None
    return said.strip() if isinstance(said, str) else ""


Piece = tuple[Literal["text", "thinking", "call"], str]
"""Something that a user reads of a message: words, or the id of a call that ran at the provider."""


def readable(content: Sequence[AssistantBlock]) -> list[Piece]:
    """What a user reads of a message, neighbours of one kind joined as they are while streaming; each call once."""
    readable: list[Piece] = []
    for block in content:
        piece: Piece
        match block:
            case OpaqueBlock(call=call) if call is not None:
                if ("call", call.id) not in readable:
                    readable.append(("call", call.id))
                continue
            case TextBlock(text=text) if text:
                piece = ("text", text)
            case ThinkingBlock(thinking=text) if text:
                piece = ("thinking", text)
            case _:
                continue
        if readable and readable[-1][0] == piece[0]:
            readable[-1] = (piece[0], readable[-1][1] + piece[1])
        else:
            readable.append(piece)
    return readable


def first_line(text: str, limit: int = 80) -> str:
    """Return the first line of a prompt, cut to what a title may have."""
    line = text.strip().partition("\n")[0].strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def is_index(item: RefChange | OutsideFile) -> bool:
    """Whether it is git's list of what is staged, which the next look at the repository writes anew."""
    return isinstance(item, OutsideFile) and item.path.endswith("/index") and "/.git/" in item.path
