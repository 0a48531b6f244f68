"""A frame with round corners that lies over others, and has nothing of them painted that it hides."""

from math import sqrt
from typing import Final

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QRegion, QResizeEvent
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.ui.theme import Radius, Theme

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
