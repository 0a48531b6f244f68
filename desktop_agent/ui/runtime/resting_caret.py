"""Lets the caret stand still when the user has typed nothing for a while: a window at rest paints nothing."""

from typing import Final

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

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
