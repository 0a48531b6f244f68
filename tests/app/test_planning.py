"""Planning in the window: the agent writes a plan, the user edits it, comments on it, and lets it be carried out."""

import json
from pathlib import Path

import pytest
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QPushButton

from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

PLAN = "# Make it two\n\n- [ ] edit `notes.txt`\n- [ ] say so\n"
EDIT = reply(tool_use("create_file", path="notes.txt", content="two\n", if_exists="overwrite"))


@pytest.mark.usefixtures("key")
def test_a_plan_is_read_commented_on_edited_and_carried_out(go: Go, project: Path) -> None:
    notes, before = project / "notes.txt", (project / "notes.txt").read_bytes()

    async def journey(user: Driver) -> None:
        pickers = user.window.panels.pickers
        plan, *_ = pickers.approval_button.menu().actions()
        plan.trigger()
        await user.until_true(lambda: pickers.approval_button.text() == "Plans first ▾", "planning is on")
        await user.run_turn("Make it two")
        assert "write_plan" in json.dumps(server.messages[0].fields["tools"])
        assert "create_file" not in json.dumps(server.messages[0].fields["tools"])

        await user.click("openPlanButton")
        edit = await user.see(QPlainTextEdit, "planEdit")
        assert edit.toPlainText() == PLAN
        edit.moveCursor(QTextCursor.MoveOperation.End)
        edit.insertPlainText("- [ ] changelog")
        await user.click("commentPlanButton")
        await user.until_true(lambda: user.composer.text() == "> - [ ] changelog\n\n", "the line is quoted")
        await user.until_true(lambda: user.transcript.turns.plan.endswith("changelog"), "the edit is kept")
        await user.run_turn("> - [ ] changelog\n\nIs there one?")
        assert "The user edited the plan" in str(server.messages[-1].fields["messages"])
        assert notes.read_bytes() == before

        await user.until_true(lambda: user.find(QPushButton, "carryOutPlanButton") is not None, "the plan is offered")
        await user.click("openPlanButton")
        await user.see(QPlainTextEdit, "planEdit")
        await user.click("acceptPlanButton")
        await user.allow_with_mouse()
        await user.see_turn_end()
        assert notes.read_text() == "two\n"
        assert pickers.approval_button.text() == "Asks before writing ▾", "the policy from before"
        assert user.find(QPushButton, "carryOutPlanButton") is None

    plan = reply(tool_use("write_plan", plan=PLAN))
    with serve(plan, reply(text("Shall I?")), reply(text("No.")), EDIT, reply(text("Done."))) as server:
        go([str(project), "--base-url", server.url], journey)
