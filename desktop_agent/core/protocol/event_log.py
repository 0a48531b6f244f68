"""What the parts of a session write their events to; `recorder.py` has the real one."""

from typing import Protocol

from desktop_agent.core.protocol.events import KnownEvent, LiveEvent


class EventLog(Protocol):
    """The one way an event becomes real."""

    async def record(self, event: KnownEvent) -> None:
        """Write `event`, send it to the front end, then return. Raises `StorageError`: then nothing may be acted on."""
        ...

    def emit(self, event: LiveEvent) -> None:
        """Tell the front end at once; never written."""
        ...
