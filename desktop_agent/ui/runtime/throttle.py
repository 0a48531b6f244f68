"""Calls at most once per interval: the first at once, a burst's last one always."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

FRAME_MS = 33
"""Thirty times a second: as often as a view of streaming text needs to change."""


class Throttle(QObject):
    """Runs `action` now when it did not run lately, else once when the interval is over.

    A child of the widget it serves, so it ends with it. `pause` when the widget is hidden: nothing fires then, and
    what was wanted meanwhile happens at `resume`.
    """

    def __init__(self, action: Callable[[], None], parent: QObject, interval_ms: int = FRAME_MS) -> None:
        super().__init__(parent)
        self._action = action
        self._is_wanted = False
        self._is_paused = False
        self._timer = QTimer(self, interval=interval_ms, singleShot=True)
        self._timer.timeout.connect(self._on_timeout)

    def trigger(self) -> None:
        """Ask for the action."""
        self._is_wanted = True
        if not self._is_paused and not self._timer.isActive():
            self.run_now()

    def run_now(self) -> None:
        """Run the action at once if it is wanted, and begin a new interval."""
        if not self._is_wanted:
            return
        self._is_wanted = False
        if not self._is_paused:
            self._timer.start()
        self._action()

    def pause(self) -> None:
        """Run nothing and keep no timer until `resume`."""
        self._is_paused = True
        self._timer.stop()

    def resume(self) -> None:
        """Go on, and run what was asked for meanwhile."""
        self._is_paused = False
        self.run_now()

    def _on_timeout(self) -> None:
        self.run_now()
