"""The spending question: two clear answers, and none by accident."""

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.protocol.model import Aborted, Allowed, ApprovalRequest, Decision, Denied, ScopeOffer
from desktop_agent.core.transcript import SpendingEntry
from desktop_agent.ui.chat.entries.questions import SpendingWidget
from tests.journals import asked_to_spend
from tests.ui.chat.stage import Stage, answer, click, record

GO_ON = "Go on for another $5.00"


def question(decision: Decision | None = None) -> SpendingEntry:
    asked = asked_to_spend(1, "q-1", 5.0).request
    request = ApprovalRequest(
        call_id=asked.call_id,
        tool="",
        title="This conversation has cost $5.02, and its limit is $5.00. Go on?",
        reason="",
        arguments_digest="",
        scopes=(ScopeOffer(scope="once", label=GO_ON),),
        spending=asked.spending,
    )
    return SpendingEntry(turn=1, request=request, decision=decision)


def decide(stage: Stage, decision: Decision) -> SpendingEntry:
    entry = stage.row(0).entry_as(SpendingEntry)
    entry.decision = decision
    stage.widget(0).refresh()
    return entry


def until_it_listens(stage: Stage) -> None:
    widget = stage.widget(-1)
    assert isinstance(widget, SpendingWidget)
    stage.qtbot.waitUntil(lambda: widget.is_listening)


def test_no_click_answers_in_the_first_moment(stage: Stage) -> None:
    answers = record(stage.view.entry_actions.approval_answered)
    stage.show(answer("I look."), question(), is_running=True)
    assert stage.field.hasFocus(), "the focus stays where it was"
    click(stage.button(GO_ON))
    assert answers == []


def test_an_answer_is_given_once(stage: Stage) -> None:
    answers = record(stage.view.entry_actions.approval_answered)
    stage.show(question(), is_running=True)
    until_it_listens(stage)
    button = stage.button(GO_ON)
    click(button)
    click(button)
    assert answers == [("q-1", Allowed())]


@pytest.mark.parametrize("width", [300, 640])
def test_the_buttons_are_within_the_card(stage: Stage, width: int) -> None:
    stage.show(question(), is_running=True)
    widget = stage.widget(0)
    widget.set_width(width)
    widget.resize(width, widget.entry_height())
    assert all(widget.rect().contains(stage.button(text).geometry()) for text in (GO_ON, "Stop here"))


@pytest.mark.parametrize(
    ("decision", "said"),
    [(Allowed(), "Yes, up to $10.00."), (Denied(), "No."), (Aborted(reason="Stopped."), "No answer: Stopped.")],
)
def test_what_was_answered_stays_as_a_line(stage: Stage, decision: Decision, said: str) -> None:
    stage.show(question(), is_running=True)
    before = stage.widget(0).height()
    entry = decide(stage, decision)
    assert stage.buttons(stage.widget(0)) == []
    assert stage.widget(0).entry_height() < before
    assert stage.widget(0).accessibleName() == f"{entry.request.title} {said}"


def test_the_keyboard_answers_and_stays_in_the_conversation(stage: Stage) -> None:
    answers = record(stage.view.entry_actions.approval_answered)
    stage.show(question(), is_running=True)
    until_it_listens(stage)
    button = stage.button("Stop here")
    button.setFocus()
    stage.key(Qt.Key.Key_Space, button)
    assert answers == [("q-1", Denied())]
    decide(stage, Denied())
    assert stage.view.viewport().hasFocus() or stage.view.hasFocus()
