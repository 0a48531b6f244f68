"""The questions name what is lost and what stays, and a stray Enter loses nothing."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.sessions.session_panel import ask_to_delete, ask_to_import_again
from desktop_agent.ui.widgets.question import Question
from tests.parts import part

if TYPE_CHECKING:
    from tests.ui.sessions.conftest import MakeSession


def test_enter_does_not_delete_and_the_named_button_does(qtbot: QtBot, make_session: "MakeSession") -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    told: list[str] = []
    ask_to_delete([make_session("a", "<b>Fix</b> it\u202e")], 2_000_000, parent, lambda: told.append("delete"))
    question = part(parent, Question, "deleteSessionDialog")
    assert "<b>Fix</b> it" in question.text()
    assert "\u202e" not in question.text()
    assert question.textFormat() == Qt.TextFormat.PlainText
    assert "1.91 MiB" in question.informativeText() or "2 MB" in question.informativeText()
    assert "undo history" in question.informativeText()
    QTest.keyClick(question, Qt.Key.Key_Return)
    assert told == []
    question.open()
    part(question, QPushButton, "deleteSessionButton").click()
    assert told == ["delete"]


def test_a_conversation_that_is_here_can_be_opened_or_imported_again(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    told: list[str] = []
    ask_to_import_again(parent, lambda: told.append("show"), lambda: told.append("again"))
    question = part(parent, Question, "importedAlreadyDialog")
    next(button for button in question.findChildren(QPushButton) if button.text() == "Import again").click()
    assert told == ["again"]
