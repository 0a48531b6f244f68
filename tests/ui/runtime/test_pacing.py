from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from desktop_agent.ui.runtime.pacing import GradualWork, in_next_turn, open_next_turn


@pytest.fixture
def owner() -> QObject:
    return QObject()


def counted(into: list[int], upto: int) -> Iterator[None]:
    for number in range(upto):
        into.append(number)
        yield


def test_the_first_step_is_taken_at_once_and_the_rest_in_later_turns(qtbot: QtBot, owner: QObject) -> None:
    done: list[int] = []
    work = GradualWork(owner, slice_s=0)
    work.begin(counted(done, 5))
    assert done == [0]
    assert not work.is_done
    qtbot.waitUntil(lambda: work.is_done)
    assert done == list(range(5))


def test_what_is_begun_takes_the_place_of_what_was_left(qtbot: QtBot, owner: QObject) -> None:
    old: list[int] = []
    new: list[int] = []
    work = GradualWork(owner, slice_s=0)
    work.begin(counted(old, 5))
    work.begin(counted(new, 3))
    qtbot.waitUntil(lambda: work.is_done)
    assert (old, new) == ([0], [0, 1, 2])


def test_a_step_may_begin_something_else(qtbot: QtBot, owner: QObject) -> None:
    done: list[int] = []
    work = GradualWork(owner, slice_s=60)

    def first() -> Iterator[None]:
        done.append(-1)
        work.begin(counted(done, 2))
        yield
        done.append(-2)

    work.begin(first())
    assert done == [-1, 0, 1]
    assert work.is_done


def test_nothing_more_is_done_after_a_stop(qtbot: QtBot, owner: QObject) -> None:
    done: list[int] = []
    work = GradualWork(owner, slice_s=0)
    work.begin(counted(done, 5))
    work.stop()
    qtbot.wait(1)
    assert done == [0]
    assert work.is_done


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
