"""Columns over time, each made of parts: cost or tokens by day, model upon model."""

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.usage.plot import AXIS_TEXT, Plot
from desktop_agent.ui.usage.plot_data import ColumnData, PlotColumn

HEIGHT = 148
_AXIS_WIDTH = 52
_TICK_WIDTH = 56
"""Room for the name of a column below it."""
_FULLEST = 0.72
"""How much of its room a column takes."""
_WIDEST = 36.0
_UNKNOWN_HEIGHT = 9.0
_LEAST_HEIGHT = 1.5
"""Of a part that is more than nothing."""
_RIGHT = Qt.AlignmentFlag.AlignRight
_CENTRE = Qt.AlignmentFlag.AlignHCenter


class ColumnPlot(Plot):
    """Draws `ColumnData`. Left and right go from one to the next."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, previous=Qt.Key.Key_Left, following=Qt.Key.Key_Right)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._data: ColumnData | None = None

    def show_columns(self, data: ColumnData) -> None:
        """Draw these from now on."""
        self._data = data
        self.forget_current()

    def count(self) -> int:
        return len(self._data.columns) if self._data is not None else 0

    def item_at(self, point: QPointF) -> int:
        area, count = self._area(), self.count()
        if not count or not area.adjusted(0, 0, 0, AXIS_TEXT).contains(point):
            return -1
        return min(count - 1, int((point.x() - area.left()) / (area.width() / count)))

    def sizeHint(self) -> QSize:
        return QSize(480, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if (data := self._data) is not None:
            area = self._area()
            self._draw_axis(painter, area, data)
            step = area.width() / max(1, len(data.columns))
            every = max(1, math.ceil(_TICK_WIDTH / step))
            for number, column in enumerate(data.columns):
                place = QRectF(area.left() + number * step, area.top(), step, area.height())
                self._draw_column(painter, place, column, data, is_current=number == self.current)
                # The last one is today: it is named, and those before it in even steps.
                if (len(data.columns) - 1 - number) % every == 0:
                    self._draw_tick(painter, place, column.tick, is_current=number == self.current)
        self.draw_ring(painter)
        painter.end()

    def _area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(_AXIS_WIDTH, Space.S, -Space.M, -AXIS_TEXT - Space.XS)

    def _draw_axis(self, painter: QPainter, area: QRectF, data: ColumnData) -> None:
        for number, value in enumerate(data.scale.ticks):
            y = area.bottom() - data.scale.place(value) * area.height()
            painter.setPen(QPen(self.colour("border" if number else "control_border"), 1))
            painter.drawLine(QPointF(area.left(), round(y) + 0.5), QPointF(area.right(), round(y) + 0.5))
            label = QRectF(0, y - AXIS_TEXT / 2, area.left() - Space.S, AXIS_TEXT)
            self.draw_text(painter, label, data.tick_text(value), "muted", _RIGHT)

    def _draw_column(
        self, painter: QPainter, place: QRectF, column: PlotColumn, data: ColumnData, *, is_current: bool
    ) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        if is_current:
            painter.fillRect(place, self.colour("sunken"))
        width = max(2.0, min(_WIDEST, place.width() * _FULLEST))
        left, bottom = place.center().x() - width / 2, place.bottom()
        gap = 1.0 if width > 4 else 0.0
        for series, value in zip(data.series, column.parts, strict=True):
            if value > 0:
                height = max(_LEAST_HEIGHT, data.scale.place(value) * place.height())
                shown = max(_LEAST_HEIGHT, height - gap)
                painter.fillRect(QRectF(left, bottom - shown, width, shown), self.colour(series.colour))
                bottom -= height
        if column.unknown:
            end = QRectF(left, bottom - _UNKNOWN_HEIGHT, width, _UNKNOWN_HEIGHT)
            draw_unknown(painter, end, self.theme)

    def _draw_tick(self, painter: QPainter, place: QRectF, text: str, *, is_current: bool) -> None:
        middle = min(place.center().x(), self.width() - _TICK_WIDTH / 2)
        label = QRectF(middle - _TICK_WIDTH / 2, place.bottom() + Space.XS, _TICK_WIDTH, AXIS_TEXT)
        self.draw_text(painter, label, text, "text" if is_current else "muted", _CENTRE)


def draw_unknown(painter: QPainter, area: QRectF, theme: Theme) -> None:
    """Draw the sign for what is not known: hatched, without a size of its own."""
    painter.setPen(QPen(theme.colour("muted"), 1))
    painter.setBrush(QBrush(theme.colour("muted"), Qt.BrushStyle.BDiagPattern))
    painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))
