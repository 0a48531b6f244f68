"""The real window: questions are shown whole, no key for sending allows one, and a killed turn is explained."""

import json
import os
from pathlib import Path
from typing import Literal

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.events import TurnEnded
from desktop_agent.core.protocol.model import Denied
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from desktop_agent.ui.chat.cards.approval import ApprovalCard
from desktop_agent.ui.chat.entries.notices import LineWidget
from desktop_agent.ui.widgets.buttons import ShortcutButton
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.driver import Driver, define_server, drive
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

CTRL = Qt.KeyboardModifier.ControlModifier
CTRL_SHIFT = CTRL | Qt.KeyboardModifier.ShiftModifier
WRITTEN = "\n".join(f"line {number}" for number in range(40))
LOOKS = {
    "keyboard": '[ui]\ntheme = "light"\n',
    "mouse": '[ui]\ntheme = "dark"\nlanguage = "de"\n',
}
Hand = Literal["keyboard", "mouse"]


@pytest.fixture(params=["keyboard", "mouse"])
def hand(request: pytest.FixtureRequest, ready_to_work: None) -> Hand:
    define_server(PROGRAM)
    with AppPaths.from_environment(os.environ).settings_file().open("a") as settings:
        settings.write(LOOKS[request.param])
    return request.param


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def denies_a_call_by_its_reason(user: Driver, pictures: Path) -> ApprovalCard:
    composer = user.composer
    card = await user.see_card()
    assert "program/write" in shown_in(card)
    assert 'path: "notes.txt"' in shown_in(card)
    assert not card.question.folds[0].is_all_seen
    user.screenshot(pictures / "server-call.png")

    await user.type("composer", "careful with that")
    for _ in range(2):  # the second time, there is nothing left to send
        await user.press(Qt.Key.Key_Return, CTRL)
    assert (await user.see_card()).request is card.request, "what was sent answers nothing"

    QTest.keyClicks(composer.edit, "no, do not write that")
    await user.until_true(lambda: bool(hint(user)), "the field says what its keys do")
    user.screenshot(pictures / "denying.png")
    await answered(user, card, lambda: QTest.keyClick(composer.edit, Qt.Key.Key_Return))
    assert denials(user) == ["no, do not write that"]
    return card


async def allows_a_command_in_the_dialog(
    user: Driver, behind: ApprovalCard, pictures: Path, hand: Hand
) -> ApprovalCard:
    card = await user.see_card(behind=behind)
    assert "Keep the notes" in card.accessibleName()
    user.screenshot(pictures / "explained.png")
    QTest.mouseClick(review_button(card), Qt.MouseButton.LeftButton)
    dialog = await user.see(ApprovalDialog, "approvalDialog")
    assert "Keep the notes" in (await user.see(QLabel, "approvalExplanation")).text()
    await user.until_true(lambda: user.can_allow, "it can be allowed")
    dialog.grab().save(str(pictures / "explained-dialog.png"))
    if hand == "keyboard":
        await user.press(Qt.Key.Key_Return, CTRL)
        assert dialog.isVisible(), "a key that sends never allows"
        await user.press(Qt.Key.Key_A, CTRL_SHIFT)
    else:
        await user.click("approveButton")
    return card


async def answers_on_the_card(user: Driver, behind: ApprovalCard, hand: Hand) -> None:
    card = await user.see_card(behind=behind)
    if hand == "keyboard":
        await user.press(Qt.Key.Key_D, CTRL_SHIFT)
    else:
        QTest.mouseClick(allow_button(card), Qt.MouseButton.LeftButton)
    await user.see_turn_end()


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_what_is_asked_is_shown_whole_and_answered_by_nothing_else(tmp_path: Path, folder: Path, hand: Hand) -> None:
    async def journey(user: Driver) -> None:
        await begin(user, "Write the notes.")
        call = await denies_a_call_by_its_reason(user, tmp_path)
        command = await allows_a_command_in_the_dialog(user, call, tmp_path, hand)
        await user.until_true((folder / "kept.txt").exists, "the command ran")
        await answers_on_the_card(user, command, hand)
        assert (folder / "last.txt").exists() == (hand == "mouse")
        assert hint(user) == ""
        user.screenshot(tmp_path / "end.png")
        await user.quit()

    answers = (
        reply(tool_use("program__write", path="notes.txt", text=WRITTEN)),
        reply(tool_use("run_terminal_cmd", command="touch kept.txt", explanation="Keep the notes for later.")),
        reply(tool_use("run_terminal_cmd", command="touch last.txt")),
        reply(text("Done.")),
    )
    with serve(*answers) as model:
        drive([str(folder), "--base-url", model.url], tmp_path, journey, opens_questions=False)
        said = [json.dumps(message.fields) for message in model.messages]
    assert "careful with that" in said[1]
    assert "no, do not write that" in said[1]
    assert not (folder / "notes.txt").exists()


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_a_killed_turn_and_a_gateway_of_the_environment_are_said_to_be_what_they_are(
    tmp_path: Path, folder: Path, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(user: Driver) -> None:
        await begin(user, "Wait.")
        QTest.mouseClick(allow_button(await user.see_card()), Qt.MouseButton.LeftButton)
        await user.see_turn_end()
        await user.quit()

    async def look(user: Driver) -> None:
        await user.see_ready()
        user.window.main_window.resize(1024, 700)
        await user.until_true(lambda: bool(ends_of(user)), "the turn that was killed has its end")
        (end,) = ends_of(user)
        assert (end.reason, end.is_cut_off) == ("interrupted", True)
        await user.until_true(lambda: bool(lines_of(user)), "its end is shown")
        (said,) = lines_of(user)
        assert said.startswith(("Cut off: the application ended", "Abgebrochen: Die Anwendung"))
        assert not said.endswith(" 1 ms")
        user.screenshot(tmp_path / "cut-off.png")
        dialog = await user.open_settings()
        where = os.environ["ANTHROPIC_BASE_URL"]
        await user.until_true(lambda: any(where in label for label in labels_of(dialog)), "the settings name it")
        assert any("ANTHROPIC_BASE_URL" in label for label in labels_of(dialog) if where in label)
        assert not any("api.anthropic.com" in label for label in labels_of(dialog))
        dialog.grab().save(str(tmp_path / "gateway.png"))
        await user.press(Qt.Key.Key_Escape)
        await user.quit()

    with serve(reply(tool_use("run_terminal_cmd", command="touch a")), reply(text("Done."))) as model:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        drive([str(folder)], tmp_path, work, opens_questions=False)
        (journal,) = AppPaths.from_environment(os.environ).sessions.glob("*/journal.jsonl")
        lines = journal.read_bytes().splitlines(keepends=True)
        cut = next(at for at, line in enumerate(lines) if b'"tool_call_finished"' in line)
        journal.write_bytes(b"".join(lines[:cut]))  # as SIGKILL leaves it while a command runs
        drive([], tmp_path, look, opens_questions=False)


async def begin(user: Driver, prompt: str) -> None:
    await user.see_ready()
    user.window.main_window.resize(1024, 700)
    await user.type("composer", prompt)
    await user.press(Qt.Key.Key_Return)


async def answered(user: Driver, card: ApprovalCard, press: object) -> None:
    """Press until the question is answered: answers in its first moment do not count."""
    assert callable(press)
    call = card.request.call_id

    def is_answered() -> bool:
        press()
        return not user.is_pending(call)

    await user.until_true(is_answered, "the question is answered")


def shown_in(card: ApprovalCard) -> str:
    return "\n".join(field.toPlainText() for field in card.findChildren(QPlainTextEdit))


def allow_button(card: ApprovalCard) -> ShortcutButton:
    return card.findChildren(ShortcutButton)[0]


def review_button(card: ApprovalCard) -> QPushButton:
    words = QCoreApplication.translate("CardAnswers", "Review…")
    return next(button for button in card.findChildren(QPushButton) if button.text() == words)


def hint(user: Driver) -> str:
    [label] = user.composer.findChildren(QLabel, "composerHint")
    return label.text() if label.isVisible() else ""


def denials(user: Driver) -> list[str]:
    calls = [entry for entry in user.transcript.entries if isinstance(entry, ToolEntry)]
    return [call.decision.message for call in calls if isinstance(call.decision, Denied)]


def ends_of(user: Driver) -> list[TurnEnded]:
    handle = user.window.panels.session.handle
    return [entry for entry in handle.transcript.entries if isinstance(entry, TurnEnded)] if handle else []


def lines_of(user: Driver) -> list[str]:
    return [line.accessibleName() for line in user.window.main_window.findChildren(LineWidget)]


def labels_of(dialog: QWidget) -> list[str]:
    return [label.text() for label in dialog.findChildren(QLabel) if label.isVisible()]
