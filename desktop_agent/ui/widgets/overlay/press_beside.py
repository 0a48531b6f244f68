"""Tells when the user presses a mouse button beside a widget that lies over others."""

from PySide6.QtCore import QEvent, QObject, QPoint, Signal
from PySide6.QtGui import QMouseEvent, QWindow
from PySide6.QtWidgets import QWidget


class PressBeside(QObject):
    """Watches what reaches the window of `overlay` while the overlay is shown.

    Not with a filter of the whole application: it would be called for every event there is, and for the first object
    that Qt's binding does not know it makes classes for all of Qt's, which takes a frame and 6 MB.
    """

    pressed = Signal()
    """A button of the mouse was pressed elsewhere in the window. What was pressed gets the press next."""

    def __init__(self, overlay: QWidget, spared: QWidget | None = None) -> None:
        """`spared` is the button that opens and closes the overlay by itself."""
        super().__init__(overlay)
        self._overlay = overlay
        self._spared = spared
        self._window: QWindow | None = None

    def start(self) -> None:
        """Begin to watch. The window has to be shown."""
        self.stop()
        self._window = self._overlay.window().windowHandle()
        self._window.installEventFilter(self)

    def stop(self) -> None:
        """Watch no more."""
        if self._window is not None:
            self._window.removeEventFilter(self)
            self._window = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(event, QMouseEvent):
            at = event.globalPosition().toPoint()
            if not _is_in(self._overlay, at) and not (self._spared is not None and _is_in(self._spared, at)):
                self.pressed.emit()
        return False


def _is_in(widget: QWidget, at: QPoint) -> bool:
    return widget.isVisible() and widget.rect().contains(widget.mapFromGlobal(at))
