"""How the cells of the table are drawn: quicker than a style sheet, of which there would be hundreds of boxes."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from desktop_agent.ui.theme import Height, Theme, TypeSize
from desktop_agent.ui.widgets.rows import LEFT, RIGHT, FocusRing

PADDING = 11
_LEFT, _RIGHT = (side.value | Qt.TextFlag.TextSingleLine.value for side in (LEFT, RIGHT))
"""As numbers: to combine Python's enumerations takes as long as to draw a word."""


class CellDelegate(QStyledItemDelegate):
    """Draws a line of text over a hairline; the current cell has a ring for the keyboard."""

    def __init__(self, theme: Theme, ring: FocusRing) -> None:
        super().__init__(ring)
        self._theme = theme
        self._ring = ring
        self.text_columns: tuple[int, ...] = (0,)
        """Those whose texts stand at the left."""
        self._take()
        theme.changed.connect(self._take)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        rect, is_selected = QRectF(option.rect), bool(option.state & QStyle.StateFlag.State_Selected)
        if is_selected:
            painter.fillRect(rect, self._chosen)
        painter.setPen(self._line)
        painter.drawLine(rect.bottomLeft() - QPointF(0, 1), rect.bottomRight() - QPointF(0, 1))
        painter.setFont(self.font)
        painter.setPen(self._chosen_text if is_selected else self._text)
        text, room = str(index.data()), rect.adjusted(PADDING, 0, -PADDING, 0)
        if self._metrics.horizontalAdvance(text) > room.width():
            text = self._metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(room.width()))
        painter.drawText(room, _LEFT if index.column() in self.text_columns else _RIGHT, text)
        if self._ring.is_shown and option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(self._focus)
            painter.drawRect(rect.adjusted(1, 1, -1, -2))

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, Height.LIST_ROW)

    def _take(self) -> None:
        theme = self._theme
        self.font = theme.text_font(TypeSize.SECONDARY)
        self._metrics = QFontMetrics(self.font)
        self._line = QPen(theme.colour("border"), 1)
        self._focus = QPen(theme.colour("accent"), 2)
        self._text, self._chosen_text = theme.colour("text"), theme.colour("accent_text")
        self._chosen = theme.colour("accent_weak")
