"""What the window paints, and when: first what a user waits for at the start, then as little as possible at rest."""

import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Final

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QExposeEvent, QPalette, QRegion, QWindow
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QBoxLayout,
    QLayout,
    QLayoutItem,
    QMainWindow,
    QPlainTextEdit,
    QScrollArea,
    QWidget,
)

from desktop_agent.ui.runtime.pacing import in_next_turn
from desktop_agent.ui.theme import Theme


def show_painted(app: QApplication, window: QWidget, part: QWidget) -> None:
    """Show `window` and return when it can be seen: when `part` of it has been painted.

    Qt's own loop runs just for that. asyncio and qasync take 70 ms to import, which the user should not wait for.
    """
    watch = _FirstPaint(app)
    part.installEventFilter(watch)
    window.show()
    app.exec()
    watch.deleteLater()


class _FirstPaint(QObject):
    """Ends Qt's loop as soon as what it watches was painted for the first time."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self._app.exit)
        return False


def give_viewport(area: QAbstractScrollArea) -> QWidget:
    """Replace the viewport that Qt made by one like it that the binding knows, and return that.

    To be called before the area holds anything, and not for a text field, which keeps hold of the one that it had.
    """
    viewport = QWidget()
    if not isinstance(area, QScrollArea):
        viewport.setBackgroundRole(QPalette.ColorRole.Base)
    viewport.setAutoFillBackground(True)
    area.setViewport(viewport)
    return viewport


def make_widget_classes() -> None:
    """Let the binding make them now. A window that is shown has a moment for it; a user who clicks has not."""
    QPlainTextEdit().viewport()  # Qt made it


def polished(widget: QWidget) -> Iterator[None]:
    """Give a widget and all in it their look, one in each step."""
    for part in (widget, *widget.findChildren(QWidget)):
        part.ensurePolished()
        yield


def measured(layout: QLayout, widths: Collection[int]) -> Iterator[None]:
    """Measure what stands in a column for these widths of the whole, one in each step, parts before what they make."""
    margins = layout.contentsMargins()
    inner = [width - margins.left() - margins.right() for width in widths]
    for place in range(layout.count()):
        item = layout.itemAt(place)
        assert item is not None, "only what is counted is asked for"
        if (column := _column_in(item)) is not None:
            yield from measured(column, inner)
        item.sizeHint()
        item.minimumSize()
        item.maximumSize()
        if item.hasHeightForWidth():
            for width in inner:
                item.heightForWidth(width)
        yield


def placed(widget: QWidget) -> Iterator[None]:
    """Give all in a widget that has its size its place, one layout in each step, from the outside in."""
    for part in (widget, *widget.findChildren(QWidget)):
        if (layout := part.layout()) is not None:
            layout.activate()
            yield


def _column_in(item: QLayoutItem) -> QBoxLayout | None:
    widget = item.widget()
    layout = widget.layout() if widget is not None else item.layout()
    is_column = isinstance(layout, QBoxLayout) and layout.direction() == QBoxLayout.Direction.TopToBottom
    return layout if isinstance(layout, QBoxLayout) and is_column else None


LONG_MS: Final = 4.0
"""A quarter of a frame: with the painting of a whole window behind it, such a turn would take longer than a frame."""

MOST_MS: Final = 33.0
"""How long a picture waits for further turns that take long: what is laid out in pieces is painted once, when it is
whole, and what goes on and on, such as a window that is being dragged larger, is painted thirty times a second."""


class PaintTurns(QObject):
    """Serves each window of an application from when it first has the keyboard.

    Qt paints a window at the end of the turn in which it was laid out. Between two turns, keys and the mouse are
    handled; if there are none, the picture comes as early as before.
    """

    def __init__(
        self, app: QApplication, busy_ms: Callable[[], float], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        """`busy_ms` says for how long the present turn has been going on, `clock` the time in seconds."""
        super().__init__(app)
        self._app = app
        self._busy_ms = busy_ms
        self._clock = clock
        self._is_painting = False
        app.focusChanged.connect(self._on_focus)

    def stop(self) -> None:
        """Let windows be painted as Qt does."""
        self._app.focusChanged.disconnect(self._on_focus)
        self._busy_ms = lambda: 0.0
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep a window from being painted now."""
        if self._is_painting or not _asks_for_painting(watched, event) or self._busy_ms() < LONG_MS:
            return False
        in_next_turn(watched, partial(self._paint, watched, self._clock()))
        return True

    def _paint(self, window: QObject, asked_at: float) -> None:
        if self._busy_ms() >= LONG_MS and (self._clock() - asked_at) * 1000 < MOST_MS:
            in_next_turn(window, partial(self._paint, window, asked_at))
            return
        self._is_painting = True
        try:
            QCoreApplication.sendEvent(window, _asking_for_painting(window))
        finally:
            self._is_painting = False

    def _on_focus(self, _old: QWidget | None, new: QWidget | None) -> None:
        if new is not None:
            window = new.window()
            window.installEventFilter(self)
            window.windowHandle().installEventFilter(self)


def _asks_for_painting(window: QObject, event: QEvent) -> bool:
    """Whether Qt paints a window for this: because something in it changed, or because it has another size."""
    match window:
        case QWidget():
            return event.type() == QEvent.Type.UpdateRequest
        case QWindow():
            return event.type() == QEvent.Type.Expose and window.isExposed()
        case _:
            return False


def _asking_for_painting(window: QObject) -> QEvent:
    if isinstance(window, QWindow):
        return QExposeEvent(QRegion(0, 0, window.width(), window.height()))
    return QEvent(QEvent.Type.UpdateRequest)


REST_MS: Final = 10_000
"""As long as a caret blinks in the programs of GNOME."""

_INPUT: Final = frozenset({QEvent.Type.KeyPress, QEvent.Type.MouseButtonPress, QEvent.Type.InputMethod})


class RestingCaret(QObject):
    """The caret of one application. It blinks again with the next key, click or change of focus."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._hints = app.styleHints()
        self._blinking_ms = self._hints.cursorFlashTime()
        self._may_blink = True
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REST_MS)
        self._timer.timeout.connect(self._rest)
        app.focusChanged.connect(self._on_focus)
        self._on_focus(None, app.focusWidget())

    def stop(self) -> None:
        """Leave the caret as it was found."""
        self._timer.stop()
        self._hints.setCursorFlashTime(self._blinking_ms)

    def set_blinking(self, *, is_blinking: bool) -> None:
        """Blink as usual, or never."""
        self._may_blink = is_blinking
        if is_blinking:
            self._blink()
        else:
            self._timer.stop()
            self._rest()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice what the user does in the widget that has the focus."""
        if event.type() in _INPUT:
            self._blink()
        return super().eventFilter(watched, event)

    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        if old is not None:
            old.removeEventFilter(self)
        if new is None:
            self._timer.stop()
            return
        new.installEventFilter(self)
        self._blink()

    def _blink(self) -> None:
        if not self._may_blink:
            return
        if self._hints.cursorFlashTime() != self._blinking_ms:
            self._hints.setCursorFlashTime(self._blinking_ms)
        self._timer.start()

    def _rest(self) -> None:
        self._hints.setCursorFlashTime(0)


_EFFECTS: Final = Qt.UIEffect.UI_General
"""Without it there is none of the others: of menus, lists that open, and tool tips."""


class Movement(QObject):
    """Stands still as long as the theme says that nothing moves. Marks that pulse ask the theme themselves."""

    def __init__(self, app: QApplication, window: QMainWindow, theme: Theme) -> None:
        super().__init__(app)
        self._app = app
        self._window = window
        self._theme = theme
        self._has_effects = app.isEffectEnabled(_EFFECTS)
        """Whether the system wants any."""
        self._caret = RestingCaret(app)
        theme.motion_changed.connect(self._update)
        self._update()

    def stop(self) -> None:
        """Leave everything as it was found."""
        self._theme.motion_changed.disconnect(self._update)
        self._caret.stop()
        self._allow(moves=True)

    def _update(self) -> None:
        self._caret.set_blinking(is_blinking=self._theme.moves)
        self._allow(moves=self._theme.moves)

    def _allow(self, *, moves: bool) -> None:
        self._app.setEffectEnabled(_EFFECTS, moves and self._has_effects)
        self._window.setAnimated(moves)
