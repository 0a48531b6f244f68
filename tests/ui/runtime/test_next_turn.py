from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from desktop_agent.ui.runtime.pacing import in_next_turn, open_next_turn


class Painted(QDialog):
    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        self.times += 1
        super().paintEvent(event)


def test_it_is_not_done_with_the_events_of_this_turn(qtbot: QtBot) -> None:
    done: list[int] = []
    owner = QObject()
    in_next_turn(owner, lambda: done.append(1))
    QCoreApplication.sendPostedEvents()
    assert done == []
    qtbot.waitUntil(lambda: bool(done))
    qtbot.waitUntil(lambda: not owner.children())


def test_nothing_is_done_for_an_owner_that_has_ended(qtbot: QtBot) -> None:
    done: list[str] = []
    gone, there = QObject(), QObject()
    in_next_turn(gone, lambda: done.append("gone"))
    in_next_turn(there, lambda: done.append("there"))
    delete(gone)
    qtbot.waitUntil(lambda: bool(done))
    assert done == ["there"]


def test_a_dialog_opens_in_the_next_turn_and_is_painted_once(qtbot: QtBot) -> None:
    dialog = Painted()
    qtbot.addWidget(dialog)
    open_next_turn(dialog)
    assert dialog.isHidden()
    qtbot.waitUntil(lambda: dialog.times > 0)
    QCoreApplication.processEvents()
    assert dialog.times == 1
