"""The session that the window shows: ops go in by its bridge, events come out and are folded for the panels."""

from typing import Protocol

from PySide6.QtCore import QObject, Signal

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.events import Event
from desktop_agent.core.protocol.ops import Op
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.transcript.entry_rows import KeptPlace
from desktop_agent.ui.chat.transcript.navigation import Navigation


class SessionPort(Protocol):
    """Where the ops of a bridge go: a session, or what stands in for one that is not there or not ours."""

    def submit(self, op: Op) -> None:
        """Ask for something. Returns at once; what comes of it arrives as events at the bridge."""
        ...


class _ClosedPort:
    """Where the ops go that come after the end of a session: nowhere, as in the mailbox of one that has ended."""

    def submit(self, op: Op) -> None:
        pass


class SessionBridge(QObject):
    """One session as the window knows it. Panels draw `transcript`; only events change it.

    Signals (`object`, because Qt's own conversions lose or overflow some values):
        patched: a list of `Patch`, after the transcript changed.
        happened: an `Event`, after it was folded. (`event` is taken: every QObject has a method of that name.)
        replaced: `transcript` is another object now, with the same end and more before it.
        pages_wanted: the numbers of the pages that the user is looking at, the most urgent first; those that are not
            loaded arrive as patches.
        pages_sought: the user searches for this text; `pages_found` is the answer.
        pages_found: that text, and the numbers of the pages that may have it.
        failed: the session could not be opened (an `AgentError`); what is shown of it stays.
    """

    patched = Signal(object)
    happened = Signal(object)
    replaced = Signal()
    pages_wanted = Signal(object)
    pages_sought = Signal(str)
    pages_found = Signal(str, object)
    failed = Signal(object)

    def __init__(
        self,
        transcript: Transcript,
        port: SessionPort,
        parent: QObject | None = None,
        *,
        read_only: str = "",
        is_whole: bool = True,
    ) -> None:
        """`is_whole` is False while only the end of the session is known; `replace` brings the rest."""
        super().__init__(parent)
        self.transcript = transcript
        self.read_only = read_only
        """Why the session can only be read here; empty when it can be written."""
        self.is_whole = is_whole
        self.left_waiting = frozenset(prompt.prompt_id for prompt in transcript.turns.queued)
        """The queued prompts that an earlier process left."""
        self._port = port

    def submit(self, op: Op) -> None:
        """Ask the session for something; what comes of it arrives as events."""
        self._port.submit(op)

    def clear(self) -> None:
        """Let go of the transcript and of the session, which was closed and is not shown. Ops then go nowhere."""
        self.transcript = Transcript(session=self.transcript.session)
        self._port = _ClosedPort()

    def replace(self, transcript: Transcript, port: SessionPort) -> None:
        """Show more of the same session: until now only its end was known."""
        self.transcript = transcript
        self._port = port
        self.is_whole = True
        self.replaced.emit()

    def deliver_page(self, number: int, page: Transcript) -> None:
        """Where the pages of the session enter the window. Call it on the window's thread."""
        if patches := self.transcript.expand(number, page):
            self.patched.emit(patches)

    def drop_page(self, number: int) -> None:
        """Let the entries of a page go."""
        if patches := self.transcript.paged.collapse(number):
            self.patched.emit(patches)

    def deliver(self, event: Event) -> None:
        """Where the session's events enter the window. Call it on the window's thread."""
        patches = self.transcript.apply(event)
        if patches:
            self.patched.emit(patches)
        self.happened.emit(event)


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
