"""The names of the sections, at the left of the settings dialog."""

from collections.abc import Iterable

from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QListWidget, QStyleOptionViewItem

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.rows import LEFT, AnyIndex, RowDelegate, draw_ground, set_up_list


class SettingsNavigation(QListWidget):
    """A short list; its current row is the section that is shown."""

    def __init__(self, theme: Theme, sections: Iterable[str]) -> None:
        super().__init__()
        self.setObjectName("settingsSections")
        self.setAccessibleName(self.tr("Sections"))
        self._delegate = _Delegate(theme, set_up_list(self), self)
        self.setItemDelegate(self._delegate)
        self.addItems(list(sections))
        theme.changed.connect(self.viewport().update)

    @property
    def text_width(self) -> int:
        """How wide the longest name is with the room beside it: in some languages they are longer."""
        metrics = QFontMetrics(self._delegate.fonts.text)
        names = (self.item(row).text() for row in range(self.count()))
        return max(map(metrics.horizontalAdvance, names), default=0) + 2 * Space.S


class _Delegate(RowDelegate):
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        painter.save()
        painter.setPen(draw_ground(painter, self.theme, option, self.ring))
        painter.setFont(self.fonts.text)
        painter.drawText(option.rect.adjusted(Space.S, 0, -Space.S, 0), LEFT, str(index.data()))
        painter.restore()
