"""A plan that is commented on, revised and carried out, and the question when the window is closed meanwhile."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTabBar, QWidget

from desktop_agent.ui.review.diff.comment_overlay import CommentEditor
from desktop_agent.ui.window.plan_window import PlanPage
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import CTRL, Tourist
from tests.servers import fault
from tests.servers.script import reply, text, tool_use

_PLAN = """# Print a discount on the receipt

Customers see what they pay, and not what they saved.

## What is there

- `shop/orders.py` sums the rows, and knows no discount
- no test has an order with a reduced price

## Steps

- [ ] Add a test for an order with 10 percent off
- [ ] Add `discount` to an order, 0 by default
- [ ] Print a row for it above the sum
- [ ] Describe it in the notes

The tests show each step. I decided against a negative article: it would count as sold.
"""
_REVISED = _PLAN.replace("10 percent off", "a third off, which must be rounded").replace("above", "below")


async def _play(tour: Tourist) -> None:
    tour.window.actions_.plan_first.trigger()
    await tour.send("The receipt should show discounts.")
    await tour.see_turn_end()
    tour.window.actions_.open_plan.trigger()
    page = await tour.see(PlanPage, "planPage")
    window = page.window()
    await _comment(tour, page, "10 percent", "Take a third, so that rounding is tested.")
    await _comment(tour, page, "Print a row", "Below the sum, please: the sum is what they look for.")
    await tour.take("plan", window)
    await tour.user.click("sendPlanCommentsButton")
    await tour.until(lambda: tour.user.transcript.turns.plan == _REVISED, "the plan is revised")
    await tour.see_turn_end()
    (await tour.see(QTabBar, "planTabs")).setCurrentIndex(1)
    await tour.take("plan-changes", window)
    asked = len(tour.model.messages)
    await tour.user.click("acceptPlanButton")
    await tour.user.see_stalled(tour.model, asked + 1)
    tour.time.advance(12)
    await tour.user.click("todoToggle")
    await tour.take("todo")
    tour.window.close()
    question = await tour.see(QWidget, "quitDialog")
    await tour.take("quit", question)
    await tour.press(Qt.Key.Key_Escape)
    await tour.user.stop_turn()


async def _comment(tour: Tourist, page: PlanPage, line: str, words: str) -> None:
    blocks = page.column.text.blocks
    await tour.until(lambda: any(line in block.content for block in blocks), "the plan is rendered")
    index = next(number for number, block in enumerate(blocks) if line in block.content)
    count = len(tour.user.transcript.changed.comments)
    QTest.mouseClick(page, Qt.MouseButton.LeftButton, pos=QPoint(10, page.block_area(index).center().y()))
    editor = await tour.see(CommentEditor, "commentEditor")
    QTest.keyClicks(editor.field, words)
    QTest.keyClick(editor.field, Qt.Key.Key_Return, CTRL)
    await tour.until(lambda: len(tour.user.transcript.changed.comments) > count, "the comment is kept")


PLANNING = Scene(
    states=("plan", "plan-changes", "todo", "quit"),
    play=_play,
    answers=(
        reply(text("I looked at the orders and their tests.\n"), tool_use("write_plan", plan=_PLAN)),
        reply(text("The plan is ready.")),
        reply(tool_use("write_plan", plan=_REVISED)),
        reply(text("Both are in the plan now.")),
        reply(
            tool_use(
                "todo_write",
                merge=True,
                todos=[{"id": "1", "status": "completed"}, {"id": "2", "status": "in_progress"}],
            )
        ),
        reply(text("The test fails as it should. Next is the discount of an order."), fault.stall_after(events=4)),
    ),
)
