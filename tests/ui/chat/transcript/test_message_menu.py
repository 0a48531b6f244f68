"""Messages are copied and quoted: what is selected, else the message with the focus, else the last answer."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu

from tests.ui.chat.stage import Stage, answer, prompt, record


@pytest.fixture
def shown(stage: Stage) -> Stage:
    stage.show(prompt("asked"), answer("first **bold** answer"), answer("last answer"))
    return stage


def test_the_last_answer_is_quoted_from_anywhere(shown: Stage) -> None:
    quoted = record(shown.view.entry_actions.quote_requested)
    shown.view.messages.quote()
    assert quoted == [("last answer",)]


def test_what_is_selected_is_quoted_first(shown: Stage) -> None:
    quoted = record(shown.view.entry_actions.quote_requested)
    shown.drag(shown.point_of(1, "bold"), shown.point_of(1, "bold", at_end=True))
    shown.view.messages.quote()
    assert quoted == [("bold",)]


def test_tab_leads_to_an_answer_which_keys_copy_and_quote(shown: Stage) -> None:
    quoted = record(shown.view.entry_actions.quote_requested)
    shown.view.setFocus()
    while shown.window.focusWidget() is not shown.widget(1):
        shown.key(Qt.Key.Key_Tab, shown.window.focusWidget())
    shown.key(QKeySequence.StandardKey.Copy, shown.window.focusWidget())
    assert QGuiApplication.clipboard().text() == "first **bold** answer"
    shown.view.messages.quote()
    assert quoted == [("first **bold** answer",)]


def test_the_menu_of_a_message_copies_and_quotes_it(shown: Stage) -> None:
    quoted = record(shown.view.entry_actions.quote_requested)
    menu = QMenu(shown.window)
    shown.view.messages.add_actions(menu, shown.point_of(1, "first") + QPoint(2, 0))
    offered = {action.text(): action for action in menu.actions()}
    offered["Quote message"].trigger()
    offered["Copy message"].trigger()
    assert quoted == [("first **bold** answer",)]
    assert QGuiApplication.clipboard().text() == "first **bold** answer"
