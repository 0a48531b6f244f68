"""Draws the focus, moves it when a focused widget disappears, and makes announcements to screen readers."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, cast

from PySide6.QtCore import QObject, QRectF, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPainter, QPen
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from desktop_agent.ui.theme import Radius


def announce(widget: QWidget, words: str, *, is_urgent: bool = False) -> None:
    """Let a running screen reader say these words after its current text, or at once if they are urgent."""
    if not words or not QAccessible.isActive():
        return
    event = QAccessibleAnnouncementEvent(widget, words)
    politeness = QAccessible.AnnouncementPoliteness
    event.setPoliteness(politeness.Assertive if is_urgent else politeness.Polite)
    QAccessible.updateAccessibility(event)


def draw_focus_ring(painter: QPainter, rect: QRectF, colour: QColor, radius: float = Radius.CONTROL) -> None:
    painter.setPen(QPen(colour, 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), radius, radius)


def has_focus_within(widget: QWidget) -> bool:
    """Whether the focus of the window is in `widget`, even while another window is active."""
    focused = widget.window().focusWidget() or widget.window()
    return focused is widget or widget.isAncestorOf(focused)


class _Place(NamedTuple):
    """A widget that had the focus, and where the widget was. The widget may be deleted by now."""

    widget: QWidget
    window: QWidget
    is_in_conversation: bool


class FocusKeeper(QObject):
    """Returns the focus to the widget that had it before. Focus lost in the conversation goes to `home`."""

    def __init__(self, conversation: QWidget, home: QWidget, parent: QObject) -> None:
        super().__init__(parent)
        self._conversation = conversation
        self._home = home
        self._places: deque[_Place] = deque(maxlen=32)
        cast("QApplication", QApplication.instance()).focusChanged.connect(self._on_focus_changed)

    def _on_focus_changed(self, old: QWidget | None, now: QWidget | None) -> None:
        window = QApplication.activeWindow()
        if window is None or not isValid(self._home):
            return
        lost = next(self._newest_in(window), None)
        if lost is None:
            is_new = now is not None and old is None and window is self._home.window()
            # A pressed button would get no click if it lost the focus.
            is_lost = is_new and QApplication.mouseButtons() == Qt.MouseButton.NoButton
        else:
            is_lost = not _is_usable(lost.widget) and (now is None or old is None or not _is_usable(old))
        if is_lost and (place := self._best_in(window, lost)) is not None and place is not now:
            place.setFocus(Qt.FocusReason.OtherFocusReason)
        elif now is not None and now.window() is window:
            self._remember(now, window)

    def _remember(self, widget: QWidget, window: QWidget) -> None:
        for place in [place for place in self._places if place.widget is widget or not isValid(place.widget)]:
            self._places.remove(place)
        is_in_conversation = isValid(self._conversation) and self._conversation.isAncestorOf(widget)
        self._places.append(_Place(widget, window, is_in_conversation))

    def _newest_in(self, window: QWidget) -> Iterator[_Place]:
        return (place for place in reversed(self._places) if place.window is window)

    def _best_in(self, window: QWidget, lost: _Place | None) -> QWidget | None:
        """Return the widget that last had the focus in this window. `None` lets Qt choose."""
        is_home = window is self._home.window() and self._home.isVisible() and self._home.isEnabled()
        before = next((place.widget for place in self._newest_in(window) if _is_usable(place.widget)), None)
        if is_home and (before is None or lost is None or lost.is_in_conversation):
            return self._home.focusProxy() or self._home
        return before


def _is_usable(widget: QWidget) -> bool:
    return isValid(widget) and widget.isVisible() and widget.isEnabled()
