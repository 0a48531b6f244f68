"""Draws the rows of the palette: what it is called, where it belongs, and at the right the keys that do the same."""

from PySide6.QtCore import QObject, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from desktop_agent.ui.palette.entries import PaletteEntry, PaletteRow
from desktop_agent.ui.palette.list_model import PaletteRows
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.widgets.emphasis import draw_emphasised
from desktop_agent.ui.widgets.rows import RIGHT, AnyIndex, FocusRing, RowDelegate, draw_ground, draw_line

_LEAST_GROUP = 24.0
"""Less room than this shows nothing of a group that could be read."""


class PaletteDelegate(RowDelegate):
    """Draws one row."""

    def __init__(self, model: PaletteRows, theme: Theme, ring: FocusRing, parent: QObject) -> None:
        super().__init__(theme, ring, parent)
        self._model = model

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self._model.row_at(index.row())
        rect = QRectF(option.rect)
        painter.save()
        if row.entry is not None:
            self._draw_entry(painter, rect, row, row.entry, option)
        else:
            font = self.fonts.text if row.is_note else self.fonts.small_strong
            at = rect.adjusted(Space.S, 0 if row.is_note else Space.XS, -Space.S, 0)
            draw_line(painter, at, row.text, font, self.theme.colour("muted"))
        painter.restore()

    def _draw_entry(
        self, painter: QPainter, rect: QRectF, row: PaletteRow, entry: PaletteEntry, option: QStyleOptionViewItem
    ) -> None:
        muted = self.theme.colour("muted")
        colour = self.theme.colour("text")
        if entry.is_choice:
            colour = draw_ground(painter, self.theme, option, self.ring)
        area = rect.adjusted(Space.S, 0, -Space.S, 0)
        if entry.keys:
            font = self.theme.code_font(TypeSize.HEAD)
            draw_line(painter, area, entry.keys, font, muted, RIGHT)
            area.setRight(area.right() - QFontMetricsF(font).horizontalAdvance(entry.keys) - Space.M)
        area.setLeft(
            area.left()
            + draw_emphasised(painter, self.theme, area, entry.title, row.title_spans, colour, self.fonts.text)
            + Space.S
        )
        if row.has_group and area.width() > _LEAST_GROUP:
            mode = Qt.TextElideMode.ElideMiddle if entry.kind == "file" else Qt.TextElideMode.ElideRight
            shown = QFontMetricsF(self.fonts.small).elidedText(entry.group, mode, area.width())
            spans = row.group_spans if shown == entry.group else ()
            draw_emphasised(painter, self.theme, area, shown, spans, muted, self.fonts.small)
