"""The watchdog names what blocks the window. The window is blocked until it has done so: no time is guessed."""

import gc
import logging
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from desktop_agent.ui import watchdog as module
from desktop_agent.ui.garbage import WindowThreadCollector
from desktop_agent.ui.watchdog import Watchdog


class Heard(logging.Handler):
    """What the watchdog logs, and a bell for the first warning."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []
        self.bell = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
        if record.levelno >= logging.WARNING:
            self.bell.set()

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
def watchdog(qtbot: QtBot) -> Iterator[Watchdog]:
    watchdog = Watchdog(limit_ms=20)
    yield watchdog
    watchdog.stop()


def block_until(bell: threading.Event) -> None:
    """Keep the window's thread until the watchdog has spoken."""
    assert bell.wait(20)


def test_a_blocked_window_is_named_with_its_stack(watchdog: Watchdog, heard: Heard, qtbot: QtBot) -> None:
    watchdog.start()
    block_until(heard.bell)
    assert "assert bell.wait(20)" in heard.warnings[0]
    qtbot.waitUntil(lambda: watchdog.stalls.number >= 1)
    assert watchdog.stalls.worst_ms >= 20


def test_our_own_line_is_named_even_while_it_waits_for_somebody_elses_code(watchdog: Watchdog, heard: Heard) -> None:
    class Slow:
        """Blocks when it is collected: deep inside of what the collector calls."""

        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            block_until(heard.bell)

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
    watchdog: Watchdog, heard: Heard, qtbot: QtBot
) -> None:
    watchdog.start()
    block_until(heard.bell)
    qtbot.waitUntil(lambda: watchdog.stalls.number == 1)
    threading.Event().wait(0.2)  # stands still once more
    qtbot.waitUntil(lambda: watchdog.stalls.number == 2)
    assert len(heard.warnings) == 1


def test_a_window_that_answers_is_left_alone(heard: Heard, qtbot: QtBot) -> None:
    patient = Watchdog(limit_ms=5000)  # however busy the machine is
    patient.start()
    beats = QTimer()
    beats.start(0)
    with qtbot.waitSignals([beats.timeout] * 50):
        pass
    beats.stop()
    patient.stop()
    assert heard.messages == []


def test_stopping_leaves_no_thread_and_starting_again_works(watchdog: Watchdog, qtbot: QtBot) -> None:
    before = threading.active_count()
    for _ in range(3):
        watchdog.start()
        watchdog.start()
        assert threading.active_count() == before + 1
        watchdog.stop()
        watchdog.stop()
        assert threading.active_count() == before
