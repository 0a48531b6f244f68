"""The model's thinking: one quiet line that the user can unfold."""

from typing import ClassVar

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter

from desktop_agent.core.transcript import TextEntry
from desktop_agent.ui.chat.entries.base import EntryPlace
from desktop_agent.ui.chat.entries.fold import INDENT, LabelLine
from desktop_agent.ui.chat.entries.text import MarkdownWidget
from desktop_agent.ui.theme import Height, Space


class ThinkingWidget(MarkdownWidget):
    """Thinking, folded until it is asked for."""

    is_folding: ClassVar[bool] = True

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place, ink="muted")
        self._line = LabelLine(self)
        self.column_origin = QPoint(INDENT, Height.SMALL_BUTTON + Space.XS)
        self.refresh()

    def refresh(self) -> None:
        if self.is_column_shown:
            self.read()
        self._line.say(self.tr("Thinking…") if self.row.entry_as(TextEntry).is_open else self.tr("Thought"))

    def set_width(self, width: int) -> None:
        line_width = self._line.fontMetrics().horizontalAdvance(self.tr("Thinking…")) + 3 * Space.L
        self._line.setGeometry(0, 0, min(width, line_width), Height.SMALL_BUTTON)
        super().set_width(width)

    def entry_height(self) -> int:
        return super().entry_height() if self.is_column_shown else Height.SMALL_BUTTON

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        self._line.paint_rule(painter)
