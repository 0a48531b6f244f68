"""What every plot has in common: one of its items is the current one, by mouse or keyboard, and is said in words."""

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.theme import Radius, Theme, TypeSize

_KEYBOARD_REASONS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
_MIDDLE = (Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine).value
AXIS_TEXT = 18
"""Height of a line of text at an axis."""


class Plot(QWidget):
    """Draws items, and knows which of them is current: the one under the mouse, else the one that was chosen.

    Signals:
        current_changed: another item is current (its number from 0, -1 for none).
    """

    current_changed = Signal(int)

    def __init__(self, theme: Theme, *, previous: Qt.Key, following: Qt.Key) -> None:
        super().__init__()
        self.theme = theme
        self._previous, self._following = previous, following
        self._chosen = self._hovered = -1
        self._is_keyboard = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._take()
        theme.changed.connect(self._take)

    @property
    def current(self) -> int:
        """The current item; -1 for none."""
        return self._hovered if self._hovered >= 0 else self._chosen

    def count(self) -> int:
        """How many items there are."""
        raise NotImplementedError

    def item_at(self, point: QPointF) -> int:
        """Return the item at a place; -1 for none."""
        raise NotImplementedError

    def forget_current(self) -> None:
        """Make no item the current one: there are others now."""
        self._chosen = self._hovered = -1
        self.current_changed.emit(-1)
        self.update()

    # -- for those that draw --

    def draw_ring(self, painter: QPainter) -> None:
        """Draw the ring around the whole of it while it has the focus by keyboard."""
        if self._is_keyboard and self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self.colour("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), Radius.CONTROL, Radius.CONTROL)

    def draw_text(self, painter: QPainter, area: QRectF, text: str, colour: str, where: Qt.AlignmentFlag) -> None:
        """Draw a line of small text, elided in its middle."""
        painter.setFont(self.font_)
        painter.setPen(self.colour(colour))
        if self.metrics.horizontalAdvance(text) > area.width() + 1:
            text = self.metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(area.width()) + 1)
        painter.drawText(area, where.value | _MIDDLE, text)

    def colour(self, role: str) -> QColor:
        """Return the colour of a role, kept: each part of each column asks for one."""
        if (found := self._colours.get(role)) is None:
            self._colours[role] = found = self.theme.colour(role)
        return found

    # -- Qt --

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
        self._is_keyboard = event.reason() in _KEYBOARD_REASONS
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def _take(self) -> None:
        """Take colours and font anew."""
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
