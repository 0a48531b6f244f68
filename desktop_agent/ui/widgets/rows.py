"""Draws the rows of all lists: fonts, backgrounds, the focus ring, and emphasised parts."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Generic, TypeVar

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFocusEvent, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from desktop_agent.core.base.matching import Span
from desktop_agent.ui.runtime.painting import give_viewport
from desktop_agent.ui.theme import Height, Radius, Theme, TypeSize
from desktop_agent.ui.widgets.focus import draw_focus_ring

AnyIndex = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()

KEYBOARD_REASONS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


class FocusRing(QObject):
    """Records whether the user moves through a list by keyboard. If so, the current row gets a ring."""

    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._view = view
        self._is_keyboard = False
        view.installEventFilter(self)
        view.viewport().installEventFilter(self)

    @property
    def is_shown(self) -> bool:
        return self._is_keyboard and self._view.hasFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.KeyPress:
                self._set(is_keyboard=True)
            case QEvent.Type.MouseButtonPress:
                self._set(is_keyboard=False)
            case QEvent.Type.FocusIn if isinstance(event, QFocusEvent):
                self._set(is_keyboard=event.reason() in KEYBOARD_REASONS)
            case _:
                pass
        return False

    def _set(self, *, is_keyboard: bool) -> None:
        if is_keyboard != self._is_keyboard:
            self._is_keyboard = is_keyboard
            self._view.viewport().update()


class RowDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, ring: FocusRing, parent: QObject, size_px: float = TypeSize.BODY) -> None:
        super().__init__(parent)
        self.theme = theme
        self.ring = ring
        self._size_px = size_px
        self._take_fonts()
        theme.changed.connect(self._take_fonts)

    def _take_fonts(self) -> None:
        self.text_font = self.theme.text_font(self._size_px)
        self.strong_font = self.theme.strong_font(self._size_px)
        self.small_font = self.theme.text_font(TypeSize.HEAD)
        self.small_strong_font = self.theme.strong_font(TypeSize.HEAD)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        painter.save()
        self.draw(painter, option, index)
        painter.restore()

    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        """The caller restores the painter's state."""
        raise NotImplementedError

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, Height.LIST_ROW)


Model = TypeVar("Model", bound=QAbstractItemModel)


class ModelDelegate(RowDelegate, Generic[Model]):
    def __init__(
        self, model: Model, theme: Theme, ring: FocusRing, parent: QObject, size_px: float = TypeSize.BODY
    ) -> None:
        super().__init__(theme, ring, parent, size_px)
        self.model = model


def set_up_list(view: QAbstractItemView) -> FocusRing:
    """Return the focus ring for the rows of the list."""
    view.setFrameShape(QFrame.Shape.NoFrame)
    view.setMouseTracking(True)
    give_viewport(view).setAttribute(Qt.WidgetAttribute.WA_Hover)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return FocusRing(view)


def set_up_table(view: QTableView) -> None:
    """Show the table's rows as those of lists, to be selected as a whole."""
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    rows = view.verticalHeader()
    rows.hide()
    rows.setMinimumSectionSize(Height.LIST_ROW)
    rows.setDefaultSectionSize(Height.LIST_ROW)
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)


def stepped(choices: Sequence[int], row: int, by: int) -> int | None:
    """Return the choice `by` steps on, wrapping around. `choices` are the selectable rows; `None` if there are none."""
    if not choices:
        return None
    if row not in choices:
        return choices[0 if by > 0 else -1]
    at = choices.index(row) + by
    if abs(by) == 1:
        at %= len(choices)
    return choices[max(0, min(at, len(choices) - 1))]


def draw_ground(painter: QPainter, theme: Theme, option: QStyleOptionViewItem, ring: FocusRing) -> QColor:
    """Draw the background of a row, and return the colour for its text."""
    rect, state = QRectF(option.rect), option.state
    is_selected = bool(state & QStyle.StateFlag.State_Selected)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if is_selected or state & QStyle.StateFlag.State_MouseOver:
        draw_area(painter, theme, rect, is_selected=is_selected)
    if ring.is_shown and state & QStyle.StateFlag.State_HasFocus:
        draw_focus_ring(painter, rect, theme.colour("accent"), Radius.CONTROL - 1)
    return theme.colour("accent_text" if is_selected else "text")


def draw_box(painter: QPainter, rect: QRectF, edge: QColor, fill: QColor, radius: float, width: float = 1) -> None:
    """The edge lies inside `rect`."""
    painter.setPen(QPen(edge, width))
    painter.setBrush(fill)
    inset = width / 2
    painter.drawRoundedRect(rect.adjusted(inset, inset, -inset, -inset), radius, radius)


def draw_area(painter: QPainter, theme: Theme, rect: QRectF, *, is_selected: bool) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour("accent_weak" if is_selected else "sunken"))
    if is_selected and theme.colours.is_high_contrast:
        painter.setPen(QPen(theme.colour("accent"), 1))
        rect = rect.adjusted(0.5, 0.5, -0.5, -0.5)
    painter.drawRoundedRect(rect, Radius.CONTROL, Radius.CONTROL)


def draw_line(
    painter: QPainter, rect: QRectF, text: str, font: QFont, colour: QColor, alignment: Qt.AlignmentFlag = LEFT
) -> None:
    painter.setFont(font)
    painter.setPen(colour)
    fitting = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, rect.width() + 0.5)
    painter.drawText(rect, _single_line(alignment), fitting)


@cache
def _single_line(alignment: Qt.AlignmentFlag) -> int:
    """Return the flags for one line. Cached, because combining Python enumerations takes as long as drawing a word."""
    return (alignment | Qt.TextFlag.TextSingleLine).value


def spans_within(spans: Iterable[Span], start: int, end: int) -> tuple[Span, ...]:
    """Return the parts of `spans` in `text[start:end]`, with positions relative to `start`."""
    return tuple((max(a, start) - start, min(b, end) - start) for a, b in spans if b > start and a < end)


def draw_emphasised(
    painter: QPainter, theme: Theme, rect: QRectF, text: str, spans: Sequence[Span], colour: QColor, font: QFont
) -> float:
    """Draw the text with emphasised `spans`, and return its width."""
    strong = QFont(font)
    strong.setWeight(QFont.Weight.DemiBold)
    emphasis = theme.colour("accent_text")
    left = rect.left()
    for start, end, is_strong in _parts(len(text), spans):
        part_font, part_colour = (strong, emphasis) if is_strong else (font, colour)
        part = text[start:end]
        room = QRectF(left, rect.top(), rect.right() - left, rect.height())
        if room.width() <= 0:
            break
        draw_line(painter, room, part, part_font, part_colour)
        left += QFontMetricsF(part_font).horizontalAdvance(part)
    return min(left, rect.right()) - rect.left()


def _parts(length: int, spans: Sequence[Span]) -> Iterator[tuple[int, int, bool]]:
    at = 0
    for start, end in spans:
        if start > at:
            yield at, start, False
        yield start, end, True
        at = end
    if at < length:
        yield at, length, False
