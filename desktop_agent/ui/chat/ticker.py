"""Lets what is on screen show that time passes."""

from PySide6.QtCore import QObject, QTimer

from desktop_agent.ui.chat.activity import ActivityLine
from desktop_agent.ui.chat.transcript.live_rows import LiveRows

_TICK_MS = 250


class Ticker(QObject):
    """Ticks while a row or the line about what the agent is doing shows time passing."""

    def __init__(self, rows: LiveRows, activity: ActivityLine, parent: QObject) -> None:
        super().__init__(parent)
        self._rows = rows
        self._activity = activity
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.timeout.connect(self._tick)

    @property
    def is_ticking(self) -> bool:
        """Whether time passes on screen now."""
        return self._timer.isActive()

    def update(self) -> None:
        """Tick from now on if anything on screen shows time passing, else not."""
        is_ticking = self._activity.is_working or any(
            row.widget is not None and row.widget.is_ticking for row in self._rows
        )
        if not is_ticking:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def stop(self) -> None:
        """Do not tick until the next `update`."""
        self._timer.stop()

    def _tick(self) -> None:
        for row in self._rows:
            if row.widget is not None and row.widget.is_ticking:
                row.widget.tick()
        if self._activity.is_working:
            self._activity.pulse()
