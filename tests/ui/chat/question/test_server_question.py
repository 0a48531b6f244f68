"""What a server asks: filled in by keyboard alone, sent only when it fits, and no page opens without a click."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLabel, QLineEdit, QPlainTextEdit

from desktop_agent.core.protocol.model import (
    Allowed,
    Answer,
    ApprovalRequest,
    Denied,
    FormField,
    FormOption,
    ServerQuestion,
)
from desktop_agent.ui.chat.question.server_question import ServerQuestionCard
from desktop_agent.ui.theme import Theme
from tests.ui.chat.stage import Stage, answer, call, click, record

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier

COLOURS = (FormOption(value="r", label="Red"), FormOption(value="g", label="Green"))
FORM = ServerQuestion(
    server="travel",
    message="Where to?",
    fields=(
        FormField(name="city", label="City", kind="text", is_required=True, least=2, description="Of arrival"),
        FormField(name="guests", label="Guests", kind="integer", default=2, most=9),
        FormField(name="quiet", label="A quiet room", kind="boolean"),
        FormField(name="colour", label="Colour", kind="choice", options=COLOURS),
        FormField(name="extras", label="Extras", kind="choices", options=COLOURS),
    ),
)
PAGE = ServerQuestion(server="travel", message="Pay here.", address="https://pay.example.org/cart?id=7")


def ask(stage: Stage, asked: ServerQuestion) -> list[tuple[object, ...]]:
    """Show the question, wait until it listens, and return the answers that will be given."""
    request = ApprovalRequest(
        call_id="c1", tool="travel__book", title="travel asks", reason="", arguments_digest="", question=asked
    )
    stage.show(answer("Booking."), call("travel__book", "{}", approval=request), is_running=True)
    stage.qtbot.waitUntil(lambda: card(stage).is_listening)
    return record(stage.view.entry_actions.approval_answered)


def card(stage: Stage) -> ServerQuestionCard:
    return stage.view.findChildren(ServerQuestionCard)[-1]


def mistakes(stage: Stage) -> list[str]:
    labels = card(stage).findChildren(QLabel)
    return [label.text() for label in labels if label.property("role") == "error" and label.isVisible()]


def send(stage: Stage) -> None:
    QTest.keyClick(stage.window, Qt.Key.Key_A, CTRL_SHIFT)


def test_it_takes_no_focus_and_is_filled_in_and_sent_by_keyboard_alone(stage: Stage) -> None:
    answers = ask(stage, FORM)
    assert not card(stage).isAncestorOf(QApplication.focusWidget() or stage.window)

    city, guests = card(stage).findChildren(QLineEdit)
    city.setFocus()
    QTest.keyClicks(city, "Rome")
    QTest.keyClick(city, Qt.Key.Key_Tab)
    assert guests.hasFocus()
    QTest.keyClick(guests, Qt.Key.Key_Tab)
    QTest.keyClick(card(stage).findChildren(QCheckBox)[0], Qt.Key.Key_Space)
    QTest.keyClick(card(stage).findChildren(QComboBox)[0], Qt.Key.Key_Down)
    QTest.keyClick(card(stage).findChildren(QCheckBox)[2], Qt.Key.Key_Space)
    send(stage)

    given: dict[str, Answer] = {"city": "Rome", "guests": 2, "quiet": True, "colour": "r", "extras": ("g",)}
    assert answers == [("c1", Allowed(answers=given))]


def test_what_does_not_fit_is_said_at_its_field_and_not_sent(stage: Stage) -> None:
    answers = ask(stage, FORM)
    city, guests = card(stage).findChildren(QLineEdit)
    guests.setText("many")
    before = card(stage).height()

    send(stage)

    assert not answers
    assert mistakes(stage) == ["This is needed.", "Write a whole number."]
    assert card(stage).height() > before
    assert city.hasFocus()
    city.setText("Rome")
    guests.setText("12")
    assert mistakes(stage) == ["At most 9."]
    guests.setText("")
    send(stage)
    assert answers == [("c1", Allowed(answers={"city": "Rome", "quiet": False}))]


def test_what_was_written_is_still_there_when_the_card_comes_back(stage: Stage, theme: Theme) -> None:
    ask(stage, FORM)
    card(stage).findChildren(QLineEdit)[0].setText("Rome")
    card(stage).findChildren(QComboBox)[0].setCurrentIndex(2)
    before = card(stage)

    theme.changed.emit()
    stage.qtbot.waitUntil(lambda: card(stage) is not before)

    assert card(stage).findChildren(QLineEdit)[0].text() == "Rome"
    assert card(stage).findChildren(QComboBox)[0].currentText() == "Green"


def test_decline_says_no(stage: Stage) -> None:
    answers = ask(stage, FORM)
    click(stage.button("Decline"))
    assert answers == [("c1", Denied())]


def test_a_page_is_shown_whole_and_opened_once_by_a_click(stage: Stage) -> None:
    answers = ask(stage, PAGE)
    opened = record(stage.view.entry_actions.link_activated)
    assert [field.toPlainText() for field in card(stage).findChildren(QPlainTextEdit)] == [PAGE.address]
    assert not opened

    click(stage.button(next(text for text in stage.buttons() if text.startswith("Open in browser"))))

    assert opened == [(PAGE.address,)]
    assert answers == [("c1", Allowed())]


@pytest.mark.parametrize("width", [280, 900])
def test_everything_stands_inside_the_card(stage: Stage, width: int) -> None:
    ask(stage, FORM)
    card(stage).set_width(width)
    for control in card(stage).findChildren(QLineEdit) + card(stage).findChildren(QLabel):
        assert card(stage).rect().contains(control.geometry())
