import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import ContextUse
from desktop_agent.core.spelling import words_of
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.composer.message_edit import PromptHistory
from desktop_agent.ui.chat.composer.spelling_marks import SpellingMarks
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.mode_pickers import ModePickers


def test_what_was_sent_and_is_not_recorded_yet_stays_when_the_conversation_is_read_anew() -> None:
    history = PromptHistory(["one"])
    history.add("two")
    history.add("three")
    anew = history.exchanged(["one", "two"])
    assert [anew.older("") for _ in range(4)] == ["three", "two", "one", None]
    assert anew.exchanged(["one", "two", "three"]).older("") == "three"


def test_the_same_prompt_twice_is_remembered_once_and_sending_goes_back_to_the_end() -> None:
    history = PromptHistory(["one"])
    history.older("draft")
    history.add("same")
    history.add("same")
    assert [history.older("") for _ in range(3)] == ["same", "one", None]


@pytest.fixture
def composer(theme: Theme, qtbot: QtBot) -> Composer:
    composer = Composer(theme)
    qtbot.addWidget(composer)
    composer.show()
    return composer


@pytest.mark.parametrize(
    ("text", "wrong", "underlined"),
    [
        ("right wrnog right wrnog", "wrnog", [6, 18]),
        ("bonjour " * 101, "bonjour", []),
        ("right " * 1_000 + "wrnog", "wrnog", []),
    ],
    ids=["each word", "no dictionary for the language", "many pages"],
)
def test_misspelled_words_are_underlined_where_that_helps(
    composer: Composer, theme: Theme, text: str, wrong: str, underlined: list[int]
) -> None:
    marks = SpellingMarks(composer.edit, theme)
    marks.set_on(is_on=True)
    composer.set_text(text)
    QTest.keyClicks(composer.edit, ".")
    marks.take(frozenset(word.text for word in words_of(text)), frozenset({wrong}))
    assert [word.start for word in marks.misspelled] == underlined
    assert len(composer.edit.extraSelections()) == len(underlined)


@pytest.mark.parametrize("width", [420, 1200])
def test_tab_goes_through_the_row_below_the_field_as_it_is_read(qtbot: QtBot, theme: Theme, width: int) -> None:
    window, composer = QWidget(), Composer(theme)
    column = QVBoxLayout(window)
    column.addWidget(QPushButton("before"))
    column.addWidget(composer)
    column.addWidget(QPushButton("after"))
    pickers = ModePickers(composer)
    for control in (pickers.model_button, pickers.approval_button, pickers.sandbox_button):
        composer.controls.add(control)
    composer.controls.show_context(ContextUse(tokens=68_000, window=200_000, source="reported"))
    composer.set_working(is_working=True)
    qtbot.addWidget(window)
    window.resize(width, 400)
    window.show()
    window.activateWindow()
    composer.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is composer.edit)
    composer.set_text("And now?")

    visited: list[QWidget] = []
    while (now := QApplication.focusWidget()) is not None and now.parentWidget() is not window:
        visited.append(now)
        QTest.keyClick(now, Qt.Key.Key_Tab)
    row = visited[2:]
    assert visited[:2] == [composer.edit, composer.attach]
    assert row == sorted(row, key=lambda control: (control.y() // 20, control.x()))
    assert row == [
        *(pickers.model_button, pickers.approval_button, pickers.sandbox_button),
        *(composer.controls.meter, composer.controls.stop, composer.controls.send),
    ]
