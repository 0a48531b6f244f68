"""Planning in the window: read the plan, comment on it, see what a revision changed, edit it, have it carried out."""

import json
import subprocess
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QTabBar

from desktop_agent.core.tools.builtin.write_plan import LONGEST_PLAN
from desktop_agent.ui.review.diff.comment_overlay import CommentCard, CommentEditor
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.window.mode_pickers import MenuPicker
from desktop_agent.ui.window.plan_window import PlanPage, PlanWindow
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

PLAN = "# Make it two\n\nSee `notes.txt`.\n\n- [ ] edit `notes.txt`\n- [ ] say so\n"
REVISED = PLAN.replace("say so", "say it aloud")
EDIT = reply(tool_use("create_file", path="notes.txt", content="two\n", if_exists="overwrite"))
TICK = reply(tool_use("todo_write", merge=True, todos=[{"id": "1", "status": "completed"}]))


async def plan_first(user: Driver) -> None:
    pickers = user.window.panels.pickers
    plan, *_ = pickers.approval_button.menu().actions()
    plan.trigger()
    await user.until_true(lambda: pickers.approval_button.text() == "Plans first ▾", "planning is on")
    await user.run_turn("Make it two")


async def write_comment(user: Driver, words: str) -> None:
    editor = await user.see(CommentEditor, "commentEditor")
    QTest.keyClicks(editor.field, words)
    QTest.keyClick(editor.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def below_page(user: Driver, page: PlanPage, words: str) -> QPoint:
    """The point beside the block with these words."""
    del user
    index = next(i for i, block in enumerate(page.column.text.blocks) if words in block.content)
    return QPoint(10, page.block_area(index).center().y())


@pytest.mark.usefixtures("key")
def test_a_plan_is_commented_on_revised_edited_and_carried_out(go: Go, project: Path) -> None:
    notes, before = project / "notes.txt", (project / "notes.txt").read_bytes()

    async def journey(user: Driver) -> None:
        pickers = user.window.panels.pickers
        await plan_first(user)
        assert "write_plan" in json.dumps(server.messages[0].fields["tools"])
        assert "create_file" not in json.dumps(server.messages[0].fields["tools"])

        await user.click("openPlanButton")
        page = await user.see(PlanPage, "planPage")
        tabs = await user.see(QTabBar, "planTabs")
        assert not tabs.isTabEnabled(1), "there is no revision yet"
        await user.until_true(lambda: bool(page.column.text.blocks), "the plan is rendered")
        QTest.mouseClick(page, Qt.MouseButton.LeftButton, pos=below_page(user, page, "say so"))
        await write_comment(user, "Louder")
        for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_C):
            QTest.keyClick(page, key)
        await write_comment(user, "Which one?")
        await user.until_true(lambda: len(user.transcript.changed.comments) == 2, "both comments are kept")
        await user.click("sendPlanCommentsButton")
        await user.until_true(lambda: user.transcript.turns.plan == REVISED, "the plan is revised")
        await user.see_turn_end()
        sent = user.transcript.turns.prompts[2]
        assert "the plan, line 3:\n> See `notes.txt`.\nWhich one?" in sent
        assert "the plan, line 6:\n> - [ ] say so\nLouder" in sent

        await user.until_true(lambda: tabs.tabText(1) == "Changes +1 −1", "the revision is counted")
        tabs.setCurrentIndex(1)
        diff = await user.see(DiffView, "planDiff")
        assert diff.document.diff is not None
        assert diff.document.diff.new_lines[-1] == "- [ ] say it aloud\n"
        QTest.keyClick(diff, Qt.Key.Key_C)
        await write_comment(user, "Too loud")
        tabs.setCurrentIndex(2)
        edit = await user.see(QPlainTextEdit, "planEdit")
        edit.moveCursor(QTextCursor.MoveOperation.End)
        edit.moveCursor(QTextCursor.MoveOperation.PreviousBlock, QTextCursor.MoveMode.KeepAnchor)
        edit.insertPlainText("- [ ] whisper\n")
        tabs.setCurrentIndex(0)
        await user.until_true(lambda: user.transcript.turns.plan.endswith("whisper\n"), "the edit is kept")
        card = await user.see(CommentCard, "commentCard")
        assert card.accessibleName() == "You, on line 6 · no longer there: Too loud"
        assert notes.read_bytes() == before

        approvals = await user.see(MenuPicker, "planApprovalPicker")
        assert approvals.text() == "Asks before writing ▾"
        approvals.menu().actions()[2].trigger()
        QTest.keyClick(page, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await user.until_true(lambda: "[x]" in user.transcript.turns.plan, "a step is ticked")
        await user.see_turn_end()
        assert notes.read_text() == "two\n"
        assert pickers.approval_button.text() == "Asks to leave the sandbox ▾"
        assert user.find(QPushButton, "carryOutPlanButton") is None
        assert not user.actions.carry_out_plan.isEnabled()
        assert not user.actions.carry_out_plan_apart.isEnabled()
        await user.click("todoPlanButton")
        page = await user.see(PlanPage, "planPage")
        await user.until_true(lambda: "☑" in {block.marker for block in page.column.text.blocks}, "a step is ticked")
        assert user.find(QPushButton, "acceptPlanButton") is None

    plan, revised = reply(tool_use("write_plan", plan=PLAN)), reply(tool_use("write_plan", plan=REVISED))
    with serve(plan, reply(text("Shall I?")), revised, reply(text("So?")), EDIT, TICK, reply(text("Done."))) as server:
        go([str(project), "--base-url", server.url], journey)


@pytest.mark.usefixtures("key")
def test_a_plan_is_carried_out_in_a_worktree_and_the_folder_stays_as_it_is(go: Go, project: Path) -> None:
    for command in ("init -q", "add -A", "-c user.name=Ada -c user.email=ada@example.org commit -qm first"):
        subprocess.check_output(["git", *command.split()], cwd=project)

    async def journey(user: Driver) -> None:
        await plan_first(user)
        planning = user.transcript.session.session_id
        await user.click("openPlanButton")
        approvals = await user.see(MenuPicker, "planApprovalPicker")
        approvals.menu().actions()[2].trigger()
        await user.click("acceptPlanApartButton")
        await user.until_true(lambda: "[x]" in user.transcript.turns.plan, "a step is ticked")
        await user.see_turn_end()
        session = user.transcript.session
        assert (session.session_id != planning, session.approval) == (True, "on_request")
        assert session.worktree is not None
        assert (Path(session.workspace) / "notes.txt").read_text() == "two\n"
        assert (project / "notes.txt").read_text() == "mine\n"
        assert "say so" in str(server.messages[2].fields), "the plan goes along"
        user.window.panels.sessions.session_chosen.emit(planning)
        await user.until_true(lambda: user.transcript.session.session_id == planning, "the first session is shown")
        assert user.transcript.session.is_planning
        assert await user.see(QPushButton, "carryOutPlanButton")
        assert user.actions.carry_out_plan.isEnabled()
        await user.press(Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        for action in (user.actions.carry_out_plan, user.actions.carry_out_plan_apart):
            assert not action.isEnabled(), "the worktree is being made"
        await user.until_true(lambda: user.transcript.session.worktree not in (None, session.worktree), "once more")
        await user.until_true(lambda: user.transcript.turn == 1, "it is carried out")
        await user.see_turn_end()
        assert user.transcript.session.approval == "on_write", "as before"

    plan = reply(tool_use("write_plan", plan=PLAN))
    with serve(plan, reply(text("Shall I?")), EDIT, TICK, *[reply(text("Done."))] * 2) as server:
        go([str(project), "--base-url", server.url], journey)


@pytest.mark.usefixtures("key")
def test_a_plan_of_100_kb_is_compared_and_rendered_after_its_window_has_opened(go: Go, project: Path) -> None:
    before = "# Many\n\n" + "".join(f"- [ ] edit `file_{number}.py`, and say why\n" for number in range(2_580))
    after = before.replace("file_9.py", "file_nine.py")
    assert 98_000 < len(after) <= LONGEST_PLAN

    async def journey(user: Driver) -> None:
        await plan_first(user)
        await user.run_turn("Spell it out")
        assert user.transcript.turns.plan == after
        user.actions.open_plan.trigger()
        window = user.window.main_window.findChild(PlanWindow)
        assert window is not None
        diff, page = window.findChild(DiffView, "planDiff"), window.findChild(PlanPage, "planPage")
        assert isinstance(diff, DiffView)
        assert isinstance(page, PlanPage)
        assert (diff.document.diff, len(page.column.text.blocks)) == (None, 0)
        tabs = await user.see(QTabBar, "planTabs")
        await user.until_true(lambda: tabs.tabText(1) == "Changes +1 −1", "the revision is counted")
        await user.until_true(lambda: len(page.column.text.blocks) == 2_581, "the plan is rendered")
        assert diff.document.diff is not None

    plans = [(reply(tool_use("write_plan", plan=plan)), reply(text("So?"))) for plan in (before, after)]
    with serve(*plans[0], *plans[1]) as server:
        go([str(project), "--base-url", server.url], journey)
