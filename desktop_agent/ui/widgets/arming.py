"""When an answer to a question counts: how long the question must have been in sight, and which key presses count."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

ARMING_DELAY_MS = 300
"""An earlier key or click may have been meant for what was there before."""


def answer_shortcut(keys: str, answer: Callable[[], object], owner: QWidget) -> QShortcut:
    """Return a shortcut that answers, anywhere in the window of `owner`.

    A key that is held down answers once: its repeats would answer the next question, too.
    """
    shortcut = QShortcut(QKeySequence(keys), owner)
    shortcut.setAutoRepeat(False)
    shortcut.activated.connect(answer)
    return shortcut


class Arming(QObject):
    """Is armed a moment after the question was first painted, however long that took."""

    def __init__(self, delay_ms: int, parent: QObject) -> None:
        super().__init__(parent)
        self.is_armed = False
        """Whether a yes counts."""
        self._timer = QTimer(self, interval=delay_ms, singleShot=True)
        self._timer.timeout.connect(self._arm)

    def note_painted(self) -> None:
        """The question is in sight."""
        if not self.is_armed and not self._timer.isActive():
            self._timer.start()

    def stop(self) -> None:
        """Arm no more: the question goes."""
        self._timer.stop()

    def restart(self) -> None:
        """Wait again, from the next time that the question is painted."""
        self._timer.stop()
        self.is_armed = False

    def _arm(self) -> None:
        self.is_armed = True
