"""The bridge between one session and the window: ops go in, events come out as a Qt signal."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from desktop_agent.core.events import Event
    from desktop_agent.core.ops import Op


class SessionBridge(QObject):
    """One session as the window knows it.

    Signals:
        event: an `Event` of the session. `Signal(object)`, because Qt's own conversions lose or overflow some values.
    """

    event = Signal(object)

    def __init__(self, submit: "Callable[[Op], None]", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._submit = submit

    def submit(self, op: "Op") -> None:
        """Ask the session for something; what comes of it arrives as events."""
        self._submit(op)

    def deliver(self, event: "Event") -> None:
        """Where the session's events enter the window. On the window's thread."""
        self.event.emit(event)
