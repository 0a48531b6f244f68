"""Connections that do not wait for ever, and never keep out whoever has the token.

The head of a request must arrive in time, and the number of connections without the token is limited. uvicorn only
limits how long a connection rests between two requests.
"""

import asyncio
import socket
from collections import Counter
from contextlib import suppress
from typing import Any, Final
from weakref import ref

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

_MOST_A_TURN: Final = 64
"""The most connections accepted in one go. asyncio would accept 2,000 before it closes the first: more than a process
may have open."""

_MOST_PEEKED_BYTES: Final = 16 * 2**10

Peer = tuple[str, int]


class Door(socket.socket):
    """A listening socket that knows who is connected without having shown the token.

    Connections count from when they are accepted, so those with an unfinished TLS handshake are included.
    """

    def __init__(self, listening: socket.socket, most_waiting: int, token: str) -> None:
        """Take the place of a listening socket, which must not be used any more."""
        super().__init__(listening.family, listening.type, listening.proto, fileno=listening.detach())
        self._most_waiting = most_waiting
        self._token = token.encode()
        self._waiting: dict[Peer, ref[socket.socket]] = {}
        self._taken = 0

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept the next connection.

        Raises `BlockingIOError` if there is none, and after many, so that other work is done.
        """
        self._taken += 1
        if self._taken > _MOST_A_TURN:
            self._taken = 0
            raise BlockingIOError
        try:
            connection, address = super().accept()
        except BlockingIOError:
            self._taken = 0
            raise
        self._waiting[address[:2]] = ref(connection)
        if len(self._waiting) > self._most_waiting:
            self._forget_closed()
        if len(self._waiting) > self._most_waiting:
            self._send_one_away()
        return connection, address

    def let_in(self, peer: Peer | None) -> None:
        """Stop counting a connection: it has shown the token."""
        if peer is not None:
            self._waiting.pop((peer[0], peer[1]), None)

    def _forget_closed(self) -> None:
        for peer, held in list(self._waiting.items()):
            connection = held()
            if connection is None or connection.fileno() < 0:
                del self._waiting[peer]

    def _send_one_away(self) -> None:
        """End the oldest connection of the host that has the most, but none that has sent the token already."""
        ((host, _),) = Counter(host for host, _ in self._waiting).most_common(1)
        for peer in [peer for peer in self._waiting if peer[0] == host]:
            connection = self._waiting.pop(peer)()
            if connection is None:
                return
            with suppress(OSError):  # it has just been closed
                if self._shows_token(connection):
                    continue  # and stops counting: its request is read in the next turns
                connection.shutdown(socket.SHUT_RDWR)
            return

    def _shows_token(self, connection: socket.socket) -> bool:
        """Whether the token is in what has come and was not read yet. In a rush, connections are accepted first."""
        try:
            return self._token in connection.recv(_MOST_PEEKED_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            return False


def patient_for(head_s: float) -> type[H11Protocol]:
    """Return the protocol that ends connections whose request line and headers take longer than `head_s`."""

    class PatientProtocol(H11Protocol):
        """HTTP/1.1 by uvicorn, with that limit."""

        def __init__(
            self,
            config: Config,
            server_state: ServerState,
            app_state: dict[str, Any],
            _loop: asyncio.AbstractEventLoop | None = None,
        ) -> None:
            super().__init__(config, server_state, app_state, _loop)
            self._patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._stop_waiting()
            elif self._patience is None:
                self._wait_for_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            self._patience = self.loop.call_later(head_s, self.transport.abort)

        def _stop_waiting(self) -> None:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    return PatientProtocol
