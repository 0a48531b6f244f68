"""`todo_write`: the agent's plan. The newest answer in the journal *is* the list."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, cast, get_args

from pydantic import AfterValidator, Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import TodoItem, TodoStatus, ToolResult
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext, json_text

STATUSES: tuple[str, ...] = get_args(TodoStatus)
MOST_ITEMS = 100
LONGEST_CONTENT = 1_000


def _known_status(status: str) -> str:
    if status not in STATUSES:
        raise ValueError(f"status must be one of {list(STATUSES)}, not {status!r}")
    return status


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


StatusText = Annotated[str, AfterValidator(_known_status), Field(json_schema_extra={"enum": list(STATUSES)})]
FilledText = Annotated[str, AfterValidator(_not_blank)]


class TodoEntry(ToolArguments):
    """One step of the plan as the model sends it. Omitted fields stay unchanged."""

    id: Annotated[FilledText, Field(max_length=100)] = Field(description="Names the item; your own choice.")
    content: Annotated[FilledText, Field(max_length=LONGEST_CONTENT)] | None = Field(
        default=None, description="What is to be done. Needed for a new item."
    )
    status: StatusText | None = Field(default=None, description="Default for a new item: pending.")


class TodoWriteArguments(ToolArguments):
    merge: bool = Field(
        default=False, description="Update the items named and append new ones, instead of replacing the whole list."
    )
    todos: list[TodoEntry] = Field(max_length=MOST_ITEMS, description="The items, in order.")


class TodoWrite(ReadTool[TodoWriteArguments]):
    name = "todo_write"
    description = (
        "Keep a to-do list for work of several steps; the user sees it live. Write the whole list first, then update "
        "items by id with merge=true as you go: in_progress when you begin one, completed as soon as it is done. "
        "Answers with the whole list. Not for single steps."
    )
    capabilities = ()
    arguments_type = TodoWriteArguments

    @property
    def is_parallel(self) -> bool:
        return False

    def title(self, arguments: TodoWriteArguments) -> str:
        count = len(arguments.todos)
        what = "1 item" if count == 1 else f"{count} items"
        return f"update {what}" if arguments.merge else what

    async def run(self, arguments: TodoWriteArguments, context: ToolContext) -> ToolResult:
        todos = revised(context.todos(), arguments.todos, merge=arguments.merge)
        items = [encode(todo) for todo in todos]
        answer = {"todos": items, "updated_at": context.clock.now().isoformat(timespec="seconds")}
        return ToolResult(content=json_text(answer), metadata={"todos": items})


def revised(present: Sequence[TodoItem], entries: Sequence[TodoEntry], *, merge: bool) -> tuple[TodoItem, ...]:
    """Return the revised plan. Raises `ToolError` (validation); the list is then unchanged."""
    counts = Counter(entry.id for entry in entries)
    if twice := [identifier for identifier, count in counts.items() if count > 1]:
        raise ToolError(
            f"Every id may occur once; these occur more often: {', '.join(twice)}.", error_type="validation"
        )
    known = {todo.id: todo for todo in present}
    written = {entry.id: _item(entry, known.get(entry.id)) for entry in entries}
    todos = tuple((known | written if merge else written).values())
    if len(todos) > MOST_ITEMS:
        advice = "Replace the list with what is still to be done."
        raise ToolError(f"The list would have more than {MOST_ITEMS} items. {advice}", error_type="validation")
    return todos


def _item(entry: TodoEntry, known: TodoItem | None) -> TodoItem:
    content = entry.content if entry.content is not None else known.content if known is not None else None
    if content is None:
        raise ToolError(f"The item {entry.id!r} is new, so it needs content.", error_type="validation")
    status = entry.status or (known.status if known is not None else "pending")
    return TodoItem(id=entry.id, content=content, status=cast("TodoStatus", status))
