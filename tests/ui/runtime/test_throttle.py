"""The first call at once, a burst's last one always, nothing while paused."""

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from desktop_agent.ui.runtime.pacing import Throttle


def make(parent: QObject) -> tuple[Throttle, list[int]]:
    calls: list[int] = []
    return Throttle(lambda: calls.append(1), parent, interval_ms=5), calls


def test_the_first_call_happens_at_once_and_a_burst_once_more(qtbot: QtBot) -> None:
    parent = QObject()
    throttle, calls = make(parent)
    for _ in range(10):
        throttle.trigger()
    assert len(calls) == 1
    qtbot.waitUntil(lambda: len(calls) == 2)


def test_run_now_does_only_what_is_wanted(qtbot: QtBot) -> None:
    parent = QObject()
    throttle, calls = make(parent)
    throttle.run_now()
    assert calls == []
    throttle.trigger()
    throttle.trigger()
    throttle.run_now()
    assert len(calls) == 2


def test_what_is_wanted_while_paused_happens_at_resume(qtbot: QtBot) -> None:
    parent = QObject()
    throttle, calls = make(parent)
    throttle.pause()
    throttle.trigger()
    assert calls == []
    throttle.resume()
    assert len(calls) == 1


def test_nothing_is_left_behind_when_its_widget_goes(qtbot: QtBot) -> None:
    parent = QObject()
    throttle, calls = make(parent)
    throttle.trigger()
    throttle.trigger()
    del throttle, parent
    assert len(calls) == 1
