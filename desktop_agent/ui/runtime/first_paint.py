"""The first paint: what a user waits for when they start the application."""

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget


def show_painted(app: QApplication, window: QWidget, part: QWidget) -> None:
    """Show `window` and return when it can be seen: when `part` of it has been painted.

    Qt's own loop runs just for that. asyncio and qasync take 70 ms to import, which the user should not wait for.
    """
    watch = _FirstPaint(app)
    part.installEventFilter(watch)
    window.show()
    app.exec()
    watch.deleteLater()


class _FirstPaint(QObject):
    """Ends Qt's loop as soon as what it watches was painted for the first time."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self._app.exit)
        return False
