"""A session as the window knows it: ops go in, events come out and are folded for the panels."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, SignalInstance

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.events import Event
from desktop_agent.core.protocol.ops import Op
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.transcript.entry_rows import KeptPlace
from desktop_agent.ui.chat.transcript.navigation import Navigation


class SessionHandle(QObject):
    """Panels draw `transcript`; only events change it.

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
        send: Callable[[Op], None],
        parent: QObject | None = None,
        *,
        read_only: str = "",
        is_whole: bool = True,
    ) -> None:
        """`send` gets the ops. `is_whole` is False while only the end of the session is known."""
        super().__init__(parent)
        self.transcript = transcript
        self.read_only = read_only
        """Why the session can only be read here; empty when it can be written."""
        self.is_whole = is_whole
        self.left_waiting = frozenset(prompt.prompt_id for prompt in transcript.turns.queued)
        """The queued prompts that an earlier process left."""
        self._send = send

    def submit(self, op: Op) -> None:
        """Submit an op to the session. Returns at once; results arrive as events."""
        self._send(op)

    def clear(self) -> None:
        """Release the transcript and the session, which was closed and is not shown. Later ops are ignored."""
        self.transcript = Transcript(session=self.transcript.session)
        self._send = _ignore

    def replace(self, transcript: Transcript) -> None:
        """Show the whole session, of which only the end was known."""
        self.transcript = transcript
        self.is_whole = True
        self.replaced.emit()

    def deliver_page(self, number: int, page: Transcript) -> None:
        if patches := self.transcript.expand(number, page):
            self.patched.emit(patches)

    def drop_page(self, number: int) -> None:
        if patches := self.transcript.paged.collapse(number):
            self.patched.emit(patches)

    def deliver(self, event: Event) -> None:
        """Fold an event and tell the panels. Call it on the window's thread."""
        if patches := self.transcript.apply(event):
            self.patched.emit(patches)
        self.happened.emit(event)


def _ignore(_op: Op) -> None: ...


class ShownSession(QObject):
    """The session that the window shows. Before the first, `transcript` is empty and ops are ignored."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.handle: SessionHandle | None = None
        self._nothing = Transcript()

    @property
    def transcript(self) -> Transcript:
        return self.handle.transcript if self.handle is not None else self._nothing

    @property
    def read_only(self) -> str:
        """Why it can only be read here; empty when it can be written."""
        return self.handle.read_only if self.handle is not None else ""

    def submit(self, op: Op) -> None:
        if self.handle is not None:
            self.handle.submit(op)

    def submit_on(self, signal: SignalInstance, op: Callable[..., Op], *fields: str) -> None:
        """Submit an op whenever `signal` is emitted; the signal's first arguments become these fields of the op."""

        def submit(*arguments: object) -> None:
            self.submit(op(**dict(zip(fields, arguments, strict=False))))

        signal.connect(submit)


class ReadingPlaces:
    """Where the user was reading in each session, also while it is closed.

    A session of which only the end is loaded is shown at its end, with what has come since.
    """

    def __init__(self, navigation: Navigation) -> None:
        self._navigation = navigation
        self._places: dict[SessionId, KeptPlace] = {}

    def leave(self, handle: SessionHandle) -> None:
        """Remember the reading place; call it while this session is still shown."""
        session_id = handle.transcript.session.session_id
        if not session_id or not handle.is_whole:
            return  # the place kept before is still needed once the rest is loaded
        if (place := self._navigation.place) is not None:
            self._places[session_id] = place
        else:
            self._places.pop(session_id, None)

    def enter(self, handle: SessionHandle) -> None:
        """Go to the remembered place, after the session is shown or its rest is loaded."""
        place = self._places.get(handle.transcript.session.session_id)
        if place is not None and handle.is_whole and self._navigation.is_at_end:
            self._navigation.go_to(place)
