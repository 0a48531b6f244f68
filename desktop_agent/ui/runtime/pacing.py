"""Spreads the window's work: at most once per interval, in another turn, a few steps at a time, or in a thread."""

import time
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QRunnable, QThreadPool, QTimer
from PySide6.QtWidgets import QDialog

FRAME_MS = 33
"""The milliseconds between updates at thirty a second, which is as often as streaming text needs to change."""


class Throttle(QObject):
    """Runs `action` at once, or when the interval since the last run is over. During a pause, requests wait."""

    def __init__(self, action: Callable[[], None], parent: QObject, interval_ms: int = FRAME_MS) -> None:
        super().__init__(parent)
        self._action = action
        self._is_wanted = False
        self._is_paused = False
        self._timer = one_shot(self, interval_ms, self.run_now)

    def trigger(self) -> None:
        self._is_wanted = True
        if not self._is_paused and not self._timer.isActive():
            self.run_now()

    def run_now(self) -> None:
        if not self._is_wanted:
            return
        self._is_wanted = False
        if not self._is_paused:
            self._timer.start()
        self._action()

    def pause(self) -> None:
        self._is_paused = True
        self._timer.stop()

    def resume(self) -> None:
        self._is_paused = False
        self.run_now()


def one_shot(owner: QObject, interval_ms: int, do: Callable[[], object]) -> QTimer:
    """`do` is not called once `owner` has been deleted."""
    timer = QTimer(owner, interval=interval_ms, singleShot=True)
    timer.timeout.connect(do)
    return timer


def run_while(timer: QTimer, *, is_wanted: bool) -> None:
    """Start or stop a repeating timer; a running timer is not restarted."""
    if not is_wanted:
        timer.stop()
    elif not timer.isActive():
        timer.start()


def in_next_turn(owner: QObject, do: Callable[[], object]) -> None:
    """`do` is not called once `owner` has been deleted. `QTimer.singleShot(0)` fires in the current turn."""
    timer = one_shot(owner, 0, do)
    timer.timeout.connect(timer.deleteLater)
    timer.start()


def open_next_turn(dialog: QDialog) -> None:
    """Open a dialog in the next turn of the loop, because creating it and showing it both take long."""

    def show() -> None:
        dialog.open()
        # Otherwise these events arrive after the dialog is exposed, and all of it is painted again.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.UpdateLater.value)

    in_next_turn(dialog, show)


_SLICE_S: Final = 0.004
"""The time for one slice: a quarter of a frame, because laying out and painting its result takes as long again."""


class GradualWork(QObject):
    """Runs the steps of an iterator, for a few milliseconds in each turn of the loop."""

    def __init__(self, parent: QObject, slice_s: float = _SLICE_S, *, pause_ms: int = 0) -> None:
        super().__init__(parent)
        self._slice_s = slice_s
        self._steps: Iterator[object] = iter(())
        self._timer = QTimer(self, interval=pause_ms)
        self._timer.timeout.connect(self._go_on)

    def begin(self, steps: Iterator[object]) -> None:
        """Begin with these steps. The first slice runs before this method returns."""
        self._steps = steps
        self._go_on()

    def stop(self) -> None:
        self._steps = iter(())
        self._timer.stop()

    @property
    def is_done(self) -> bool:
        return not self._timer.isActive()

    def _go_on(self) -> None:
        steps, end = self._steps, time.perf_counter() + self._slice_s
        for _ in steps:
            if steps is not self._steps:  # a step began something else
                return
            if time.perf_counter() >= end:
                self._timer.start()
                return
        if steps is self._steps:
            self._timer.stop()


_T = TypeVar("_T")


class BackgroundCall(Generic[_T]):
    """A single call of a function in a thread. The owner polls for the result, as it may be deleted before the end."""

    def __init__(self, call: Callable[[], _T], default: _T) -> None:
        self._call = call
        self.is_started = False
        self.is_done = False
        self.result = default

    def start(self) -> None:
        if not self.is_started:
            self.is_started = True
            QThreadPool.globalInstance().start(QRunnable.create(self._run))

    def run(self) -> None:
        self.is_started = True
        self._run()

    def _run(self) -> None:
        try:
            self.result = self._call()
        finally:
            self.is_done = True
