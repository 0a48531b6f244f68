"""The bridge between one session and the window: ops go in, events come out and are folded for the panels."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from desktop_agent.core.events import Event
    from desktop_agent.core.ops import Op
    from desktop_agent.core.transcript import Transcript


class SessionBridge(QObject):
    """One session as the window knows it. Panels draw `transcript`; only events change it.

    Signals (`object`, because Qt's own conversions lose or overflow some values):
        patched: a list of `Patch`, after the transcript changed.
        happened: an `Event`, after it was folded. (`event` is taken: every QObject has a method of that name.)
    """

    patched = Signal(object)
    happened = Signal(object)

    def __init__(
        self,
        transcript: "Transcript",
        submit: "Callable[[Op], None]",
        parent: QObject | None = None,
        *,
        read_only: str = "",
    ) -> None:
        super().__init__(parent)
        self.transcript = transcript
        self.read_only = read_only
        """Why the session can only be read here; empty when it can be written."""
        self.left_waiting = frozenset(prompt.prompt_id for prompt in transcript.queued)
        """The queued prompts that an earlier process left."""
        self._submit = submit

    def submit(self, op: "Op") -> None:
        """Ask the session for something; what comes of it arrives as events."""
        self._submit(op)

    def deliver(self, event: "Event") -> None:
        """Where the session's events enter the window. Call it on the window's thread."""
        patches = self.transcript.apply(event)
        if patches:
            self.patched.emit(patches)
        self.happened.emit(event)
