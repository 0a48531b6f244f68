"""A server's form: filled in by keyboard alone, sent only when valid, and no page opens without a click."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLabel, QLineEdit, QPlainTextEdit

from desktop_agent.core.protocol.model import (
    Allowed,
    Answer,
    ApprovalRequest,
    Decision,
    Denied,
    FormField,
    FormOption,
    SampledText,
    SamplingQuestion,
    ServerQuestion,
)
from desktop_agent.ui.chat.cards.request_card import CardField, RequestCard
from desktop_agent.ui.chat.text.passage import Paragraph
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
    title = "travel wants to ask the model something" if asked.sampling is not None else "travel asks"
    request = ApprovalRequest(
        call_id="c1", tool="travel__book", title=title, reason="", arguments_digest="", question=asked
    )
    stage.show(answer("Booking."), call("travel__book", "{}", approval=request), is_running=True)
    stage.qtbot.waitUntil(lambda: card(stage).is_listening)
    return record(stage.view.entry_actions.approval_answered)


def card(stage: Stage) -> RequestCard:
    return stage.view.findChildren(RequestCard)[-1]


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


ASKED = SamplingQuestion(
    texts=(SampledText(role="system", text="Be brief."), SampledText(role="user", text="Name <b>a</b> colour.")),
    max_tokens=1_000,
    model="claude-sonnet-5",
    price="$3 / $15",
    notes=("It asks for the conversation as well, and does not get it.",),
)


def ask_to_sample(stage: Stage, asked: SamplingQuestion) -> list[tuple[object, ...]]:
    return ask(stage, ServerQuestion(server="travel", message="", sampling=asked))


def test_everything_that_is_sent_and_who_answers_is_on_the_card(stage: Stage) -> None:
    ask_to_sample(stage, ASKED)

    sent = card(stage).findChildren(CardField)[0].toPlainText()
    said = " ".join(each.accessibleName() for each in card(stage).findChildren(Paragraph))
    assert sent == "— Instructions —\nBe brief.\n\n— As the user —\nName <b>a</b> colour."
    assert "travel wants to ask the model something" in said
    assert "claude-sonnet-5 answers, with at most 1,000 tokens." in said
    assert "A million input and output tokens cost $3 / $15." in said
    assert "It asks for the conversation as well" in said


@pytest.mark.parametrize(
    ("words", "decision"),
    [("Allow once", Allowed()), ("Allow in this session", Allowed(scope="session")), ("Deny", Denied())],
)
def test_each_button_gives_its_answer_once(stage: Stage, words: str, decision: Decision) -> None:
    answers = ask_to_sample(stage, ASKED)

    for _ in range(2):
        click(stage.button(words))

    assert answers == [("c1", decision)]


@pytest.mark.parametrize(("key", "decision"), [(Qt.Key.Key_A, Allowed()), (Qt.Key.Key_D, Denied())])
def test_two_keys_allow_it_once_or_deny_it_and_none_that_sends_a_message(
    stage: Stage, key: Qt.Key, decision: Decision
) -> None:
    answers = ask_to_sample(stage, ASKED)

    QTest.keyClick(stage.window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert answers == []
    QTest.keyClick(stage.window, key, CTRL_SHIFT)

    assert answers == [("c1", decision)]


def test_what_is_too_long_to_be_seen_at_once_is_allowed_only_when_it_was_seen(stage: Stage) -> None:
    long = SampledText(role="user", text="\n".join(f"line {number}" for number in range(400)))
    answers = ask_to_sample(stage, SamplingQuestion(texts=(long,), max_tokens=10, model="m"))

    assert not stage.button("Allow once").isEnabled()
    assert not stage.button("Allow in this session").isEnabled()
    QTest.keyClick(stage.window, Qt.Key.Key_A, CTRL_SHIFT)
    assert answers == []
    click(stage.button("Deny"))
    assert answers == [("c1", Denied())]
