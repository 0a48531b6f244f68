"""A plan is a checklist; only its newest version is unfolded."""

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.transcript import ToolEntry
from tests.ui.chat.stage import Stage, call, click


def todos(*statuses: str) -> list[dict[str, object]]:
    return [{"id": str(at), "content": f"step {at}", "status": status} for at, status in enumerate(statuses)]


def plan(*statuses: str, call_id: str = "c1") -> ToolEntry:
    result = ToolResult(content="{}", metadata={"todos": todos(*statuses)})
    return call("todo_write", "write", call_id=call_id, result=result)


MIXED = ("completed", "in_progress", "pending", "cancelled")


def test_steps_are_listed_with_how_far_it_is_each_state_with_a_mark_and_a_word(stage: Stage) -> None:
    stage.show(plan(*MIXED))
    assert stage.shown_text(0).split("\u2028") == ["step 0", "step 1", "step 2", "step 3"]
    assert stage.widget(0).accessibleName() == "Plan done 1 of 3"
    assert stage.widget(0).accessibleDescription() == (
        "done: step 0. in progress: step 1. to do: step 2. cancelled: step 3."
    )
    image = stage.widget(0).grab().toImage()
    marks = [image.copy(10, 41 + 20 * row, 16, 18).convertToFormat(image.Format.Format_Grayscale8) for row in range(4)]
    assert all(one != other for at, one in enumerate(marks) for other in marks[at + 1 :])
    stage.view.selected.select_all()
    assert stage.view.selected.text() == "Plan\n[x] step 0\n[~] step 1\n[ ] step 2\n[-] step 3"


def test_only_the_newest_is_unfolded(stage: Stage) -> None:
    stage.show(plan("pending", "pending", call_id="a"), plan("completed", "pending", call_id="b"))
    assert not stage.widget(0).is_column_shown
    assert stage.widget(0).accessibleName() == "Plan updated done 0 of 2"
    assert stage.widget(1).is_column_shown
    click(stage.widget(0).tab_stops()[0])
    stage.widget(0).refresh()
    assert stage.widget(0).is_column_shown, "one that the person unfolded stays open"


def test_an_older_one_folds_when_a_newer_comes(stage: Stage) -> None:
    conversation = stage.talk()

    def write(*statuses: str) -> None:
        call_id = conversation.start_call("todo_write", "write")
        result = ToolResult(content="{}", metadata={"todos": todos(*statuses)})
        finished = ev.ToolCallFinished(turn=1, call_id=call_id, state="completed", result=result, duration_s=0.1)
        conversation.show(finished)

    write("pending", "pending")
    assert stage.widget(1).is_column_shown
    write("completed", "in_progress")
    assert not stage.widget(1).is_column_shown
    assert stage.widget(2).is_column_shown
    write("completed", "completed")
    assert [stage.widget(row).is_column_shown for row in (1, 2, 3)] == [False, False, True]


def test_long_steps_wrap(stage: Stage) -> None:
    result = ToolResult(content="{}", metadata={"todos": [{"content": "many words " * 30}, {"content": "a\nb\u2028c"}]})
    stage.show(call("todo_write", "write", result=result))
    assert stage.widget(0).height() > 32 + 4 * 20
    assert stage.shown_text(0).endswith("\u2028a b⟨U+2028⟩c")
