"""Draws what a search found: a session's title, and one line for each place in it, with the match marked."""

from PySide6.QtCore import QObject, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from desktop_agent.ui.sessions.search.found_model import FoundModel, FoundRow
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.widgets.rows import RIGHT, AnyIndex, FocusRing, RowDelegate, draw_ground, draw_line

_HEADING = 34
_KIND_WIDTH = 66
_DETAIL_GAP = 12


class FoundDelegate(RowDelegate):
    """One line a row."""

    def __init__(self, model: FoundModel, theme: Theme, ring: FocusRing, parent: QObject) -> None:
        super().__init__(theme, ring, parent, TypeSize.SECONDARY)
        self._model = model

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, _HEADING if self._model.row_at(index.row()).hit is None else Height.LIST_ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self._model.row_at(index.row())
        rect = QRectF(option.rect)
        painter.save()
        if row.hit is None:
            line = rect.adjusted(Space.S, Space.S, -Space.S, 0)
            self._draw_detail(painter, line, row)
            draw_line(painter, line, row.title, self.fonts.strong, self.theme.colour("text"))
        else:
            colour = draw_ground(painter, self.theme, option, self.ring)
            line = rect.adjusted(Space.S, 0, -Space.S, 0)
            self._draw_detail(painter, line, row)
            kind = QRectF(line.left(), line.top(), _KIND_WIDTH, line.height())
            draw_line(painter, kind, row.kind, self.fonts.small, self.theme.colour("muted"))
            line.setLeft(kind.right())
            self._draw_snippet(painter, line, row, colour)
        painter.restore()

    def _draw_detail(self, painter: QPainter, line: QRectF, row: FoundRow) -> None:
        """Draw what stands at the right, and take its room from the line."""
        draw_line(painter, line, row.detail, self.fonts.small, self.theme.colour("muted"), RIGHT)
        taken = QFontMetricsF(self.fonts.small).horizontalAdvance(row.detail)
        line.setRight(line.right() - min(taken + _DETAIL_GAP, line.width() / 2))

    def _draw_snippet(self, painter: QPainter, line: QRectF, row: FoundRow, colour: QColor) -> None:
        """Draw the text, marked where it matches, up to the end of the line."""
        assert row.hit is not None
        painter.setClipRect(line)
        left, done = line.left(), 0
        for begin, end in (*row.hit.marks, (len(row.hit.snippet), len(row.hit.snippet))):
            left = self._draw_part(painter, line, left, row.hit.snippet[done:begin], colour, is_match=False)
            left = self._draw_part(painter, line, left, row.hit.snippet[begin:end], colour, is_match=True)
            done = end
            if left >= line.right():
                break

    def _draw_part(
        self, painter: QPainter, line: QRectF, left: float, text: str, colour: QColor, *, is_match: bool
    ) -> float:
        """Draw a part of the text from `left` on; return where it ends."""
        font = self.fonts.strong if is_match else self.fonts.text
        width = QFontMetricsF(font).horizontalAdvance(text)
        rect = QRectF(left, line.top(), max(0.0, min(width, line.right() - left)), line.height())
        if is_match and text:
            ground = QRectF(rect.left() - 1, rect.center().y() - 9, rect.width() + 2, 18)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.theme.colour("found_current" if self.theme.colours.is_dark else "warning_bg"))
            painter.drawRoundedRect(ground, 3, 3)
            colour = self.theme.colour("text")
        painter.setFont(font)
        painter.setPen(colour)
        shown = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, rect.width() + 0.5)
        baseline = rect.center().y() + (QFontMetricsF(font).ascent() - QFontMetricsF(font).descent()) / 2
        painter.drawText(QPointF(left, baseline), shown)
        return left + width
