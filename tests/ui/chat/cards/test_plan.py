"""A plan is a checklist: folded in the conversation, and at a fixed place above the message field."""

from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import TodoItem, TodoStatus, ToolResult
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.checklist import TodoPanel
from desktop_agent.ui.theme import Theme
from tests.ui.chat.stage import Stage, call, click


def todos(*statuses: str) -> list[dict[str, object]]:
    return [{"id": str(at), "content": f"step {at}", "status": status} for at, status in enumerate(statuses)]


def plan(*statuses: str, call_id: str = "c1") -> ToolEntry:
    result = ToolResult(content="{}", metadata={"todos": todos(*statuses)})
    return call("todo_write", "write", call_id=call_id, result=result)


MIXED: tuple[TodoStatus, ...] = ("completed", "in_progress", "pending", "cancelled")


def test_steps_are_listed_with_how_far_it_is_each_state_with_a_mark_and_a_word(stage: Stage) -> None:
    stage.show(plan(*MIXED))
    unfold(stage)
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


def test_a_plan_in_the_conversation_stays_folded_until_the_user_unfolds_it(stage: Stage) -> None:
    stage.show(plan("pending", "pending", call_id="a"), plan("completed", "pending", call_id="b"))
    assert [stage.widget(row).is_column_shown for row in (0, 1)] == [False, False]
    assert stage.widget(1).accessibleName() == "Plan done 1 of 2"
    unfold(stage)
    stage.widget(0).refresh()
    assert stage.widget(0).is_column_shown


def unfold(stage: Stage) -> None:
    click(stage.widget(0).tab_stops()[0])


def test_long_steps_wrap(stage: Stage) -> None:
    result = ToolResult(content="{}", metadata={"todos": [{"content": "many words " * 30}, {"content": "a\nb\u2028c"}]})
    stage.show(call("todo_write", "write", result=result))
    unfold(stage)
    assert stage.widget(0).height() > 32 + 4 * 20
    assert stage.shown_text(0).endswith("\u2028a b⟨U+2028⟩c")


def items(*statuses: TodoStatus) -> list[TodoItem]:
    return [TodoItem(id=str(at), content=f"step {at}", status=status) for at, status in enumerate(statuses)]


def names(panel: TodoPanel) -> list[str]:
    """Return what a screen reader says of the visible steps."""
    QApplication.processEvents()
    found = panel.findChildren(QWidget)
    return [each.accessibleName() for each in found if each.isVisible() and each.accessibleName().startswith(STATES)]


STATES = ("to do:", "in progress:", "done:", "cancelled:")


def test_the_panel_shows_the_current_step_and_all_steps_when_it_is_opened(qtbot: QtBot, theme: Theme) -> None:
    panel = TodoPanel(theme)
    qtbot.addWidget(panel)
    panel.show_todos(items(*MIXED), is_running=True)
    assert panel.isVisible()
    assert names(panel) == ["in progress: step 1"]
    plan, toggle, close = panel.findChildren(QPushButton)
    assert not plan.isVisible(), "these steps belong to no plan"
    assert toggle.text() == "1 of 3 ▸"
    toggle.click()
    assert names(panel) == ["done: step 0", "in progress: step 1", "to do: step 2", "cancelled: step 3"]
    panel.show_todos(items("completed", "completed"), is_running=True)
    assert names(panel) == ["done: step 0", "done: step 1"]
    toggle.click()
    assert names(panel) == ["done: All steps are done"]
    close.click()
    panel.show_todos(items("completed", "completed"), is_running=True)
    assert not panel.isVisible(), "it stays hidden until the plan changes"
    panel.show_todos(items("completed", "pending"), is_running=False)
    assert panel.isVisible(), "something is left to do"
    panel.show_todos(items("completed", "cancelled"), is_running=False)
    assert not panel.isVisible()
    panel.show_todos((), is_running=True)
    assert not panel.isVisible()
