"""When a window is painted after work that took long."""

from collections.abc import Generator

import pytest
from PySide6.QtCore import QCoreApplication, QRect, Qt
from PySide6.QtGui import QKeyEvent, QPaintEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.runtime.pacing import in_next_turn
from desktop_agent.ui.runtime.painting import LONG_MS, MOST_MS, PaintTurns


class Noted(QWidget):
    """Notes what happens to it, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.painted = QRect()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        self.seen.append("painted")
        self.painted = event.rect()
        super().paintEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        self.seen.append(event.text())


class Turn:
    """How long the present turn of the loop has been going on, and what the clock says."""

    def __init__(self) -> None:
        self.ms = 0.0
        self.now_s = 0.0

    def busy_ms(self) -> float:
        return self.ms

    def clock(self) -> float:
        return self.now_s


@pytest.fixture
def turn() -> Turn:
    return Turn()


@pytest.fixture
def turns(qapp: QApplication, turn: Turn) -> Generator[PaintTurns]:
    turns = PaintTurns(qapp, turn.busy_ms, turn.clock)
    yield turns
    turns.stop()


@pytest.fixture
def window(qtbot: QtBot, turns: PaintTurns) -> Noted:
    return shown(qtbot)


def shown(qtbot: QtBot) -> Noted:
    """Return a window that has the keyboard, and has been painted."""
    window = Noted()
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is window and "painted" in window.seen)
    QCoreApplication.processEvents()
    window.seen.clear()
    return window


def change(window: Noted, turn: Turn, took_ms: float) -> None:
    """Have the window painted anew at the end of a turn of this length."""
    window.update()
    turn.ms = took_ms
    QCoreApplication.sendPostedEvents()
    turn.ms = 0.0


def test_a_window_is_painted_at_the_end_of_a_short_turn(window: Noted, turn: Turn) -> None:
    change(window, turn, LONG_MS / 2)
    assert window.seen == ["painted"]


def test_a_window_is_painted_in_the_turn_after_a_long_one(qtbot: QtBot, window: Noted, turn: Turn) -> None:
    change(window, turn, LONG_MS)
    assert window.seen == []
    qtbot.waitUntil(lambda: window.seen == ["painted"])
    change(window, turn, 0)
    assert window.seen == ["painted", "painted"], "the next picture is not waited for"


def test_a_key_is_handled_before_a_picture_that_waits(qtbot: QtBot, window: Noted, turn: Turn) -> None:
    change(window, turn, LONG_MS)
    QTest.keyClicks(window, "a")
    qtbot.waitUntil(lambda: window.seen == ["a", "painted"])


def test_what_is_laid_out_in_several_long_turns_is_painted_once(qtbot: QtBot, window: Noted, turn: Turn) -> None:
    def lay_out(turns_left: int) -> None:
        window.seen.append("laid out")
        window.update()
        turn.ms = LONG_MS if turns_left else 0.0
        if turns_left:
            in_next_turn(window, lambda: lay_out(turns_left - 1))

    in_next_turn(window, lambda: lay_out(2))
    qtbot.waitUntil(lambda: "painted" in window.seen)
    assert window.seen == ["laid out"] * 3 + ["painted"]


def test_a_window_that_got_another_size_in_a_long_turn_is_painted_once_and_whole(
    qtbot: QtBot, window: Noted, turn: Turn
) -> None:
    turn.ms = LONG_MS
    window.resize(window.width() + 200, window.height() + 100)
    QCoreApplication.processEvents()
    assert window.seen == []
    turn.ms = 0.0
    qtbot.waitUntil(lambda: window.seen == ["painted"])
    assert window.painted == window.rect()
    assert window.grab().toImage() == window.screen().grabWindow(window.winId()).toImage()


def test_a_picture_waits_for_long_turns_no_longer_than_a_user_would_notice(
    qtbot: QtBot, window: Noted, turn: Turn
) -> None:
    def work(turns_left: int) -> None:
        turn.now_s += MOST_MS / 1000 / 4
        window.seen.append("worked")
        if turns_left:
            in_next_turn(window, lambda: work(turns_left - 1))

    turn.ms = LONG_MS
    window.update()
    in_next_turn(window, lambda: work(8))
    qtbot.waitUntil(lambda: window.seen.count("worked") == 9)
    turn.ms = 0.0
    assert 3 <= window.seen.index("painted") <= 6, "in the middle of work that goes on and on"


def test_nothing_waits_any_more_when_it_has_stopped(qapp: QApplication, qtbot: QtBot, turn: Turn) -> None:
    turns = PaintTurns(qapp, turn.busy_ms, turn.clock)
    window = shown(qtbot)
    turns.stop()
    change(window, turn, LONG_MS)
    assert window.seen == ["painted"]
