from typing import Protocol

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import ApprovalRequest
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from desktop_agent.ui.approvals.rule_judging import PastCalls
from desktop_agent.ui.theme import Theme
from tests.ui.approvals.stage import context, judge_edits, make
from tests.ui.review.stage import Source, Tasks

PAST = PastCalls(
    ("git push --force", "git status", "ls", "git push origin"),
    (("git push origin",), ("git push --force",), ("ls",)),
)


class Ask(Protocol):
    def __call__(
        self, request: ApprovalRequest, past: PastCalls = PAST, *, is_ready: bool = True, arming_delay_ms: int = 0
    ) -> ApprovalDialog: ...


@pytest.fixture
def ask(qtbot: QtBot, theme: Theme, source: Source, tasks: Tasks) -> Ask:
    """Return a function that opens the dialog, and waits for the focus and, by default, for *Allow*."""

    opened: list[ApprovalDialog] = []

    def ask(
        request: ApprovalRequest, past: PastCalls = PAST, *, is_ready: bool = True, arming_delay_ms: int = 0
    ) -> ApprovalDialog:
        rules = context(past)
        dialog = make(ApprovalDialog(theme, request, source, tasks.spawn, rules=rules, arming_delay_ms=arming_delay_ms))
        qtbot.addWidget(dialog)
        judge_edits(dialog, request)
        opened.append(dialog)
        dialog.open()
        dialog.activateWindow()
        qtbot.waitUntil(lambda: QApplication.activeWindow() is dialog)
        if is_ready:
            qtbot.waitUntil(lambda: dialog.can_allow)
        return dialog

    return ask
