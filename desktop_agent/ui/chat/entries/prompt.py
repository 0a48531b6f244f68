"""What the person asked: a bubble on the right, its text exactly as it was written."""

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.transcript import PromptEntry
from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.chat.markdown.blocks import plain_blocks
from desktop_agent.ui.chat.row import Row
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space

PADDING_X = 14
PADDING_Y = 9
_SHARE = 0.8
"""How much of the width a bubble takes at most."""
_RADIUS = 10
_CORNER = 2
_MEASURED_CHARS = 400


class PromptWidget(EntryWidget):
    """A prompt of the person."""

    def __init__(self, row: Row, styles: TextStyles, parent: QWidget) -> None:
        super().__init__(row, styles, parent, Column(styles, ground="sunken"))
        self.refresh()

    def _entry(self) -> PromptEntry:
        entry = self.row.entry
        assert isinstance(entry, PromptEntry)
        return entry

    def refresh(self) -> None:
        text = self._entry().text
        self.column.set_blocks(plain_blocks(text), {}, 0)
        self.setAccessibleName(self.tr("You: {text}").format(text=text[:_MEASURED_CHARS]))

    def set_width(self, width: int) -> None:
        text_width = self._text_width(int(width * _SHARE) - 2 * PADDING_X)
        self.column.set_width(text_width)
        self.column_origin = QPoint(width - text_width - PADDING_X, PADDING_Y)

    def _text_width(self, limit: int) -> int:
        """Return how wide the bubble's text is: short prompts have short bubbles."""
        text = self._entry().text
        if len(text) > _MEASURED_CHARS:
            return limit
        metrics = QFontMetricsF(self.styles.body)
        widest = max(metrics.horizontalAdvance(line) for line in text.split("\n"))
        return max(min(limit, int(widest) + 2), Space.XL)

    def entry_height(self) -> int:
        return self.column.height + 2 * PADDING_Y

    def source(self) -> str:
        return self._entry().text

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        x = self.column_origin.x() - PADDING_X
        bubble = QRectF(x, 0, self.width() - x, self.height()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.colour("border"), 1))
        painter.setBrush(self.colour("sunken"))
        painter.drawPath(_speech_bubble(bubble))
        painter.setBrush(Qt.BrushStyle.NoBrush)


def _speech_bubble(area: QRectF) -> QPainterPath:
    """Return a rounded rectangle whose lower right corner, where the person sits, is almost sharp."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    path.addRoundedRect(area, _RADIUS, _RADIUS)
    corner = QRectF(area.right() - _RADIUS, area.bottom() - _RADIUS, _RADIUS, _RADIUS)
    path.addRoundedRect(corner, _CORNER, _CORNER)
    return path.simplified()
