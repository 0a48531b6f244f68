"""What a conversation shows besides its messages: that there are none, or what the agent does at their end.

While that goes on, what is on screen shows that time passes.
"""

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QAbstractScrollArea

from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.activity import ActivityLine
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.transcript.empty import EmptyState
from desktop_agent.ui.chat.transcript.live_rows import LiveRows
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.chat.transcript.row_updates import RowUpdates
from desktop_agent.ui.theme import Theme

_TICK_MS = 250


class ConversationStatus:
    """Shows it in a view of a conversation: `empty` while there are no messages, `ticker` that time passes."""

    def __init__(
        self, view: QAbstractScrollArea, theme: Theme, layout: RowLayout, updates: RowUpdates, actions: EntryActions
    ) -> None:
        self._view = view
        self._layout = layout
        self._updates = updates
        self._activity = ActivityLine(theme, view.viewport())
        self._activity.hide()
        self.ticker = Ticker(layout.widgets.live, self._activity, view)
        self.empty = EmptyState(actions, view.viewport())

    def show(self, transcript: Transcript) -> None:
        """Show what goes on in it now."""
        self.empty.setVisible(not len(self._layout.rows))
        is_working = transcript.turns.status == "working"
        self._activity.show_activity(transcript.turns.activity, is_working=is_working)
        # A summary that the user asked for is made while no turn runs.
        is_busy = is_working or (bool(transcript.turns.activity) and not transcript.turns.is_running)
        if is_busy == self._activity.isHidden():
            self._activity.setVisible(is_busy)
            self._layout.footer = self._activity if is_busy else None
            self._updates.request_layout()

    def place(self) -> None:
        """Let what stands instead of messages fill the view, in line with the composer."""
        self.empty.setGeometry(0, 0, self._view.width(), self._view.viewport().height())


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
