from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.script import reply, text
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp", "key")


def test_closing_while_the_agent_works_asks_first(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        await user.type("composer", "What is in here?")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: bool(server.messages), "the model is asked")
        assert user.transcript.turns.is_running
        user.window.main_window.close()
        box = await user.see(QMessageBox, "quitDialog")
        keep = next(button for button in box.buttons() if button.text() == "Keep working")
        assert box.defaultButton() is keep
        keep.click()
        await user.until_true(lambda: user.find(QWidget, "quitDialog") is None, "the question has closed")
        assert user.window.main_window.isVisible()
        await user.stop_turn()

    with serve(reply(text("Half of"), fault.stall_after(events=3))) as server:
        go([str(project), "--base-url", server.url], journey)


def test_closing_while_a_question_waits_stops_nothing_and_the_next_start_asks_it(go: Go) -> None:
    async def first(user: Driver) -> None:
        user.composer.setFocus()
        await user.press(Qt.Key.Key_Return)
        await user.see(ApprovalDialog, "approvalDialog")

    async def second(user: Driver) -> None:
        dialog = await user.see(ApprovalDialog, "approvalDialog")
        dialog.reject()
        await user.until_true(lambda: user.find(QWidget, "approvalDialog") is None, "the question has closed")
        assert user.transcript.turns.is_running, "closing a question answers nothing"

    go(["--demo"], first)
    go([], second)
