"""Rows with a bar or a range each: times, errors or costs by tool, model or folder."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.usage.column_plot import draw_unknown
from desktop_agent.ui.usage.plot import AXIS_TEXT, Plot
from desktop_agent.ui.usage.plot_data import BarData, PlotBar

ROW = 24
_BAR = 10.0
_DOT = 4.0
_NAME_SHARE = 0.34
_TEXT_WIDTH = 118.0
_LEFT = Qt.AlignmentFlag.AlignLeft
_CENTRE = Qt.AlignmentFlag.AlignHCenter


class BarPlot(Plot):
    """Draws `BarData`. Up and down go from one to the next."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, previous=Qt.Key.Key_Up, following=Qt.Key.Key_Down)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._data: BarData | None = None

    def show_bars(self, data: BarData) -> None:
        """Draw these from now on."""
        self._data = data
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if data.bars else Qt.FocusPolicy.NoFocus)
        self.updateGeometry()
        self.forget_current()

    def count(self) -> int:
        return len(self._data.bars) if self._data is not None else 0

    def item_at(self, point: QPointF) -> int:
        row = int((point.y() - Space.XS) // ROW)
        return row if 0 <= row < self.count() else -1

    def sizeHint(self) -> QSize:
        return QSize(360, max(1, self.count()) * ROW + AXIS_TEXT + 2 * Space.XS)

    def minimumSizeHint(self) -> QSize:
        return QSize(280, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if (data := self._data) is not None and data.bars:
            area = self._area()
            self._draw_axis(painter, area, data)
            for number, bar in enumerate(data.bars):
                self._draw_row(painter, area, number, bar, data)
        elif data is not None:
            area = QRectF(Space.S, Space.XS, self.width() - Space.S, ROW)
            self.draw_text(painter, area, data.nothing, "muted", _LEFT)
        self.draw_ring(painter)
        painter.end()

    def _area(self) -> QRectF:
        left = self.width() * _NAME_SHARE
        return QRectF(left, Space.XS, max(20.0, self.width() - left - _TEXT_WIDTH), self.count() * ROW)

    def _draw_axis(self, painter: QPainter, area: QRectF, data: BarData) -> None:
        right = -1.0
        for number, value in enumerate(data.scale.ticks):
            x = area.left() + data.scale.place(value) * area.width()
            painter.setPen(QPen(self.colour("border" if number else "control_border"), 1))
            painter.drawLine(QPointF(round(x) + 0.5, area.top()), QPointF(round(x) + 0.5, area.bottom()))
            text = data.tick_text(value)
            width = self.metrics.horizontalAdvance(text) + 2.0
            if x - width / 2 > right + Space.S:
                label = QRectF(x - width / 2, area.bottom() + Space.XS, width, AXIS_TEXT)
                self.draw_text(painter, label, text, "muted", _CENTRE)
                right = x + width / 2

    def _draw_row(self, painter: QPainter, area: QRectF, number: int, bar: PlotBar, data: BarData) -> None:
        row = QRectF(0, area.top() + number * ROW, self.width(), ROW)
        if number == self.current:
            painter.fillRect(row, self.colour("sunken"))
        middle = row.center().y()
        name = QRectF(Space.S, row.top(), area.left() - 2 * Space.S, ROW)
        self.draw_text(painter, name, bar.name, "text", _LEFT)
        end = area.left()
        if bar.value is None:
            end += _BAR * 2
            draw_unknown(painter, QRectF(area.left(), middle - _BAR / 2, _BAR * 2, _BAR), self.theme)
        elif bar.end is None:
            end += max(1.5 if bar.value else 0.0, data.scale.place(bar.value) * area.width())
            filled = QRectF(area.left(), middle - _BAR / 2, end - area.left(), _BAR)
            painter.fillRect(filled, self.colour(data.colour))
        else:
            end = self._draw_range(painter, area, bar.value, bar.end, middle, data)
        text = QRectF(end + Space.S, row.top(), self.width() - end - Space.S, ROW)
        self.draw_text(painter, text, bar.text, "muted", _LEFT)

    def _draw_range(
        self, painter: QPainter, area: QRectF, value: float, end: float, middle: float, data: BarData
    ) -> float:
        """Draw a full dot, a line and an empty dot; return where they end."""
        colour = self.colour(data.colour)
        first, last = (area.left() + data.scale.place(one) * area.width() for one in (value, end))
        painter.setPen(QPen(colour, 2))
        painter.drawLine(QPointF(first, middle), QPointF(last, middle))
        painter.setBrush(self.colour("surface"))
        painter.drawEllipse(QPointF(last, middle), _DOT, _DOT)
        painter.setBrush(colour)
        painter.drawEllipse(QPointF(first, middle), _DOT, _DOT)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        return last + _DOT
