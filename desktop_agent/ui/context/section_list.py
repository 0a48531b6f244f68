"""The parts of a request as a list: a dot in the colour of the bar, what it is, and how many tokens it takes."""

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyleOptionViewItem,
)

from desktop_agent.core.protocol.model import ContextSection
from desktop_agent.ui.context.context_words import COLOURS, section_name
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.context_meter import counted
from desktop_agent.ui.widgets.rows import AnyIndex, RowDelegate, draw_ground, set_up_list

_DOT = 8
_DATA = Qt.ItemDataRole.UserRole


class SectionList(QListWidget):
    """One row per part.

    Signals:
        section_chosen: the user wants to read this part (`ContextSection`).
    """

    section_chosen = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("contextSections")
        self.setAccessibleName(self.tr("What the model sees, part by part"))
        self.setItemDelegate(_Row(theme, set_up_list(self), self))
        self.setFixedWidth(240)
        self.currentItemChanged.connect(self._on_current)

    def show_sections(self, sections: tuple[ContextSection, ...]) -> None:
        """List these; the one that was chosen stays so."""
        chosen = self.chosen()
        self.clear()
        for section in sections:
            item = QListWidgetItem(section_name(section))
            item.setData(_DATA, section)
            words = self.tr("{0}, {1} tokens").format(item.text(), counted(section.tokens))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, words)
            self.addItem(item)
            if chosen is not None and (section.kind, section.name) == (chosen.kind, chosen.name):
                self.setCurrentItem(item)
        if self.currentRow() < 0 and sections:
            largest = max(range(len(sections)), key=lambda index: sections[index].tokens)
            self.setCurrentRow(largest)

    def choose(self, kind: str) -> None:
        """Select the first part of this kind, if there is one."""
        for row in range(self.count()):
            if self.item(row).data(_DATA).kind == kind:
                self.setCurrentRow(row)
                return

    def chosen(self) -> ContextSection | None:
        """Return the part that is selected."""
        return self.item(self.currentRow()).data(_DATA) if self.currentRow() >= 0 else None

    def _on_current(self) -> None:
        if (section := self.chosen()) is not None:
            self.section_chosen.emit(section)


class _Row(RowDelegate):
    """Draws a part with its tokens: `● System prompt              938`."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        section: ContextSection = index.data(_DATA)
        colour = self.theme.colour
        area = QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = draw_ground(painter, self.theme, option, self.ring)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(COLOURS[section.kind]))
        dot = QRectF(area.left() + Space.S, area.center().y() - _DOT / 2, _DOT, _DOT)
        painter.drawEllipse(dot)
        painter.setFont(self.fonts.text)
        inner = area.adjusted(Space.S + _DOT + Space.S, 0, -Space.S, 0)
        tokens = counted(section.tokens)
        metrics = painter.fontMetrics()
        painter.setPen(colour("muted"))
        painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, tokens)
        painter.setPen(ink)
        room = int(inner.width()) - metrics.horizontalAdvance(tokens) - Space.S
        name = metrics.elidedText(section_name(section), Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter, name)
        painter.restore()
