"""Paints rows of a screen: grounds, characters in their cells, what is selected, the cursor."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from desktop_agent.core.terminal.rows import PLAIN, CellRun, KeptRow, PrintedStyle, width
from desktop_agent.ui.terminal.formats import LookFormats
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.theme.contrast import legible

_SAMPLE = "0" * 80


class RowPainter:
    """The look of one state of the theme, at one size of text."""

    def __init__(self, theme: Theme) -> None:
        colours = theme.colours
        self._font = theme.code_font(theme.sizes.code, grows=False)
        self._fonts: dict[PrintedStyle, QFont] = {}
        metrics = QFontMetricsF(self._font)
        self.cell_width = metrics.horizontalAdvance(_SAMPLE) / len(_SAMPLE)
        self.row_height = float(round(metrics.height()) + 1)
        self._ascent = metrics.ascent()
        self.text, self.ground = colours.text, colours.surface
        self._formats = LookFormats(colours, colours.surface)
        self._selected_ground = colours.accent_weak
        self._selected_text = QColor(legible(colours.text, colours.accent_weak, colours.text_ratio))
        self._accent = theme.colour("accent")
        self._on_accent = legible(colours.on_accent, colours.accent, colours.text_ratio)

    def paint_row(
        self, painter: QPainter, left: float, top: float, row: KeptRow, selected: tuple[int, int | None] | None
    ) -> None:
        """Paint the cells of a row; `selected` are those on the ground of a selection."""
        cells = len(row.cells)
        for run in _all_runs(row):
            text, ground = self._formats.colours(run.look)
            if ground:
                area = QRectF(left + run.start * self.cell_width, top, 0, self.row_height)
                area.setWidth(run.length * self.cell_width)
                painter.fillRect(area, QColor(ground))
            self._paint_text(painter, left, top, row, run, QColor(text))
        if selected is not None:
            start, end = selected[0], max(cells + 1, selected[0] + 1) if selected[1] is None else selected[1]
            area = QRectF(left + start * self.cell_width, top, (end - start) * self.cell_width, self.row_height)
            painter.fillRect(area, QColor(self._selected_ground))
            inside = CellRun(start, min(end, cells) - start, PLAIN)
            self._paint_text(painter, left, top, row, inside, self._selected_text)

    def paint_cursor(self, painter: QPainter, left: float, top: float, cell: str, *, is_active: bool) -> None:
        """Paint the cursor on a cell: full where the keyboard is, else its outline."""
        cells = max(1, width(cell[0])) if cell else 1
        area = QRectF(left, top, cells * self.cell_width, self.row_height)
        if not is_active:
            painter.setPen(self._accent)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))
            return
        painter.fillRect(area, self._accent)
        painter.setPen(QColor(self._on_accent))
        painter.setFont(self._font)
        painter.drawText(QPointF(left, top + self._ascent), cell)

    def paint_composed(self, painter: QPainter, left: float, top: float, text: str) -> None:
        """Paint what an input method is composing."""
        length = QFontMetricsF(self._font).horizontalAdvance(text)
        painter.fillRect(QRectF(left, top, length, self.row_height), QColor(self._selected_ground))
        painter.setPen(self._selected_text)
        painter.setFont(self._font)
        painter.drawText(QPointF(left, top + self._ascent), text)
        bottom = top + self.row_height - 1
        painter.drawLine(QPointF(left, bottom), QPointF(left + length, bottom))

    def _paint_text(
        self, painter: QPainter, left: float, top: float, row: KeptRow, run: CellRun, colour: QColor
    ) -> None:
        text = row.text(run.start, run.start + run.length)
        if (not text or text.isspace()) and not (run.look.is_underlined or run.look.is_struck):
            return
        painter.setPen(colour)
        painter.setFont(self._font_of(run.look))
        base = top + self._ascent
        if text.isascii():
            painter.drawText(QPointF(left + run.start * self.cell_width, base), text)
            return
        for at in range(run.start, run.start + run.length):  # another font may have other widths
            if (cell := row.cells[at]) and cell != " ":
                painter.drawText(QPointF(left + at * self.cell_width, base), cell)

    def _font_of(self, look: PrintedStyle) -> QFont:
        plain = look._replace(foreground="", background="", is_dim=False, is_inverse=False)
        font = self._fonts.get(plain)
        if font is None:
            font = self._fonts[plain] = QFont(self._font)
            font.setBold(look.is_bold)
            font.setItalic(look.is_italic)
            font.setUnderline(look.is_underlined)
            font.setStrikeOut(look.is_struck)
        return font


def _all_runs(row: KeptRow) -> list[CellRun]:
    """Return the runs of a row with those between them, which look as usual."""
    found: list[CellRun] = []
    at = 0
    for run in row.runs:
        if run.start > at:
            found.append(CellRun(at, run.start - at, PLAIN))
        found.append(run)
        at = run.start + run.length
    if at < len(row.cells):
        found.append(CellRun(at, len(row.cells) - at, PLAIN))
    return found
