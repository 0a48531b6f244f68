"""Only what was judged runs after a yes, byte for byte; hidden or changed commands do not."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from desktop_agent.core.base.plain_text import HIDING
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.cards.approval import ApprovalCard
from desktop_agent.ui.widgets.exact_field import ExactField
from tests.attacks.cards.corpus import CASES, Case
from tests.attacks.corpus import cases
from tests.e2e.driver import Driver, ask_for_no_titles, drive
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

CTRL = Qt.KeyboardModifier.ControlModifier
_SCRIPT = "#!/bin/sh\ntouch a\n"


class Asked:
    def __init__(self, user: Driver, card: ApprovalCard) -> None:
        self.user = user
        self.card = card
        self.field = card.findChildren(ExactField)[0]

    def button(self, words: str) -> QPushButton:
        return next(found for found in self.card.findChildren(QPushButton) if found.text().startswith(words))

    def click(self, words: str) -> None:
        QTest.mouseClick(self.button(words), Qt.MouseButton.LeftButton)

    def press_allow(self) -> None:
        QTest.keyClick(self.user.window.main_window, Qt.Key.Key_A, CTRL | Qt.KeyboardModifier.ShiftModifier)

    async def ready(self) -> None:
        await self.user.until_true(lambda: self.button("Allow once").isEnabled(), "it can be allowed")


def card_of(user: Driver) -> ApprovalCard | None:
    cards = [widget for widget in QApplication.allWidgets() if isinstance(widget, ApprovalCard)]
    return next((card for card in cards if card.isVisible() and card.is_listening), None)


async def asked(user: Driver) -> Asked:
    return Asked(user, await user.until(lambda: card_of(user), "a card asks"))


async def answer(question: Asked, case: Case, folder: Path) -> None:
    user = question.user
    match case.way:
        case "mouse":
            await question.ready()
            question.click("Allow once")
        case "key":
            await question.ready()
            question.press_allow()
        case "type":
            question.click("Edit")
            question.field.moveCursor(QTextCursor.MoveOperation.End)
            QTest.keyClicks(question.field, "2")
            await question.ready()
            question.press_allow()
        case "look":
            assert not question.button("Allow once").isEnabled()
            more = question.button("Show more")
            while more.isVisible():
                QTest.keyClick(more, Qt.Key.Key_Space)
                await user.pause()
            await question.ready()
            question.click("Allow once")
        case "refuse":
            QTest.keyClick(question.field, Qt.Key.Key_End, CTRL)
            await user.pause()
            question.click("Allow once")
            question.press_allow()
            assert question.button("Allow once").accessibleDescription() == "Scroll through all of it to enable Allow"
            await deny(question)
        case "swap":
            await question.ready()
            (folder / "run.sh").write_text("#!/bin/sh\ntouch HIDDEN\n")
            question.click("Allow once")
            again = await user.until(lambda: _other(user, question.card), "the card comes back")
            assert "run.sh changed after you were asked" in again.accessibleName().replace("`", "")
            await deny(Asked(user, again))


def _other(user: Driver, card: ApprovalCard) -> ApprovalCard | None:
    found = card_of(user)
    return found if found is not card else None


async def deny(question: Asked) -> None:
    question.click("Deny…")
    await question.user.pause()
    next(
        button for button in question.card.findChildren(QPushButton) if button.text() == "Deny" and button.isVisible()
    ).click()


@pytest.mark.realwindow
@pytest.mark.parametrize("case", cases(CASES, lambda case: case.name))
def test_exactly_what_was_judged_runs_or_nothing(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str], case: Case
) -> None:
    expected_logs.append("the window stands still")  # a test process is slow, and shares its cores
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "run.sh").write_text(_SCRIPT)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    ask_for_no_titles()

    async def journey(user: Driver) -> None:
        ready: list[bool] = []
        user.window.ready.connect(lambda: ready.append(True))
        await user.until_true(lambda: bool(ready), "the window is ready")
        await user.type("composer", "Go on")
        await user.press(Qt.Key.Key_Return)
        question = await asked(user)
        assert question.card.request.command == case.command
        hidden = [char for char in HIDING.findall(case.command) if char != "\n"]
        assert not any(char in question.field.toPlainText() for char in hidden)
        assert not hidden or "invisible characters" in question.card.accessibleName()
        await answer(question, case, folder)
        handle = user.window.panels.session.handle
        assert handle is not None
        await user.until_true(lambda: not handle.transcript.turns.is_running, "the turn has ended")
        assert [entry.call.name for entry in user.transcript.entries if isinstance(entry, ToolEntry)] == [
            "run_terminal_cmd"
        ]
        user.window.request_quit()
        await user.until_true(lambda: not user.window.main_window.isVisible(), "the window has closed")

    answers = (reply(tool_use("run_terminal_cmd", command=case.command)), reply(text("Done.")))
    with serve(*answers) as server:
        drive([str(folder), "--base-url", server.url], tmp_path, journey, opens_questions=False)
    there = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "run.sh"}
    assert there == case.files
