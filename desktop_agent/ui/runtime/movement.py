"""What moves in the window without the user's hand: carets, docks that make room, menus and tool tips that fade in."""

from typing import Final

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication, QMainWindow

from desktop_agent.ui.runtime.resting_caret import RestingCaret
from desktop_agent.ui.theme import Theme

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
