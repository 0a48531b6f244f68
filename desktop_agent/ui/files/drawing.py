"""Draws the rows of the file tree, and what they share with the rows of matches."""

from PySide6.QtCore import QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPolygonF
from PySide6.QtWidgets import QStyleOptionViewItem

from desktop_agent.ui.files.file_words import COLOUR_OF_STATE, LETTERS, displayed
from desktop_agent.ui.files.marks import FileMark
from desktop_agent.ui.files.model import FileTreeModel
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.rows import AnyIndex, FocusRing, RowDelegate, draw_ground, draw_line

INDENT = 18
"""One level of folders, in device-independent pixels, like all sizes here."""

_TRIANGLE = 7.0
_NAME_AFTER_TRIANGLE = 14.0
_DIAMOND = 8.0


class FileDelegate(RowDelegate):
    """What both lists have in common: the marks at the right edge."""

    def draw_mark(self, painter: QPainter, rect: QRectF, mark: FileMark, *, is_folder: bool) -> QRectF:
        """Draw letter and diamond at the right edge of `rect`, and return what is left of it.

        A folder has the letter of the strongest change in it, less bold: a colour alone would not say which it is.
        """
        right = rect.right()
        change = (mark.below or mark.state) if is_folder else mark.state
        if change is not None and change in LETTERS:
            width = QFontMetricsF(self.fonts.small_strong).horizontalAdvance("M")
            painter.setFont(self.fonts.small if is_folder else self.fonts.small_strong)
            painter.setPen(self.theme.colour(COLOUR_OF_STATE[change]))
            column = QRectF(right - width, rect.top(), width, rect.height())
            painter.drawText(column, Qt.AlignmentFlag.AlignCenter, LETTERS[change])
            right -= width + Space.XS
        if mark.is_touched:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.theme.colour("accent"))
            painter.drawPolygon(_diamond(QPointF(right - _DIAMOND / 2, rect.center().y())))
            right -= _DIAMOND + Space.XS
        return QRectF(rect.left(), rect.top(), right - Space.XS - rect.left(), rect.height())


class TreeDelegate(FileDelegate):
    """Draws one row of the tree: triangle, name, marks."""

    def __init__(self, model: FileTreeModel, theme: Theme, ring: FocusRing, parent: QObject) -> None:
        super().__init__(theme, ring, parent)
        self._model = model

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self._model.row_at(index.row())
        painter.save()
        colour = draw_ground(painter, self.theme, option, self.ring)
        if row.mark.is_ignored:
            colour = self.theme.colour("faint")
        rect = QRectF(option.rect).adjusted(Space.S + row.depth * INDENT, 0, -Space.S, 0)
        if row.is_dir:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            painter.drawPolygon(_triangle(QPointF(rect.left() + _TRIANGLE / 2, rect.center().y()), is_open=row.is_open))
            rect.setLeft(rect.left() + _NAME_AFTER_TRIANGLE)
        rect = self.draw_mark(painter, rect, row.mark, is_folder=row.is_dir)
        rect = self._draw_note(painter, rect, row.problem)
        name = f"{displayed(row.name)} →" if row.is_symlink else displayed(row.name)
        draw_line(painter, rect, name, self.fonts.text, colour)
        painter.restore()

    def _draw_note(self, painter: QPainter, rect: QRectF, note: str) -> QRectF:
        if not note:
            return rect
        width = min(QFontMetricsF(self.fonts.small).horizontalAdvance(note) + 1, rect.width() * 0.6)
        column = QRectF(rect.right() - width, rect.top(), width, rect.height())
        draw_line(painter, column, note, self.fonts.small, self.theme.colour("danger_text"))
        return rect.adjusted(0, 0, -width - Space.S, 0)


def _triangle(centre: QPointF, *, is_open: bool) -> QPolygonF:
    half = _TRIANGLE / 2
    x, y = centre.x(), centre.y()
    if is_open:
        return QPolygonF([QPointF(x - half, y - half + 1), QPointF(x + half, y - half + 1), QPointF(x, y + half)])
    return QPolygonF([QPointF(x - half + 1, y - half), QPointF(x - half + 1, y + half), QPointF(x + half, y)])


def _diamond(centre: QPointF) -> QPolygonF:
    half, x, y = _DIAMOND / 2, centre.x(), centre.y()
    return QPolygonF([QPointF(x, y - half), QPointF(x + half, y), QPointF(x, y + half), QPointF(x - half, y)])
