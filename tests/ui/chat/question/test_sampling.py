"""What a server wants to ask the model: shown whole before it can be allowed, and answered by keyboard or click."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    Decision,
    Denied,
    SampledText,
    SamplingQuestion,
    ServerQuestion,
)
from desktop_agent.ui.chat.question.card_command import CardCommand
from desktop_agent.ui.chat.question.sampling import SamplingCard
from desktop_agent.ui.chat.text.passage import Paragraph
from tests.ui.chat.stage import Stage, answer, call, record

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier

ASKED = SamplingQuestion(
    texts=(SampledText(role="system", text="Be brief."), SampledText(role="user", text="Name <b>a</b> colour.")),
    max_tokens=1_000,
    model="claude-sonnet-5",
    price="$3 / $15",
    notes=("It wants the conversation to be sent along, and does not get it.",),
)


def ask(stage: Stage, asked: SamplingQuestion) -> list[tuple[object, ...]]:
    """Show the question, wait until it listens, and return the answers that will be given."""
    question = ServerQuestion(server="travel", message="", sampling=asked)
    title = "travel wants to ask the model something"
    request = ApprovalRequest(
        call_id="c1", tool="travel__book", title=title, reason="", arguments_digest="", question=question
    )
    stage.show(answer("Booking."), call("travel__book", "{}", approval=request), is_running=True)
    stage.qtbot.waitUntil(lambda: card(stage).is_listening)
    return record(stage.view.entry_actions.approval_answered)


def card(stage: Stage) -> SamplingCard:
    return stage.view.findChildren(SamplingCard)[-1]


def button(stage: Stage, words: str) -> QPushButton:
    found = [each for each in card(stage).findChildren(QPushButton) if words in (each.text(), each.accessibleName())]
    (one,) = found
    return one


def test_everything_that_is_sent_and_who_answers_is_on_the_card(stage: Stage) -> None:
    ask(stage, ASKED)

    sent = card(stage).findChildren(CardCommand)[0].toPlainText()
    said = " ".join(each.accessibleName() for each in card(stage).findChildren(Paragraph))
    assert sent == "— Instructions —\nBe brief.\n\n— As the user —\nName <b>a</b> colour."
    assert "travel wants to ask the model something" in said
    assert "claude-sonnet-5 answers, with at most 1,000 tokens." in said
    assert "A million tokens cost $3 / $15, read and written." in said
    assert "It wants the conversation to be sent along" in said


@pytest.mark.parametrize(
    ("words", "decision"),
    [("Allow once", Allowed()), ("Allow in this session", Allowed(scope="session")), ("Deny", Denied())],
)
def test_each_button_gives_its_answer_once(stage: Stage, words: str, decision: Decision) -> None:
    answers = ask(stage, ASKED)

    for _ in range(2):
        QTest.mouseClick(button(stage, words), Qt.MouseButton.LeftButton)

    assert answers == [("c1", decision)]


@pytest.mark.parametrize(("key", "decision"), [(Qt.Key.Key_A, Allowed()), (Qt.Key.Key_D, Denied())])
def test_two_keys_allow_it_once_or_deny_it_and_none_that_sends_a_message(
    stage: Stage, key: Qt.Key, decision: Decision
) -> None:
    answers = ask(stage, ASKED)

    QTest.keyClick(stage.window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert answers == []
    QTest.keyClick(stage.window, key, CTRL_SHIFT)

    assert answers == [("c1", decision)]


def test_what_is_too_long_to_be_seen_at_once_is_allowed_only_when_it_was_seen(stage: Stage) -> None:
    long = SampledText(role="user", text="\n".join(f"line {number}" for number in range(400)))
    answers = ask(stage, SamplingQuestion(texts=(long,), max_tokens=10, model="m"))

    assert not button(stage, "Allow once").isEnabled()
    assert not button(stage, "Allow in this session").isEnabled()
    QTest.keyClick(stage.window, Qt.Key.Key_A, CTRL_SHIFT)
    assert answers == []
    QTest.mouseClick(button(stage, "Deny"), Qt.MouseButton.LeftButton)
    assert answers == [("c1", Denied())]
