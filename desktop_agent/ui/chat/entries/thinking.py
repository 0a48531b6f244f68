"""The model's thinking: one quiet line that the user can unfold."""

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter

from desktop_agent.core.transcript import TextEntry
from desktop_agent.ui.chat.entries.base import EntryPlace
from desktop_agent.ui.chat.entries.fold import INDENT, LabelLine
from desktop_agent.ui.chat.entries.text import MarkdownWidget
from desktop_agent.ui.theme import Height, Space


class ThinkingWidget(MarkdownWidget):
    """Thinking, folded until it is asked for."""

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place, ink="muted")
        self._line = LabelLine(place.styles, self)
        self._line.clicked.connect(self._on_clicked)
        self.column_origin = QPoint(INDENT, Height.SMALL_BUTTON + Space.XS)
        self.refresh()

    @property
    def is_column_shown(self) -> bool:
        return bool(self.row.is_unfolded)

    def refresh(self) -> None:
        is_open = self.row.entry_as(TextEntry).is_open
        if self.is_column_shown:
            self.read()
        self._line.say(self.tr("Thinking…") if is_open else self.tr("Thought"), is_unfolded=self.is_column_shown)
        self.setAccessibleName(self._line.text())

    def set_width(self, width: int) -> None:
        line_width = self._line.fontMetrics().horizontalAdvance(self.tr("Thinking…")) + 3 * Space.L
        self._line.setGeometry(0, 0, min(width, line_width), Height.SMALL_BUTTON)
        self.column.set_width(width - INDENT)

    def entry_height(self) -> int:
        if not self.is_column_shown:
            return Height.SMALL_BUTTON
        return self.column_origin.y() + self.column.height

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self.is_column_shown:
            self._line.paint_rule(painter, self.column_origin.y(), self.height())

    def _on_clicked(self) -> None:
        self.row.is_unfolded = not self.row.is_unfolded
        self.refresh()
        self.resized.emit()
