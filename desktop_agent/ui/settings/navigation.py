"""The names of the sections, at the left of the settings dialog."""

from collections.abc import Iterable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QFrame, QListWidget, QStyledItemDelegate, QStyleOptionViewItem

from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.rows import FocusRing, draw_ground


class Navigation(QListWidget):
    """A short list; its current row is the section that is shown."""

    def __init__(self, theme: Theme, sections: Iterable[str]) -> None:
        super().__init__()
        self.setObjectName("settingsSections")
        self.setAccessibleName(self.tr("Sections"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setItemDelegate(_Delegate(theme, FocusRing(self), self))
        self.addItems(list(sections))
        theme.changed.connect(self.viewport().update)


class _Delegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, ring: FocusRing, parent: QListWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ring = ring

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, Height.LIST_ROW)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        painter.save()
        colour = draw_ground(painter, self._theme, option, self._ring)
        painter.setFont(self._theme.text_font())
        painter.setPen(colour)
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(option.rect.adjusted(Space.S, 0, -Space.S, 0), middle, str(index.data()))
        painter.restore()
