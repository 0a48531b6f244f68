"""The question before an undo of what the user keeps."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.ui.review.panel.kept_question import undo_with_care
from tests.ui.review.stage import Session


def test_a_name_that_looks_like_markup_is_shown_as_it_is(qtbot: QtBot) -> None:
    session = Session()
    name = "<img src=x>.py"
    session.start_turn(1)
    session.change(1, "call-1", name, "one\n", "two\n")
    session.end_turn(1)
    session.keep(name, "1")
    parent = QWidget()
    qtbot.addWidget(parent)
    undone: list[ChangeSelection] = []
    undo_with_care(session.transcript, ChangeSelection(turn=1), undone.append, parent)
    [box] = parent.findChildren(QMessageBox)
    [shown] = [label for label in box.findChildren(QLabel) if name in label.text()]
    assert shown.textFormat() is Qt.TextFormat.PlainText
    box.reject()
    assert undone == []
