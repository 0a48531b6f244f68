"""Small drawn signs that stand before a line of words. The words say the same: a sign is never needed to understand."""

from typing import Literal

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.ui.theme import Theme

SignKind = Literal["warning", "confined", "unconfined", "escaping"]

_SIZE = 16
_COLOURS = {"warning": "warning_text", "confined": "muted", "unconfined": "warning_text", "escaping": "danger_text"}


class Sign(QWidget):
    """A triangle for a warning, a shield for what is confined, a broken one for what is not."""

    def __init__(self, theme: Theme, kind: SignKind) -> None:
        super().__init__()
        self._theme = theme
        self._kind: SignKind = kind
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(_SIZE, _SIZE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(self._theme.colour(_COLOURS[self._kind]), 1.4)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        if self._kind == "warning":
            painter.drawPath(_triangle())
            painter.drawLine(QPointF(8, 6.2), QPointF(8, 9.2))
            painter.drawPoint(QPointF(8, 11.6))
        else:
            painter.drawPath(_shield())
            if self._kind == "confined":
                painter.drawPolyline([QPointF(5.6, 8), QPointF(7.4, 9.8), QPointF(10.6, 6.2)])
            else:
                painter.drawLine(QPointF(2.6, 2.4), QPointF(13.4, 13.6))
        painter.end()


def _triangle() -> QPainterPath:
    path = QPainterPath(QPointF(8, 2))
    path.lineTo(14.6, 13.8)
    path.lineTo(1.4, 13.8)
    path.closeSubpath()
    return path


def _shield() -> QPainterPath:
    path = QPainterPath(QPointF(8, 1.6))
    path.lineTo(13.4, 3.6)
    path.lineTo(13.4, 7.6)
    path.cubicTo(13.4, 11, 11, 13.4, 8, 14.4)
    path.cubicTo(5, 13.4, 2.6, 11, 2.6, 7.6)
    path.lineTo(2.6, 3.6)
    path.closeSubpath()
    return path
