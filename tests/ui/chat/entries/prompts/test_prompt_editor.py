"""An earlier prompt is edited in its place, and sent again when the user says so."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.protocol.events import PromptSubmitted, SessionForked
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.chat.entries.prompts.prompt import EDIT
from desktop_agent.ui.widgets.picker import Picker
from tests.ui.chat.stage import NOW, Stage, answer


def prompt(text: str, turn: int) -> PromptSubmitted:
    return PromptSubmitted(prompt_id=f"p{turn}", text=text, turn=turn, at=NOW)


def shown(stage: Stage) -> QWidget:
    stage.show(prompt("Fix the login", 1), answer("Done."), prompt("And the tests", 2))
    return stage.widget(2)


def field(widget: QWidget) -> MessageEdit:
    return widget.findChildren(MessageEdit)[0]


def named(widget: QWidget, name: str) -> QPushButton:
    return next(button for button in widget.findChildren(QPushButton) if button.objectName() == name)


def test_a_prompt_becomes_a_field_and_enter_sends_what_it_says(stage: Stage) -> None:
    widget = shown(stage)
    sent = QSignalSpy(stage.view.entry_actions.resend_requested)
    closed = QSignalSpy(stage.view.entry_actions.edit_closed)
    height = widget.height()
    named(widget, "editPromptButton").click()
    assert field(widget).hasFocus()
    assert field(widget).toPlainText() == "And the tests"
    stage.qtbot.waitUntil(lambda: widget.height() > height)
    QTest.keyClicks(field(widget), ", too")
    assert sent.count() == 0
    stage.key(Qt.Key.Key_Return, field(widget))
    assert sent.at(0) == [2, "And the tests, too", False]
    assert closed.at(0) == [2]
    stage.qtbot.waitUntil(lambda: stage.widget(2).height() == height)
    assert stage.shown_text(2) == "And the tests", "the conversation stays as it is"


def test_the_files_go_back_only_when_the_person_says_so(stage: Stage) -> None:
    widget = shown(stage)
    sent = QSignalSpy(stage.view.entry_actions.resend_requested)
    named(widget, "editPromptButton").click()
    widget.findChildren(Picker)[0].setCurrentIndex(1)
    named(widget, "promptEditSend").click()
    assert sent.at(0) == [2, "And the tests", True]


def test_escape_leaves_everything_as_it_was(stage: Stage) -> None:
    widget = shown(stage)
    sent, closed = (
        QSignalSpy(stage.view.entry_actions.resend_requested),
        QSignalSpy(stage.view.entry_actions.edit_closed),
    )
    named(widget, "editPromptButton").click()
    QTest.keyClicks(field(widget), "!")
    stage.key(Qt.Key.Key_Escape, field(widget))
    assert (sent.count(), closed.count()) == (0, 1)
    assert EDIT not in stage.row(2).drafts
    assert named(widget, "editPromptButton").hasFocus(), "the keyboard focus is where it was"


def test_nothing_cannot_be_sent(stage: Stage) -> None:
    widget = shown(stage)
    sent = QSignalSpy(stage.view.entry_actions.resend_requested)
    named(widget, "editPromptButton").click()
    field(widget).setPlainText("  ")
    assert not named(widget, "promptEditSend").isEnabled()
    stage.key(Qt.Key.Key_Return, field(widget))
    assert sent.count() == 0


def test_an_edit_is_told_letter_by_letter_and_taken_up_again(stage: Stage) -> None:
    widget = shown(stage)
    changed = QSignalSpy(stage.view.entry_actions.edit_changed)
    named(widget, "editPromptButton").click()
    QTest.keyClicks(field(widget), "!")
    assert changed.at(changed.count() - 1) == [2, "And the tests!"]
    shown(stage)
    stage.view.updates.show_edits({2: "And the tests!"})
    stage.qtbot.waitUntil(lambda: bool(stage.widget(2).findChildren(MessageEdit)))
    assert field(stage.widget(2)).toPlainText() == "And the tests!"
    assert stage.widget(0).findChildren(MessageEdit) == []


def test_a_fork_leads_to_what_it_is_a_copy_of(stage: Stage) -> None:
    stage.show(prompt("Fix", 1), SessionForked(source="20261121-213700-k3f9qx", title="Fix", before_turn=2, at=NOW))
    opened = QSignalSpy(stage.view.entry_actions.session_requested)
    named(stage.widget(1), "openSourceButton").click()
    assert opened.at(0) == ["20261121-213700-k3f9qx"]
