"""A session that is open in this process, folded for the window."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from desktop_agent.ui.bridge import SessionBridge

if TYPE_CHECKING:
    from desktop_agent.core.events import Event
    from desktop_agent.core.ops import Op
    from desktop_agent.core.transcript import Transcript


class LiveSession(QObject):
    """The window's fold of one session. Panels draw `transcript`; nothing else changes it.

    Signals:
        patched: a list of `Patch`, after the transcript changed.
        happened: the `Event` itself, after it was folded.
    """

    patched = Signal(object)
    happened = Signal(object)

    def __init__(self, transcript: "Transcript", submit: "Callable[[Op], None]", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.transcript = transcript
        self.bridge = SessionBridge(submit, self)
        self.bridge.event.connect(self._on_event)

    def submit(self, op: "Op") -> None:
        """Ask the session for something."""
        self.bridge.submit(op)

    def _on_event(self, event: "Event") -> None:
        patches = self.transcript.apply(event)
        if patches:
            self.patched.emit(patches)
        self.happened.emit(event)
