"""Gives the painting of a window a turn of the loop of its own, when what was done before it took long already."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtGui import QExposeEvent, QRegion, QWindow
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.ui.runtime.next_turn import in_next_turn

LONG_MS: Final = 4.0
"""A quarter of a frame: with the painting of a whole window behind it, such a turn would take longer than a frame."""

MOST_MS: Final = 33.0
"""How long a picture waits for further turns that take long: what is laid out in pieces is painted once, when it is
whole, and what goes on and on, such as a window that is being dragged larger, is painted thirty times a second."""


class PaintTurns(QObject):
    """Serves each window of an application from when it first has the keyboard.

    Qt paints a window at the end of the turn in which it was laid out. Between two turns, keys and the mouse are
    handled; if there are none, the picture comes as early as before.
    """

    def __init__(
        self, app: QApplication, busy_ms: Callable[[], float], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        """`busy_ms` says for how long the present turn has been going on, `clock` the time in seconds."""
        super().__init__(app)
        self._app = app
        self._busy_ms = busy_ms
        self._clock = clock
        self._is_painting = False
        app.focusChanged.connect(self._on_focus)

    def stop(self) -> None:
        """Let windows be painted as Qt does."""
        self._app.focusChanged.disconnect(self._on_focus)
        self._busy_ms = lambda: 0.0
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep a window from being painted now."""
        if self._is_painting or not _asks_for_painting(watched, event) or self._busy_ms() < LONG_MS:
            return False
        in_next_turn(watched, partial(self._paint, watched, self._clock()))
        return True

    def _paint(self, window: QObject, asked_at: float) -> None:
        if self._busy_ms() >= LONG_MS and (self._clock() - asked_at) * 1000 < MOST_MS:
            in_next_turn(window, partial(self._paint, window, asked_at))
            return
        self._is_painting = True
        try:
            QCoreApplication.sendEvent(window, _asking_for_painting(window))
        finally:
            self._is_painting = False

    def _on_focus(self, _old: QWidget | None, new: QWidget | None) -> None:
        if new is not None:
            window = new.window()
            window.installEventFilter(self)
            window.windowHandle().installEventFilter(self)


def _asks_for_painting(window: QObject, event: QEvent) -> bool:
    """Whether Qt paints a window for this: because something in it changed, or because it has another size."""
    match window:
        case QWidget():
            return event.type() == QEvent.Type.UpdateRequest
        case QWindow():
            return event.type() == QEvent.Type.Expose and window.isExposed()
        case _:
            return False


def _asking_for_painting(window: QObject) -> QEvent:
    if isinstance(window, QWindow):
        return QExposeEvent(QRegion(0, 0, window.width(), window.height()))
    return QEvent(QEvent.Type.UpdateRequest)
