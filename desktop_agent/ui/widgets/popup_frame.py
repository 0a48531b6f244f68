"""What lies over other widgets: its frame, and a press of the mouse beside it."""

from math import sqrt
from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen, QRegion, QResizeEvent, QWindow
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.ui.theme import Radius, Theme


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


_EDGE: Final = 1
_INSIDE: Final = 4
"""So far in, nothing of the edge is left, in the corners neither."""


class RaisedFrame(QFrame):
    """What lies over other widgets: a surface with an edge.

    Not drawn by the style sheet: with its round corners Qt takes a widget for one that can be seen through, and paints
    all that lies below with each key that is typed into this. Here the corners are cut off, and the rest hides it.
    """

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._frame_theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setContentsMargins(_EDGE, _EDGE, _EDGE, _EDGE)
        theme.changed.connect(self.update)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setMask(_rounded(self.rect()))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._frame_theme, QPainter(self)
        painter.fillRect(event.rect(), theme.colour("surface"))
        if not self.rect().adjusted(_INSIDE, _INSIDE, -_INSIDE, -_INSIDE).contains(event.rect()):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.colour("border_strong"), _EDGE))
            half = _EDGE / 2
            radius = Radius.DIALOG - half
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(half, half, -half, -half), radius, radius)
        painter.end()


def _rounded(rect: QRect) -> QRegion:
    """Return all of `rect` of which the frame with its corners covers something."""
    radius, width, height = Radius.DIALOG, rect.width(), rect.height()
    region = QRegion(0, radius, width, height - 2 * radius)
    for y in range(radius):
        cut = int(radius - sqrt(radius**2 - (radius - y - 1) ** 2))
        for at in (y, height - 1 - y):
            region += QRegion(cut, at, width - 2 * cut, 1)
    return region
