"""Column plots, bar plots and their legend. The current item follows mouse and keyboard (ADR 22)."""

import math
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFocusEvent, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.usage.usage_figures import NOTHING, BarData, ColumnData, PlotBar, PlotColumn
from desktop_agent.ui.widgets.focus import draw_focus_ring
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import hbox, set_names, vbox
from desktop_agent.ui.widgets.rows import KEYBOARD_REASONS, LEFT, RIGHT, draw_line
from desktop_agent.ui.wording import plain_tooltip

_MIDDLE = (Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine).value
AXIS_TEXT = 18

Data = TypeVar("Data", ColumnData, BarData)


class Plot(QWidget, Generic[Data]):
    """Draws the items of its data. The current item is the item under the mouse, otherwise the item chosen by key."""

    current_changed = Signal(int)  # the number of the item from 0; -1 for none

    def __init__(self, theme: Theme, *, previous: Qt.Key, following: Qt.Key) -> None:
        super().__init__()
        self.theme = theme
        self._data: Data | None = None
        self._previous, self._following = previous, following
        self._chosen = self._hovered = -1
        self._is_keyboard = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._take()
        theme.changed.connect(self._take)

    @property
    def current(self) -> int:
        return self._hovered if self._hovered >= 0 else self._chosen

    def show_data(self, data: Data) -> None:
        self._data = data
        self._chosen = self._hovered = -1
        self.current_changed.emit(-1)
        self.update()

    def count(self) -> int:
        raise NotImplementedError

    def words(self) -> tuple[str, str]:
        """Return a short and a full description of the current item, or of all items."""
        raise NotImplementedError

    def item_at(self, point: QPointF) -> int:
        """Return the number of the item at a point; -1 for none."""
        raise NotImplementedError

    def draw_ring(self, painter: QPainter) -> None:
        if self._is_keyboard and self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            draw_focus_ring(painter, QRectF(self.rect()), self.colour("accent"))

    def draw_text(self, painter: QPainter, area: QRectF, text: str, colour: str, where: Qt.AlignmentFlag) -> None:
        painter.setFont(self.font_)
        painter.setPen(self.colour(colour))
        if self.metrics.horizontalAdvance(text) > area.width() + 1:
            text = self.metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(area.width()) + 1)
        painter.drawText(area, where.value | _MIDDLE, text)

    def colour(self, role: str) -> QColor:
        if (found := self._colours.get(role)) is None:
            self._colours[role] = found = self.theme.colour(role)
        return found

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set(self._chosen, self.item_at(event.position()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._is_keyboard = False
        at = self.item_at(event.position())
        self._set(-1 if at == self._chosen else at, at)

    def leaveEvent(self, event: QEvent) -> None:
        self._set(self._chosen, -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = self.count() - 1
        match event.key():
            case self._previous:
                chosen = max(0, self._chosen - 1) if self._chosen >= 0 else last
            case self._following:
                chosen = min(last, self._chosen + 1)
            case Qt.Key.Key_Home:
                chosen = min(0, last)
            case Qt.Key.Key_End:
                chosen = last
            case _:
                super().keyPressEvent(event)
                return
        self._is_keyboard = True
        self._set(chosen, -1)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._is_keyboard = event.reason() in KEYBOARD_REASONS
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def _take(self) -> None:
        self._colours: dict[str, QColor] = {}
        self.font_ = self.theme.text_font(TypeSize.HEAD)
        self.metrics = QFontMetrics(self.font_)
        self.update()

    def _set(self, chosen: int, hovered: int) -> None:
        before = self.current
        self._chosen, self._hovered = chosen, hovered
        if self.current != before:
            self.current_changed.emit(self.current)
            self.update()


HEIGHT = 148
_AXIS_WIDTH = 52
_TICK_WIDTH = 56
_FULLEST = 0.72
_WIDEST = 36.0
_UNKNOWN_HEIGHT = 9.0
_LEAST_HEIGHT = 1.5
_RIGHT = Qt.AlignmentFlag.AlignRight
_CENTRE = Qt.AlignmentFlag.AlignHCenter


class ColumnPlot(Plot[ColumnData]):
    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, previous=Qt.Key.Key_Left, following=Qt.Key.Key_Right)

    def words(self) -> tuple[str, str]:
        if (data := self._data) is None or self.current < 0:
            return (data.total, data.total) if data is not None else ("", "")
        column = data.columns[self.current]
        named = zip(data.series, column.parts, column.texts, strict=True)
        parts = [f"{series.name} {text}" for series, part, text in named if part or column.unknown]
        if column.unknown:
            parts.append(self.tr("price of {0} not known").format(column.unknown))
        return f"{column.name} · {column.total}", ", ".join([f"{column.name}: {column.total}", *parts])

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
        with QPainter(self) as painter:
            if (data := self._data) is not None:
                area = self._area()
                self._draw_axis(painter, area, data)
                step = area.width() / max(1, len(data.columns))
                every = max(1, math.ceil(_TICK_WIDTH / step))
                for number, column in enumerate(data.columns):
                    place = QRectF(area.left() + number * step, area.top(), step, area.height())
                    is_current = number == self.current
                    self._draw_column(painter, place, column, data, is_current=is_current)
                    # The last tick is today. It is always named, and earlier ticks at even distances.
                    if (len(data.columns) - 1 - number) % every == 0:
                        middle = min(place.center().x(), self.width() - _TICK_WIDTH / 2)
                        label = QRectF(middle - _TICK_WIDTH / 2, place.bottom() + Space.XS, _TICK_WIDTH, AXIS_TEXT)
                        self.draw_text(painter, label, column.tick, "text" if is_current else "muted", _CENTRE)
            self.draw_ring(painter)

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


def draw_unknown(painter: QPainter, area: QRectF, theme: Theme) -> None:
    painter.setPen(QPen(theme.colour("muted"), 1))
    painter.setBrush(QBrush(theme.colour("muted"), Qt.BrushStyle.BDiagPattern))
    painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))


ROW = 24
_BAR = 10.0
_DOT = 4.0
_NAME_SHARE = 0.34
_TEXT_WIDTH = 118.0
_LEFT = Qt.AlignmentFlag.AlignLeft


class BarPlot(Plot[BarData]):
    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, previous=Qt.Key.Key_Up, following=Qt.Key.Key_Down)

    def show_data(self, data: BarData) -> None:
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if data.bars else Qt.FocusPolicy.NoFocus)
        super().show_data(data)
        self.updateGeometry()

    def words(self) -> tuple[str, str]:
        if (data := self._data) is None or self.current < 0:
            said = "" if data is None else data.note if data.bars else data.nothing
            return said, said
        bar = data.bars[self.current]
        return bar.detail, f"{bar.name}: {bar.detail}"

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
        with QPainter(self) as painter:
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
        """Return the x coordinate of the range's end."""
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


WIDTH = 248
_ROW = 20
_SIGN = 10.0


class Legend(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: tuple[tuple[str, str, str], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_values(self, data: ColumnData, current: int) -> None:
        column = data.columns[current] if 0 <= current < len(data.columns) else None
        values = column.texts if column is not None else [series.total for series in data.series]
        rows = [(series.colour, series.name, value) for series, value in zip(data.series, values, strict=True)]
        if data.unknown:
            unknown = data.unknown if column is None else column.unknown or NOTHING
            rows.append(("", self.tr("Price not known"), unknown))
        self._rows = tuple(reversed(rows))  # in the order in which they are stacked
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
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


class PlotCard(QWidget):
    def __init__(self, title: str, plot: Plot[Any], object_name: str) -> None:
        super().__init__()
        self._plot = plot
        set_names(plot, object_name, title)
        self.is_over_time = isinstance(plot, ColumnPlot)
        self._legend = Legend(plot.theme) if self.is_over_time else None
        heading = make_label(title, role="strong")
        heading.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self._said = ElidedLabel(role="secondary", takes_room=True)
        self._data: ColumnData | BarData | None = None
        plot.current_changed.connect(self._on_current)
        if self._legend is not None:
            head = hbox(heading, (self._said, 1), spacing=Space.M)
            vbox(head, hbox((plot, 1), self._legend, spacing=Space.M), on=self, spacing=Space.XS)
        else:
            vbox(heading, self._said, plot, on=self, spacing=Space.XS)

    def show_data(self, data: ColumnData | BarData) -> None:
        self._data = data
        self._plot.show_data(data)

    def _on_current(self, current: int) -> None:
        if self._legend is not None and isinstance(self._data, ColumnData):
            self._legend.show_values(self._data, current)
        said, in_full = self._plot.words()
        self._said.setText(said.replace("\N{NARROW NO-BREAK SPACE}", " "))  # a label would name the invisible character
        self._said.setToolTip(plain_tooltip(said))  # the full text, because the label may elide it
        self._plot.setAccessibleDescription(in_full)
