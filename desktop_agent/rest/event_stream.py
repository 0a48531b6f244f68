"""The events of one session for one client, from any event on: nothing is missed, nothing comes twice.

What is in the journal comes from there, first; then what the open session tells as it happens. A client that reads too
slowly gets the rest from the journal again. Of a session that is not open here, only the journal is followed.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Final

from starlette.responses import StreamingResponse
from starlette.types import Send

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import cannot_read
from desktop_agent.core.store.journal.lines import offset_after
from desktop_agent.core.store.journal.records import Follower
from desktop_agent.rest.feed import Feed
from desktop_agent.rest.open_sessions import OpenSessions

POLL_S: Final = 0.5
"""How old what is shown of a session may be that another process writes."""


class EventStream:
    """One client's way through a session."""

    def __init__(
        self,
        sessions: OpenSessions,
        session_id: SessionId,
        journal: Path,
        blobs: Blobs,
        *,
        after: int,
        until: str,
        tick_s: float,
    ) -> None:
        """`after` is the last event that the client has, 0 none. The stream ends with an event of the type `until`."""
        self._sessions = sessions
        self._id = session_id
        self._journal = journal
        self._blobs = blobs
        self._last = after
        self._until = until
        self._tick_s = tick_s

    async def blocks(self) -> AsyncGenerator[bytes]:
        """Yield the stream, a block for each event, until the server ends or the session cannot be read any more."""
        yield b": events\n\n"
        try:
            async for event in self._events():
                yield block_of(event) if event is not None else b": still here\n\n"
                if event is not None and event.type == self._until:
                    return
        except StorageError as error:
            failure = json.dumps({"code": "storage", "message": error.title, "hint": error.hint})
            yield f"event: error\ndata: {failure}\n\n".encode()

    async def _events(self) -> AsyncGenerator[ev.Event | None]:
        """Yield the events, and now and then nothing."""
        while not self._sessions.is_closing:
            opened = self._sessions.find(self._id)
            source = self._followed() if opened is None else self._heard(opened.feed)
            async with aclosing(source):
                async for event in source:
                    yield event

    async def _heard(self, feed: Feed) -> AsyncGenerator[ev.Event | None]:
        """Yield what an open session tells, until it is closed."""
        with feed.listen() as listening:
            listening.is_behind = True
            while True:
                while listening.is_behind:  # again, when more was left out while the journal was read
                    listening.is_behind = False
                    for event in await self._recorded(await self._follower(), feed.last_seq):
                        yield event
                for event in listening.take():
                    if not isinstance(event, ev.DurableEvent) or event.seq == 0 or self._is_next(event):
                        yield event
                if listening.is_behind:
                    continue
                if listening.is_over:
                    return
                if not await listening.wait(self._tick_s):
                    yield None

    async def _followed(self) -> AsyncGenerator[ev.Event | None]:
        """Yield what another process, or none, writes, until the session is opened here."""
        follower = await self._follower()
        silent_s = 0.0
        while self._sessions.find(self._id) is None and not self._sessions.is_closing:
            for event in await self._recorded(follower, None):
                silent_s = 0.0
                yield event
            if silent_s >= self._tick_s:
                silent_s = 0.0
                yield None
            await self._sessions.wait_for_change(POLL_S)
            silent_s += POLL_S

    async def _follower(self) -> Follower:
        """Return what reads on from where the client is, near enough."""
        try:
            start = await asyncio.to_thread(offset_after, self._journal, self._last) if self._last else 0
        except OSError as error:
            raise cannot_read(self._journal, error) from error
        return Follower(self._journal, self._blobs, start)

    async def _recorded(self, follower: Follower, last: int | None) -> Iterator[ev.JournalEvent]:
        """Return what the client does not have of the journal, up to what the session has told.

        A record that is written and not told yet may still be taken back, when the disk fails.
        """
        found = await asyncio.to_thread(follower.read)
        return (event for event in found if not (last and event.seq > last) and self._is_next(event))

    def _is_next(self, event: ev.DurableEvent) -> bool:
        """Whether the client does not have it; from now on it has."""
        if event.seq <= self._last:
            return False
        self._last = event.seq
        return True


def block_of(event: ev.Event) -> bytes:
    """Return an event as one block of the stream. One of the journal has its number as the id; a live one has none."""
    data = json.dumps(encode_event(event), separators=(",", ":"))
    if isinstance(event, ev.DurableEvent) and event.seq > 0:
        return f"id: {event.seq}\nevent: journal\ndata: {data}\n\n".encode()
    return f"event: live\ndata: {data}\n\n".encode()


class EventAnswer(StreamingResponse):
    """A stream of events that ends in order when its client goes away."""

    def __init__(self, stream: EventStream, running: "set[EventAnswer]") -> None:
        """While it is sent, `running` has it."""
        self._running = running
        self._blocks = stream.blocks()
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(self._blocks, headers=headers, media_type="text/event-stream")

    async def stream_response(self, send: Send) -> None:
        """Send the blocks."""
        self._running.add(self)
        try:
            async with aclosing(self._blocks):
                await super().stream_response(send)
        finally:
            self._running.discard(self)
