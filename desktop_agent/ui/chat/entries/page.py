"""What stands for messages that are not loaded: as high as they are, and next to nothing to see."""

from PySide6.QtCore import QPointF, QRect
from PySide6.QtGui import QPainter

from desktop_agent.ui.chat.entries.base import EntryPlace, EntryWidget

_STEP = 360
"""How far apart the words stand, so that some are in view wherever one is."""


class PageWidget(EntryWidget):
    """Keeps the place of a page until it is loaded, which takes a moment."""

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place)
        self._text = self.tr("Earlier messages")
        self.refresh()

    def refresh(self) -> None:
        self.setAccessibleName(self._text)

    def set_width(self, width: int) -> None:
        self.update()

    def entry_height(self) -> int:
        return max(1, self.row.height_hint - self.styles.entry_gap)

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        painter.setFont(self.styles.secondary)
        painter.setPen(self.styles.colour("faint"))
        width = painter.fontMetrics().horizontalAdvance(self._text)
        for y in range(min(self.height(), _STEP) // 2, self.height() - _STEP // 4 + 1, _STEP):
            painter.drawText(QPointF((self.width() - width) / 2, y), self._text)
