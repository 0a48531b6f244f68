"""The rewind dialog says what would happen before it happens."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol import events as ev
from desktop_agent.ui.chat.rewind_dialog import RewindChoice, RewindDialog, rewind_choices
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.question import ChoiceCard
from tests.parts import part
from tests.ui.review.stage import Session


@pytest.fixture
def session() -> Session:
    session = Session()
    for turn, prompt in enumerate(("First", "Second", "Explain"), start=1):
        session.start_turn(turn, prompt)
        if turn < 3:
            session.change(turn, f"call-{turn}", "a.py", f"{turn}\n", f"{turn + 1}\n")
        session.end_turn(turn)
    session.change(2, "call-2", "b.py", None, "new\n", author="shell")
    session.change(2, "", "mine.txt", None, "mine\n", author="person")
    return session


def test_the_messages_are_offered_newest_first_with_what_would_be_put_back(session: Session) -> None:
    assert rewind_choices(session.transcript) == [
        RewindChoice(3, "Explain", 1, ()),
        RewindChoice(2, "Second", 2, ("a.py", "b.py")),
        RewindChoice(1, "First", 3, ("a.py", "b.py")),
    ]


def test_what_is_out_of_sight_or_undone_already_is_not_counted_again(session: Session) -> None:
    session.transcript.apply(ev.Rewound(turn=2, scope="conversation"))
    session.undo("1.1", "2.2", "2.3")
    assert rewind_choices(session.transcript) == [RewindChoice(1, "First", 1, ())]


def dialog_for(qtbot: QtBot, theme: Theme, session: Session, turn: int) -> RewindDialog:
    dialog = RewindDialog(theme, rewind_choices(session.transcript), turn)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def cards(dialog: RewindDialog) -> list[str]:
    return [card.text() for card in dialog.findChildren(ChoiceCard) if card.isVisible()]


def test_each_way_says_what_it_does(qtbot: QtBot, theme: Theme, session: Session) -> None:
    dialog = dialog_for(qtbot, theme, session, 2)
    assert cards(dialog) == ["Conversation and files", "Files only", "Conversation only"]
    both = next(card for card in dialog.findChildren(ChoiceCard) if card.isChecked())
    assert both.accessibleDescription() == (
        "The agent no longer sees 2 turns, from this message on. 2 files are restored to their earlier state."
    )
    assert part(dialog, QLabel, "rewindFiles").text().startswith("a.py\nb.py\n")


def test_only_ways_that_do_something_are_offered(qtbot: QtBot, theme: Theme, session: Session) -> None:
    dialog = dialog_for(qtbot, theme, session, 3)
    assert cards(dialog) == ["Conversation only"]
    part(dialog, QComboBox, "rewindPicker").setCurrentIndex(2)
    qtbot.waitUntil(lambda: cards(dialog) == ["Conversation and files", "Files only", "Conversation only"])


def test_the_answer_names_turn_and_scope(qtbot: QtBot, theme: Theme, session: Session) -> None:
    dialog = dialog_for(qtbot, theme, session, 2)
    chosen = QSignalSpy(dialog.chosen)
    next(card for card in dialog.findChildren(ChoiceCard) if card.text() == "Files only").click()
    part(dialog, QPushButton, "rewindButton").click()
    assert chosen.at(0) == [2, "files"]


def test_a_message_offers_to_go_back_to_before_it(qtbot: QtBot, theme: Theme, session: Session) -> None:
    view = TranscriptView(theme)
    qtbot.addWidget(view)
    view.resize(600, 500)
    view.show_transcript(session.transcript)
    view.show()
    qtbot.waitExposed(view)
    view.row_layout.flush()
    view.row_layout.scroll_to(0)
    asked = QSignalSpy(view.entry_actions.rewind_requested)
    menu = QMenu(view)
    view.messages.add_actions(menu, QPoint(300, 30))
    action = next(action for action in menu.actions() if action.text() == "Go back to before this…")
    action.trigger()
    assert asked.at(0) == [1]
    session.transcript.turns.is_running = True
    menu.clear()
    view.messages.add_actions(menu, QPoint(300, 30))
    action = next(action for action in menu.actions() if action.text() == "Go back to before this…")
    assert not action.isEnabled()
    assert QApplication.activePopupWidget() is None
