"""The events of one open session, for every client that listens: none holds the session up, nor another client."""

import asyncio
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from desktop_agent.core.protocol import events as ev

MOST_WAITING: Final = 1_000
"""How many events wait for a client that reads slowly. After that it reads the journal, which has them all."""


class Listening:
    """What one client has yet to get."""

    def __init__(self) -> None:
        self._waiting: deque[ev.Event] = deque()
        self._came = asyncio.Event()
        self.is_behind = False
        """Whether events were left out, so that the journal must be read. Whoever has read it says so."""
        self.is_over = False
        """Whether the session is closed: what waits is the last."""

    def put(self, event: ev.Event) -> None:
        """Let an event wait. Never blocks."""
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.clear()
            self.is_behind = True
        self._waiting.append(event)
        self._came.set()

    def end(self) -> None:
        """Nothing comes any more."""
        self.is_over = True
        self._came.set()

    async def wait(self, seconds: float) -> bool:
        """Return whether there is something to take, or nothing comes any more; no, when the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._came.wait()
        except TimeoutError:
            return False
        return True

    def take(self) -> list[ev.Event]:
        """Return what waits."""
        taken = list(self._waiting)
        self._waiting.clear()
        if not self.is_over:
            self._came.clear()
        return taken


class Feed:
    """Passes the events of a session on."""

    def __init__(self) -> None:
        self.last_seq = 0
        """Of the last event that was heard; everything up to it is in the journal. 0 before the first."""
        self._clients: set[Listening] = set()

    def hear(self, event: ev.Event) -> None:
        """Pass an event on to every client."""
        if isinstance(event, ev.DurableEvent):
            self.last_seq = max(self.last_seq, event.seq)
        for client in self._clients:
            client.put(event)

    def end(self) -> None:
        """The session is closed."""
        for client in self._clients:
            client.end()

    @contextmanager
    def listen(self) -> Generator[Listening]:
        """Collect, for one client, all events from now on."""
        client = Listening()
        self._clients.add(client)
        try:
            yield client
        finally:
            self._clients.discard(client)
