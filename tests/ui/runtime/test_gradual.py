from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from desktop_agent.ui.runtime.pacing import GradualWork


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


def test_what_is_done_within_one_slice_needs_no_other_turn(qtbot: QtBot, owner: QObject) -> None:
    done: list[int] = []
    work = GradualWork(owner, slice_s=60)
    work.begin(counted(done, 500))
    assert work.is_done
    assert len(done) == 500


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
