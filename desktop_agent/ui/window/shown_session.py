"""The session that the window shows, whichever that is: its transcript, and where ops for it go."""

from desktop_agent.core.protocol.ops import Op
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.window.bridge import SessionBridge


class ShownSession:
    """Shared by all that is about it. Before the first is shown, it is a session in which nothing has happened."""

    def __init__(self) -> None:
        self.bridge: SessionBridge | None = None
        self._nothing = Transcript()

    @property
    def transcript(self) -> Transcript:
        """What has happened in it."""
        return self.bridge.transcript if self.bridge is not None else self._nothing

    @property
    def read_only(self) -> str:
        """Why it can only be read here; empty when it can be written."""
        return self.bridge.read_only if self.bridge is not None else ""

    def submit(self, op: Op) -> None:
        """Ask it for something; what comes of it arrives as events at its bridge. Nothing is sent before the first."""
        if self.bridge is not None:
            self.bridge.submit(op)
