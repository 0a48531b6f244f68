"""What is read out of single events: readable blocks, plans, first lines. Pure."""

from collections.abc import Sequence
from typing import Literal, cast, get_args

from desktop_agent.core.base.money import money
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
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
