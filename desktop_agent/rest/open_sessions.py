"""The sessions that the server has open: each is opened once, serves every client, and ends with the server.

A client's stream has the journal's events and then live ones, without gaps. Slow clients never hold up others.
"""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from typing import Final

from starlette.responses import StreamingResponse
from starlette.types import Send

from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.file_names import legible_names
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.session.session import Session
from desktop_agent.core.store.journal.journal_reader import reading
from desktop_agent.core.store.journal.lines import offset_after
from desktop_agent.core.store.journal.records import Follower
from desktop_agent.library.turns import ServedSession, closed_error
from desktop_agent.rest.application import STREAM

MOST_WAITING: Final = 1_000
"""How many events wait for a slow client, before it must read the journal."""


class EventQueue(asyncio.Queue[ev.Event | None]):
    """The events that wait for one client. `None` comes after the last one."""

    is_behind = True
    """Whether the journal must be read, at first and after events were dropped. The reader sets this to `False`."""

    def add(self, event: ev.Event | None) -> None:
        if self.qsize() >= MOST_WAITING:
            while not self.empty():
                self.get_nowait()
            self.is_behind = True
        self.put_nowait(event)


_log = logging.getLogger(__name__)


class OpenSession(ServedSession):
    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench.blobs, self._on_session_end)
        self.last_seq = 0
        """The number of the last event reported; the journal has everything up to it. 0 before the first."""
        self._queues: set[EventQueue] = set()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the session has ended completely."""

    def hand(self, op: ops.Op) -> int:
        """Submit an op, and return the number of the last event before it."""
        after = self.session.transcript.session.last_seq
        self.session.submit(op)
        return after

    def hear(self, event: ev.Event) -> None:
        super().hear(event)
        if isinstance(event, ev.DurableEvent):
            self.last_seq = max(self.last_seq, event.seq)
        for queue in self._queues:
            queue.add(event)

    @contextmanager
    def listen(self) -> Generator[EventQueue]:
        queue = EventQueue()
        self._queues.add(queue)
        try:
            yield queue
        finally:
            self._queues.discard(queue)

    def end_queues(self) -> None:
        for queue in self._queues:
            queue.add(None)

    def _on_session_end(self, _reason: Exception) -> None:
        if (error := self.failure) is not None:
            _log.error("Session %s ended unexpectedly", self.session.id, exc_info=error)
        self.end_queues()
        self.over.set_result(None)


async def _end(opened: OpenSession) -> None:
    with suppress(Exception):
        await opened.aclose(keeps_questions=True)


class OpenSessions:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.blobs = bench.blobs
        self._open: dict[SessionId, OpenSession] = {}
        self._locks: defaultdict[SessionId, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changed = asyncio.Event()
        self.is_closing = False
        self.streams: set[EventStream] = set()

    def find(self, session_id: SessionId) -> OpenSession | None:
        """Return the session if it is open here. One that has just ended is not."""
        opened = self._open.get(session_id)
        return None if opened is None or opened.over.done() else opened

    @property
    def all(self) -> tuple[OpenSession, ...]:
        return tuple(self._open.values())

    async def wait_for_change(self, seconds: float) -> None:
        """Return when a session was opened, when the server ends, or after that many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def create(self, workspace: Path, options: SessionOptions) -> OpenSession:
        """Start a session. Raises like `SessionOpener.open_unattended`, and `StorageError`."""
        self._require_running()
        opened = OpenSession(self._bench)
        made = await self._bench.opener.open_unattended(workspace, None, options, opened.hear, is_attended=True)
        await self._begin(opened, made.session, is_new=True)
        return opened

    async def get(self, session_id: SessionId) -> OpenSession:
        """Return a session, which is opened if necessary. Raises like `SessionOpener.open`."""
        await asyncio.to_thread(self._bench.catalog.journal_path, session_id)  # there must be one
        async with self._locks[session_id]:
            if (known := self.find(session_id)) is not None:
                return known
            self._require_running()
            opened = OpenSession(self._bench)
            again = await self._bench.opener.open(session_id, opened.hear)
            await self._begin(opened, again.session, is_new=False)
            return opened

    async def close(self, session_id: SessionId) -> None:
        if (opened := self._open.get(session_id)) is not None:
            await _end(opened)

    async def aclose(self) -> None:
        self.end_streams()
        await asyncio.gather(*map(self.close, tuple(self._open)))

    def end_streams(self) -> None:
        self.is_closing = True
        self._tell_changed()
        for opened in self._open.values():
            opened.end_queues()

    def _require_running(self) -> None:
        if self.is_closing:
            raise closed_error()

    async def _begin(self, opened: OpenSession, session: Session, *, is_new: bool) -> None:
        self._open[session.id] = opened
        opened.over.add_done_callback(lambda _: self._forget(session.id, opened))
        try:
            await opened.begin(session, must_be_stored=is_new)
        except BaseException:
            await _end(opened)
            raise
        self._tell_changed()

    def _forget(self, session_id: SessionId, opened: OpenSession) -> None:
        if self._open.get(session_id) is opened:
            del self._open[session_id]
        self._tell_changed()

    def _tell_changed(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


POLL_S: Final = 0.5
"""How many seconds old the shown state of a session may be while another process writes it."""


class EventStream(StreamingResponse):
    def __init__(
        self, sessions: OpenSessions, session_id: SessionId, journal: Path, *, after: int, until: str, tick_s: float
    ) -> None:
        """`after` is the last event that the client has, or 0. An event of the type `until` ends the stream."""
        self._sessions = sessions
        self._id = session_id
        self._journal = journal
        self._last = after
        self._until = until
        self._tick_s = tick_s
        self._blocks = self._stream_blocks()
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(self._blocks, headers=headers, media_type=STREAM)

    async def stream_response(self, send: Send) -> None:
        self._sessions.streams.add(self)
        try:
            async with aclosing(self._blocks):
                await super().stream_response(send)
        finally:
            self._sessions.streams.discard(self)

    async def _stream_blocks(self) -> AsyncGenerator[bytes]:
        """Yield one block per event, until the server ends or the session can no longer be read."""
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
        while not self._sessions.is_closing:
            opened = self._sessions.find(self._id)
            source = self._journal_events() if opened is None else self._live_events(opened)
            async with aclosing(source):
                async for event in source:
                    yield event

    async def _live_events(self, opened: OpenSession) -> AsyncGenerator[ev.Event | None]:
        with opened.listen() as queue:
            while True:
                while queue.is_behind:  # again, when more was left out while the journal was read
                    queue.is_behind = False
                    for event in await self._recorded(await self._follower(), opened.last_seq):
                        yield event
                try:
                    async with asyncio.timeout(self._tick_s):
                        event = await queue.get()
                except TimeoutError:
                    yield None
                    continue
                if event is None:
                    return
                if not isinstance(event, ev.DurableEvent) or event.seq == 0 or self._mark_sent(event):
                    yield event

    async def _journal_events(self) -> AsyncGenerator[ev.Event | None]:
        """Follow the journal, which another process may be writing, until the session is opened here."""
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
        with reading(self._journal):
            start = await asyncio.to_thread(offset_after, self._journal, self._last) if self._last else 0
        return Follower(self._journal, self._sessions.blobs, start)

    async def _recorded(self, follower: Follower, last: int | None) -> Iterator[ev.JournalEvent]:
        """Return the events of the journal that the client lacks, up to `last`, the latest that the session reported.

        A record behind `last` may still be taken back if the disk fails.
        """
        found = await asyncio.to_thread(follower.read)
        return (event for event in found if not (last and event.seq > last) and self._mark_sent(event))

    def _mark_sent(self, event: ev.DurableEvent) -> bool:
        """Whether the client lacks this event; marks it as sent."""
        if event.seq <= self._last:
            return False
        self._last = event.seq
        return True


def block_of(event: ev.Event) -> bytes:
    """Return an event as one block of the stream. A recorded event's number is its id; live events have none."""
    data = json.dumps(legible_names(encode_event(event)), separators=(",", ":"))
    if isinstance(event, ev.DurableEvent) and event.seq > 0:
        return f"id: {event.seq}\nevent: journal\ndata: {data}\n\n".encode()
    return f"event: live\ndata: {data}\n\n".encode()
