"""`todo_write`: the plan belongs to the session, and every answer shows all of it."""

from typing import Any

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TodoItem, ToolResult
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.tools.builtin.todo_write import LONGEST_CONTENT, MOST_ITEMS, TodoWrite
from desktop_agent.core.transcript import todos_of
from tests.core.tools.conftest import Workspace
from tests.harness import Ground

TOOL = TodoWrite()


def item(identifier: str, content: str, status: str = "pending") -> dict[str, str]:
    return {"id": identifier, "content": content, "status": status}


async def write(work: Workspace, *todos: dict[str, Any], merge: bool = False) -> ToolResult:
    result = await work.call(TOOL, todos=list(todos), merge=merge)
    listed = todos_of(result)
    assert listed is not None
    work.todos[:] = listed
    return result


async def test_a_known_item_keeps_its_words_when_the_list_is_replaced(work: Workspace) -> None:
    await write(work, item("a", "Read"), item("b", "Fix"))
    await write(work, {"id": "b", "status": "cancelled"})
    assert work.todos == [TodoItem(id="b", content="Fix", status="cancelled")]


async def test_no_items_empty_the_list(work: Workspace) -> None:
    await write(work, item("a", "Read"))
    await write(work)
    assert work.todos == []


@pytest.mark.parametrize(
    ("todos", "message"),
    [
        ([item(" ", "x")], "id: must not be blank"),
        ([item("a", "\n")], "content: must not be blank"),
        ([item("a", "x" * (LONGEST_CONTENT + 1))], "content"),
        ([item("a", "x"), item("a", "y")], "occur more often: a"),
        ([item(str(n), "x") for n in range(MOST_ITEMS + 1)], "todos"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_changes_nothing(work: Workspace, todos: Any, message: str) -> None:
    """T-97, Z-68: the tool has its own messages."""
    with pytest.raises(ToolError, match=message) as caught:
        await work.call(TOOL, todos=todos, merge=True)
    assert caught.value.error_type == "validation"


async def test_merging_cannot_grow_the_list_without_end(work: Workspace) -> None:
    await write(work, *[item(str(n), "x") for n in range(MOST_ITEMS)])
    with pytest.raises(ToolError, match="more than 100 items"):
        await work.call(TOOL, todos=[item("new", "x")], merge=True)


async def test_two_calls_of_one_message_do_not_run_side_by_side(ground: Ground) -> None:
    """Z-40: the second call starts from the first one's list."""
    first = Call("todo_write", {"todos": [item("a", "Read")]})
    second = Call("todo_write", {"merge": True, "todos": [item("b", "Fix")]})
    async with ground.session([[first, second], [Say("ok")]]) as s:
        await s.prompt()
        kinds = [type(event) for event in s.rx.recorded if isinstance(event, ev.ToolCallStarted | ev.ToolCallFinished)]
        assert kinds == [ev.ToolCallStarted, ev.ToolCallFinished] * 2
        assert not s.rx.all(ev.ChangesRecorded)
