"""The session that the window shows: its transcript, where ops for it go; and where the user was in the others."""

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.ops import Op
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.transcript.entry_rows import KeptPlace
from desktop_agent.ui.chat.transcript.navigation import Navigation
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


class ReadingPlaces:
    """Kept by session, so that it does not matter whether the session was closed meanwhile.

    A session whose end was being read is shown at its end, with what has come since.
    """

    def __init__(self, navigation: Navigation) -> None:
        self._navigation = navigation
        self._places: dict[SessionId, KeptPlace] = {}

    def leave(self, bridge: SessionBridge) -> None:
        """Keep where the user is; call it while this session is still shown."""
        session_id = bridge.transcript.session.session_id
        if not session_id or not bridge.is_whole:
            return  # what was kept before still waits for the rest of it
        if (place := self._navigation.place) is not None:
            self._places[session_id] = place
        else:
            self._places.pop(session_id, None)

    def enter(self, bridge: SessionBridge) -> None:
        """Go there, once this session is shown, and again when more than its end is known."""
        place = self._places.get(bridge.transcript.session.session_id)
        if place is not None and bridge.is_whole and self._navigation.is_at_end:
            self._navigation.go_to(place)
