"""The bridge between one session and the window: ops go in, events come out and are folded for the panels."""

from typing import Protocol

from PySide6.QtCore import QObject, Signal

from desktop_agent.core.protocol.events import Event
from desktop_agent.core.protocol.ops import Op
from desktop_agent.core.transcript import Transcript


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
