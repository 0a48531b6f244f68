"""The names of a plot's series, with their values: of the current column, else of all."""

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.usage.column_plot import HEIGHT, draw_unknown
from desktop_agent.ui.usage.figure_words import NOTHING
from desktop_agent.ui.usage.plot_data import ColumnData
from desktop_agent.ui.widgets.rows import LEFT, RIGHT, draw_line

WIDTH = 248
_ROW = 20
_SIGN = 10.0


class Legend(QWidget):
    """A row for each series. It is drawn; the plot's own description says the same to those who do not see it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: tuple[tuple[str, str, str], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_values(self, data: ColumnData, current: int) -> None:
        """Show the values of the column `current`; of all columns when it is -1."""
        column = data.columns[current] if 0 <= current < len(data.columns) else None
        values = column.texts if column is not None else [series.total for series in data.series]
        rows = [
            (series.colour, series.name, value)
            for series, value in reversed(list(zip(data.series, values, strict=True)))  # as they lie upon each other
        ]
        if data.unknown:
            rows.insert(
                0, ("", self.tr("Price not known"), (column.unknown or NOTHING) if column is not None else data.unknown)
            )
        self._rows = tuple(rows)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self._theme.text_font(TypeSize.HEAD)
        for number, (colour, name, value) in enumerate(self._rows):
            row = QRectF(0, Space.XS + number * _ROW, self.width(), _ROW)
            sign = QRectF(0, row.center().y() - _SIGN / 2, _SIGN, _SIGN)
            if colour:
                painter.fillRect(sign, self._theme.colour(colour))
            else:
                draw_unknown(painter, sign, self._theme)
            painter.setFont(font)
            width = painter.fontMetrics().horizontalAdvance(value) + 1.0
            text, muted = self._theme.colour("text"), self._theme.colour("muted")
            draw_line(painter, row.adjusted(_SIGN + Space.S, 0, -width - Space.S, 0), name, font, muted, LEFT)
            draw_line(painter, row, value, font, text, RIGHT)
        painter.end()
