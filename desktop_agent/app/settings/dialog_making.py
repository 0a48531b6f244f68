"""Makes the settings dialog: for the first time in pieces, while the window has nothing else to do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.ui.settings.settings_view import SettingsActions
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.main_window import MainWindow

if TYPE_CHECKING:  # a dialog with all its pages, which a start does not need
    from desktop_agent.ui.settings.settings_dialog import SettingsDialog


class DialogMaking:
    """Gives the settings dialog to who opens it: one that was made ahead, or a new one."""

    def __init__(self, window: MainWindow, theme: Theme, actions: SettingsActions) -> None:
        self._window = window
        self._theme = theme
        self._actions = actions
        self._made: SettingsDialog | None = None
        theme.changed.connect(self._drop)

    def make_ahead(self) -> Iterator[None]:
        """Make one, a little in each step, for the first time that the settings are opened."""
        from desktop_agent.ui.runtime.painting import polished
        from desktop_agent.ui.settings.settings_dialog import Pages, SettingsDialog

        now = SystemClock().now
        pages = Pages(self._theme, now, self._actions)
        yield
        made = self._made = SettingsDialog(self._theme, now, self._actions, self._window, pages=pages)
        for _ in polished(made):
            yield
            if self._made is not made:
                return  # it is in use, or of another look

    def take(self) -> "SettingsDialog":
        """Return a dialog that was not shown before."""
        from desktop_agent.ui.settings.settings_dialog import SettingsDialog

        made, self._made = self._made, None
        if made is None:
            return SettingsDialog(self._theme, SystemClock().now, self._actions, self._window)
        made.fit_screen()
        return made

    def _drop(self) -> None:
        """Forget the one that was made, for fonts of another size."""
        if self._made is not None:
            self._made.deleteLater()
            self._made = None
