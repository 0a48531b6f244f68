"""The model's thinking: one quiet line that the user can unfold."""

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.entries.fold import FOLDED, UNFOLDED, FoldLine
from desktop_agent.ui.chat.entries.text import MarkdownWidget
from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.chat.transcript.row_state import RowState
from desktop_agent.ui.theme import Height, Space

_TEXT_INDENT = 18
_BAR = 2


class ThinkingWidget(MarkdownWidget):
    """Thinking, folded until it is asked for."""

    def __init__(self, row: RowState, styles: TextStyles, actions: EntryActions, parent: QWidget) -> None:
        super().__init__(row, styles, actions, parent, colour="muted")
        self._line = _ThinkingLine(styles, self)
        self._line.clicked.connect(self._on_clicked)
        self.column_origin = QPoint(_TEXT_INDENT, Height.SMALL_BUTTON + Space.XS)
        self.refresh()

    @property
    def is_column_shown(self) -> bool:
        return bool(self.row.is_unfolded)

    def refresh(self) -> None:
        is_open = self.entry().is_open
        if self.is_column_shown:
            self.read()
        self._line.setText(self.tr("Thinking…") if is_open else self.tr("Thought"))
        self._line.setAccessibleName(self._line.text())
        self._line.set_folding(is_foldable=True, is_unfolded=self.is_column_shown)
        self.setAccessibleName(self._line.text())

    def set_width(self, width: int) -> None:
        self._line.setGeometry(0, 0, min(width, self._line.preferred_width()), Height.SMALL_BUTTON)
        self.column.set_width(width - _TEXT_INDENT)

    def entry_height(self) -> int:
        if not self.is_column_shown:
            return Height.SMALL_BUTTON
        return self.column_origin.y() + self.column.height

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self.is_column_shown:
            top = self.column_origin.y()
            painter.fillRect(QRect(5, top, _BAR, self.height() - top), self.styles.colour("border"))

    def _on_clicked(self) -> None:
        self.row.is_unfolded = not self.row.is_unfolded
        self.refresh()
        self.resized.emit()


class _ThinkingLine(FoldLine):
    """▸ Thought"""

    def preferred_width(self) -> int:
        return self.fontMetrics().horizontalAdvance(self.tr("Thinking…")) + 3 * Space.L

    def paint_content(self, painter: QPainter) -> None:
        painter.setFont(self.styles.secondary)
        painter.setPen(self.styles.colour("text" if self.underMouse() else "muted"))
        arrow = QRectF(3, 0, Space.L, self.height())
        painter.drawText(arrow, Qt.AlignmentFlag.AlignVCenter, UNFOLDED if self.is_unfolded else FOLDED)
        label = QRectF(_TEXT_INDENT, 0, self.width() - _TEXT_INDENT, self.height())
        painter.drawText(label, Qt.AlignmentFlag.AlignVCenter, self.text())
