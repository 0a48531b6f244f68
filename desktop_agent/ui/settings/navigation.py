"""The names of the sections, at the left of the settings dialog."""

from collections.abc import Iterable

from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QListWidget, QStyleOptionViewItem

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.rows import LEFT, AnyIndex, RowDelegate, draw_ground, set_up_list


class Navigation(QListWidget):
    """A short list; its current row is the section that is shown."""

    def __init__(self, theme: Theme, sections: Iterable[str]) -> None:
        super().__init__()
        self.setObjectName("settingsSections")
        self.setAccessibleName(self.tr("Sections"))
        self.setItemDelegate(_Delegate(theme, set_up_list(self), self))
        self.addItems(list(sections))
        theme.changed.connect(self.viewport().update)


class _Delegate(RowDelegate):
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        painter.save()
        painter.setPen(draw_ground(painter, self.theme, option, self.ring))
        painter.setFont(self.fonts.text)
        painter.drawText(option.rect.adjusted(Space.S, 0, -Space.S, 0), LEFT, str(index.data()))
        painter.restore()
