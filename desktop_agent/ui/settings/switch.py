"""A switch: on or off, drawn in the colours of the theme."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from desktop_agent.ui.theme import Theme

_WIDTH, _HEIGHT, _RING = 34, 18, 3


class Switch(QAbstractButton):
    """Checked is on. The knob's side says which it is, not the colour alone."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH + 2 * _RING, _HEIGHT + 2 * _RING)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colour = self._theme.colour
        track = QRectF(_RING, _RING, _WIDTH, _HEIGHT).adjusted(0.5, 0.5, -0.5, -0.5)
        is_on = self.isChecked()
        if self.hasFocus():
            painter.setPen(QPen(colour("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            ring = track.adjusted(-2, -2, 2, 2)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        painter.setPen(QPen(colour("accent" if is_on else "control_border"), 1))
        painter.setBrush(colour("accent" if is_on else "sunken"))
        painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
        knob = _HEIGHT - 6
        left = track.right() - knob - 2.5 if is_on else track.left() + 2.5
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour("on_accent" if is_on else "muted"))
        painter.drawEllipse(QRectF(left, _RING + 3, knob, knob))
        painter.end()
