"""The line at the end of the transcript that says what the agent is doing while nothing else shows it."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.theme import Height, Theme, TypeSize

_TEXT_AT = 20


class ActivityLine(QWidget):
    """Says what the agent does at the moment: `● Writing edit_file (3.2 kB)`."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        self._is_dim = False
        self.is_working = False
        """Whether the agent works now."""
        self.resize(self.width(), Height.SMALL_BUTTON)

    def show_activity(self, activity: str, *, is_working: bool) -> None:
        """Say this, or that the agent works when there is nothing to say."""
        self.is_working = is_working
        text = activity[:1].upper() + activity[1:] if activity else self.tr("Working…")
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.update()

    def pulse(self) -> None:
        """Dim or light the mark, unless things should not move."""
        if self._theme.moves:
            self._is_dim = not self._is_dim
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        mark = QColor(self._theme.colour("accent"))
        mark.setAlphaF(0.45 if self._is_dim else 1.0)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(mark)
        painter.drawEllipse(QPointF(6, self.height() / 2), 4.5, 4.5)
        painter.setPen(self._theme.colour("muted"))
        painter.setFont(self._theme.text_font(TypeSize.SECONDARY))
        area = QRectF(_TEXT_AT, 0, self.width() - _TEXT_AT, self.height())
        text = painter.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, int(area.width()))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()
