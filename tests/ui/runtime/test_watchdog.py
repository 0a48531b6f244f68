"""The watchdog names what blocks the window; tests block it until that has happened."""

import gc
import linecache
import logging
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSocketNotifier, QTimer
from pytestqt.qtbot import QtBot

from desktop_agent.ui.runtime import watchdog as module
from desktop_agent.ui.runtime.garbage import WindowThreadCollector
from desktop_agent.ui.runtime.watchdog import Watchdog, follow_loop


class Clock:
    """A clock that advances only while the test blocks the window: a slow machine adds no stall."""

    def __init__(self) -> None:
        self._now = 100.0
        self._looks = 0
        self._looked = threading.Condition()

    def __call__(self) -> float:
        with self._looked:
            if threading.current_thread() is not threading.main_thread():
                self._looks += 1
                self._looked.notify_all()
            return self._now

    def pass_by(self) -> None:
        with self._looked:
            self._now += 1

    def stand_still(self) -> None:
        """Block the window's thread for a second, until the watchdog has seen and handled that."""
        with self._looked:
            self._now += 1
            seen_and_done = self._looks + 2
            assert self._looked.wait_for(lambda: self._looks >= seen_and_done, timeout=30)


class Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())

    @property
    def warnings(self) -> list[str]:
        return [message for message in self.messages if "stands still" in message]


@pytest.fixture
def heard(expected_logs: list[str]) -> Iterator[Heard]:
    expected_logs.append("the window stands still")
    handler = Heard()
    logger = logging.getLogger(module.__name__)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watchdog(qtbot: QtBot, clock: Clock) -> Iterator[Watchdog]:
    watchdog = Watchdog(limit_ms=20, clock=clock)
    yield watchdog
    watchdog.stop()


def test_a_blocked_window_is_named_with_its_stack(watchdog: Watchdog, clock: Clock, heard: Heard, qtbot: QtBot) -> None:
    watchdog.start()
    clock.stand_still()
    (warning,) = heard.warnings
    assert "clock.stand_still()" in warning
    assert "wait_for" in warning
    qtbot.waitUntil(lambda: watchdog.stalls.number == 1)
    assert watchdog.stalls.worst_ms == pytest.approx(1000)


def by_a_timer(blocks: Callable[[], None]) -> QObject:
    timer = QTimer()
    timer.setSingleShot(True)
    timer.timeout.connect(blocks)
    timer.start(20)  # the loop waits until then
    return timer


def by_an_event(blocks: Callable[[], None]) -> QObject:
    class Receiver(QObject):
        def event(self, event: QEvent) -> bool:
            if event.type() == QEvent.Type.User:
                blocks()
            return super().event(event)

    receiver = Receiver()
    QTimer.singleShot(20, receiver, lambda: QCoreApplication.postEvent(receiver, QEvent(QEvent.Type.User)))
    return receiver


def by_a_socket(blocks: Callable[[], None]) -> QObject:
    ours, theirs = socket.socketpair()
    notifier = QSocketNotifier(ours.fileno(), QSocketNotifier.Type.Read)

    def read() -> None:
        ours.recv(1)
        blocks()
        ours.close()
        theirs.close()
        notifier.setEnabled(False)

    notifier.activated.connect(read)
    QTimer.singleShot(20, notifier, lambda: theirs.send(b"!"))
    return notifier


@pytest.mark.parametrize("begin", [by_a_timer, by_an_event, by_a_socket])
def test_a_stall_is_seen_whatever_the_loop_was_woken_by(
    begin: Callable[[Callable[[], None]], QObject], watchdog: Watchdog, clock: Clock, heard: Heard, qtbot: QtBot
) -> None:
    watchdog.start()
    qtbot.wait(1)  # the loop has rested: what it does from here on has a beginning of its own
    cause = begin(clock.stand_still)
    qtbot.waitUntil(lambda: watchdog.stalls.number == 1)
    assert watchdog.stalls.worst_ms == pytest.approx(1000)
    (warning,) = heard.warnings
    assert "in stand_still" in warning
    cause.deleteLater()


def test_waiting_is_no_stall(watchdog: Watchdog, clock: Clock, heard: Heard, qtbot: QtBot) -> None:
    stop = follow_loop(works=clock.pass_by, rests=lambda: None)
    watchdog.start()
    qtbot.wait(50)
    watchdog.stop()
    stop()
    assert watchdog.stalls.number == 0
    assert heard.messages == []


def test_our_own_line_is_named_even_while_it_waits_for_somebody_elses_code(
    watchdog: Watchdog, clock: Clock, heard: Heard
) -> None:
    class Slow:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            clock.stand_still()

    watchdog.start()
    collector = WindowThreadCollector()
    collector.start()  # from here on nothing is collected before it is asked to
    Slow()
    young = [[number] for number in range(2 * gc.get_threshold()[0])]  # reused ones are not counted as new
    collector.collect_due()
    collector.stop()
    assert "garbage.py" in heard.warnings[0].splitlines()[0]
    assert "collect_due" in heard.warnings[0].splitlines()[0]
    assert young


def test_one_stall_is_one_warning_and_a_second_one_soon_after_is_only_counted(
    watchdog: Watchdog, clock: Clock, heard: Heard, qtbot: QtBot
) -> None:
    watchdog.start()
    clock.stand_still()
    qtbot.waitUntil(lambda: watchdog.stalls.number == 1)
    clock.stand_still()
    qtbot.waitUntil(lambda: watchdog.stalls.number == 2)
    assert len(heard.warnings) == 1


def test_stopping_leaves_no_thread_and_starting_again_works(watchdog: Watchdog) -> None:
    for _ in range(3):
        watchdog.start()
        watchdog.start()
        assert running_watchdogs() == 1
        watchdog.stop()
        watchdog.stop()
        assert running_watchdogs() == 0


def running_watchdogs() -> int:
    """Count by name: a thread of another test may end at any time."""
    return sum(thread.name == "watchdog" for thread in threading.enumerate())


def test_a_warning_keeps_nothing_of_what_the_threads_were_doing(watchdog: Watchdog, clock: Clock, heard: Heard) -> None:
    watchdog.start()

    class Held:
        pass

    def work() -> weakref.ref[Held]:
        held = Held()
        clock.stand_still()
        return weakref.ref(held)

    gc.disable()
    try:
        assert work()() is None
    finally:
        gc.enable()
    assert len(heard.warnings) == 1
    assert not linecache.cache


_SIGNALLED = """
import os, signal, sys, threading
from PySide6.QtCore import QCoreApplication, QTimer
from desktop_agent.ui.runtime.watchdog import follow_loop

def fail():
    try:
        os.stat("/no such file")  # leaves an error number behind
    except OSError:
        pass

app = QCoreApplication([])
signal.signal(signal.SIGUSR1, lambda *_: None)
follow_loop(works=fail, rests=fail)
main = threading.main_thread().ident
threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGUSR1)).start()
QTimer.singleShot(500, app.quit)
sys.exit(app.exec())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there the loop's wait is replaced")
def test_a_signal_ends_the_wait_without_a_complaint() -> None:
    done = subprocess.run(  # noqa: TID251 - signals are for a process of their own
        [sys.executable, "-c", _SIGNALLED], stderr=subprocess.PIPE, check=True, text=True, timeout=60
    )
    assert "poll(2)" not in done.stderr
