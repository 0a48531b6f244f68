"""What runs beside the window from its panels to its end."""

from PySide6.QtWidgets import QApplication

from desktop_agent.app.startup.data_folders import WindowLog
from desktop_agent.ui.runtime.painting import Movement, PaintTurns
from desktop_agent.ui.runtime.watchdog import Watchdog
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.main_window import MainWindow


class WindowServices:
    """The log, the watchdog, and what keeps painting and movement in bounds."""

    def __init__(self, app: QApplication, window: MainWindow, theme: Theme, log: WindowLog) -> None:
        self._log = log
        self._watchdog = Watchdog(window)
        self._watchdog.start()
        self._movement = Movement(app, window, theme)
        self._paint_turns = PaintTurns(app, self._watchdog.busy_ms)

    def stop(self) -> None:
        """End them, and leave everything as it was found."""
        self._watchdog.stop()
        self._movement.stop()
        self._paint_turns.stop()
        self._log.close()
