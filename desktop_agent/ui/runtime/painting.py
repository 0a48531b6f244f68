"""The first paint of the window, early creation of widget classes, and turning animations off."""

from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QMainWindow, QPlainTextEdit, QScrollArea, QWidget

from desktop_agent.ui.theme import Theme


def show_painted(app: QApplication, window: QWidget, part: QWidget) -> None:
    """Return once `part` has been painted. Runs Qt's own loop: importing asyncio and qasync takes 70 ms."""
    watch = _FirstPaint(app)
    part.installEventFilter(watch)
    window.show()
    app.exec()
    watch.deleteLater()


class _FirstPaint(QObject):
    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self._app.exit)
        return False


def give_viewport(area: QAbstractScrollArea) -> QWidget:
    """Replace the viewport: Qt's own costs 9 to 15 ms, for PySide's classes. For empty areas, not for text fields."""
    viewport = QWidget()
    if not isinstance(area, QScrollArea):
        viewport.setBackgroundRole(QPalette.ColorRole.Base)
    viewport.setAutoFillBackground(True)
    area.setViewport(viewport)
    return viewport


def make_widget_classes() -> None:
    """Create PySide's widget classes while the window is idle, before the first click needs them."""
    QPlainTextEdit().viewport()  # Qt made it


_EFFECTS: Final = Qt.UIEffect.UI_General
"""The effect that enables all others, which are those of menus, lists that open, and tool tips."""

REST_MS: Final = 10_000
"""How long a caret blinks after the last key, as in the programs of GNOME. Each blink paints the window."""

_INPUT: Final = frozenset({QEvent.Type.KeyPress, QEvent.Type.MouseButtonPress, QEvent.Type.InputMethod})


class Movement(QObject):
    """Lets menus, panels and carets move if the theme allows it. A caret also rests when nobody types."""

    def __init__(self, app: QApplication, window: QMainWindow, theme: Theme) -> None:
        super().__init__(app)
        self._app = app
        self._window = window
        self._theme = theme
        self._has_effects = app.isEffectEnabled(_EFFECTS)
        self._hints = app.styleHints()
        self._blinking_ms = self._hints.cursorFlashTime()
        self._rest = QTimer(self, interval=REST_MS, singleShot=True)
        self._rest.timeout.connect(self._hold_caret)
        app.focusChanged.connect(self._on_focus)
        theme.motion_changed.connect(self._update)
        self._update()
        self._on_focus(None, app.focusWidget())

    def stop(self) -> None:
        self._theme.motion_changed.disconnect(self._update)
        self._app.focusChanged.disconnect(self._on_focus)
        self._rest.stop()
        self._allow(moves=True)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _INPUT:
            self._blink()
        return False

    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        if old is not None:
            old.removeEventFilter(self)
        if new is not None:
            new.installEventFilter(self)
            self._blink()

    def _blink(self) -> None:
        if self._theme.moves:
            self._hints.setCursorFlashTime(self._blinking_ms)
            self._rest.start()

    def _hold_caret(self) -> None:
        self._hints.setCursorFlashTime(0)

    def _update(self) -> None:
        self._allow(moves=self._theme.moves)

    def _allow(self, *, moves: bool) -> None:
        self._hints.setCursorFlashTime(self._blinking_ms if moves else 0)
        self._app.setEffectEnabled(_EFFECTS, moves and self._has_effects)
        self._window.setAnimated(moves)
