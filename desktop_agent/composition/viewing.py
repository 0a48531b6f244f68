"""A session that another window or process writes: read here, followed as it grows, and taken over when it is free."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from desktop_agent.composition.opened_session import OpenedSession
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import SessionBusyError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.events import JournalEvent
from desktop_agent.core.session.recorder import Sink
from desktop_agent.core.store.journal.records import Follower
from desktop_agent.core.store.session_folder import is_locked

POLL_S = 0.5
"""How old what is shown may be. A look costs one `stat` when nothing happened."""


class ViewedSession:
    """A session as a reader has it; `open` makes one. It takes no ops: another process writes it."""

    def __init__(
        self,
        session_id: SessionId,
        events: Sequence[JournalEvent],
        *,
        follower: Follower,
        folder: Path,
        clock: Clock,
        sink: Sink,
        take_over: Callable[[Sink], Awaitable[OpenedSession]],
    ) -> None:
        self.id = session_id
        self.events = events
        """What had happened in it when it was opened. What comes later goes to the sink."""
        self._follower = follower
        self._folder = folder
        self._clock = clock
        self._sink = sink
        self._take_over = take_over

    @classmethod
    async def open(
        cls,
        session_id: SessionId,
        journal: Path,
        shared: SharedParts,
        sink: Sink,
        take_over: Callable[[Sink], Awaitable[OpenedSession]],
    ) -> "ViewedSession":
        """Read what there is of it. Raises `StorageError`."""
        follower = Follower(journal, shared.blobs)
        events = await asyncio.to_thread(follower.read)
        folder, clock = journal.parent, shared.clock
        return cls(session_id, events, follower=follower, folder=folder, clock=clock, sink=sink, take_over=take_over)

    async def run(self) -> None:
        """Pass the events that its writer records to the sink, until this is cancelled.

        Only recorded events arrive: no text while it streams. Raises `StorageError` when the journal cannot be
        followed any more; to view the session anew is what helps then.
        """
        while True:
            for event in await asyncio.to_thread(self._follower.read):
                self._sink(event)
            await self._clock.sleep(POLL_S)

    async def is_free(self) -> bool:
        """Whether no process writes it now. Asking does not disturb a writer."""
        return not await asyncio.to_thread(is_locked, self._folder)

    async def try_take_over(self, sink: Sink) -> OpenedSession | None:
        """Open it to go on with it, events going to `sink`; None while another process still writes it.

        Stop `run` first. Raises `StorageError` when it cannot be opened.
        """
        try:
            return await self._take_over(sink)
        except SessionBusyError:
            return None
