"""The question before an undo of what the user keeps."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import all_keys
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.ui.review.undo_question import UndoWithCare
from tests.ui.review.panel.panel_stage import Asked
from tests.ui.review.stage import Session, Source, Tasks


def test_a_name_that_looks_like_markup_is_shown_as_it_is(qtbot: QtBot, tasks: Tasks) -> None:
    session = Session()
    name = "<img src=x>.py"
    session.start_turn(1)
    change = session.transcript.changes[session.change(1, "call-1", name, "one\n", "two\n")].change
    session.end_turn(1)
    session.keep(name, *all_keys(diff_change(change, b"one\n", b"two\n")))
    parent = QWidget()
    qtbot.addWidget(parent)
    asked = Asked()
    care = UndoWithCare(session.transcript, Source(session), tasks.spawn, asked.submit, parent)
    care.undo(ChangeSelection(turn=1))
    [box] = parent.findChildren(QMessageBox)
    [shown] = [label for label in box.findChildren(QLabel) if name in label.text()]
    assert shown.textFormat() is Qt.TextFormat.PlainText
    box.reject()
    assert asked == []
