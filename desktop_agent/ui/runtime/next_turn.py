"""Does something in another turn of the loop: what was shown before is painted, and what was typed is handled."""

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer
from PySide6.QtWidgets import QDialog


def in_next_turn(owner: QObject, do: Callable[[], object]) -> None:
    """Call this in the next turn of the loop, unless `owner` has ended by then.

    `QTimer.singleShot(0)` is an event of the turn that is going on.
    """
    timer = QTimer(owner, interval=0, singleShot=True)
    timer.timeout.connect(do)
    timer.timeout.connect(timer.deleteLater)
    timer.start()


def open_next_turn(dialog: QDialog) -> None:
    """Open a dialog in the next turn of the loop: to make it takes a while, and to show it again."""

    def show() -> None:
        dialog.open()
        # Otherwise these come after it is exposed, and all of it is painted once more.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.UpdateLater.value)

    in_next_turn(dialog, show)
