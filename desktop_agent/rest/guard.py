"""Refuses requests for a wrong host, from another site's page, without the token, or beyond the limits.

Clients without the token cannot keep a client with the token from being served.
"""

import asyncio
import hmac
import socket
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Any, Final, Literal
from urllib.parse import urlsplit
from weakref import ref

import h11
from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from desktop_agent.rest.application import RequestError, failure_answer, refusal


class ServerLimits(Struct, frozen=True, kw_only=True):
    """The limits of a server, in seconds and bytes."""

    body_bytes: int = 8 * 2**20
    head_bytes: int = 16 * 2**10
    head_s: float = 10.0
    """How many seconds a head may take, from the connection or the first byte of the next request."""
    body_s: float = 20.0
    waiting: int = 256
    """How many connections without the token may be open. One more ends the oldest of the host with most."""
    requests: int = 200
    """How many requests with the token may run at once, including event streams."""
    streams: int = 100
    """How many of these may be event streams, so that there is room for other requests."""
    tick_s: float = 15.0
    closing_s: int = 10
    """How many seconds unfinished answers may take when the server ends."""


_MOST_ACCEPTED_AT_ONCE: Final = 64
"""How many connections are accepted at once. asyncio would accept 2,000, more than a process can open."""

_MOST_PEEKED_BYTES: Final = 16 * 2**10

Peer = tuple[str, int]


class GuardedSocket(socket.socket):
    """A listening socket that tracks connections that have not shown the token.

    A connection counts from its acceptance, even during its TLS handshake.
    """

    def __init__(self, listening: socket.socket, most_waiting: int, token: str) -> None:
        """Replace the socket `listening`, which nothing else may use any more."""
        super().__init__(listening.family, listening.type, listening.proto, fileno=listening.detach())
        self._most_waiting = most_waiting
        self._token = token.encode()
        self._waiting: dict[Peer, ref[socket.socket]] = {}
        self._taken = 0

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises `BlockingIOError` if there is none, and after many in a row, for other work."""
        self._taken += 1
        if self._taken > _MOST_ACCEPTED_AT_ONCE:
            self._taken = 0
            raise BlockingIOError
        try:
            connection, address = super().accept()
        except BlockingIOError:
            self._taken = 0
            raise
        self._waiting[address[:2]] = ref(connection)
        if len(self._waiting) > self._most_waiting:
            self._drop_closed()
        if len(self._waiting) > self._most_waiting:
            self._close_oldest()
        return connection, address

    def admit(self, peer: Peer | None) -> None:
        if peer is not None:
            self._waiting.pop((peer[0], peer[1]), None)

    def _drop_closed(self) -> None:
        for peer, held in list(self._waiting.items()):
            connection = held()
            if connection is None or connection.fileno() < 0:
                del self._waiting[peer]

    def _close_oldest(self) -> None:
        ((host, _),) = Counter(host for host, _ in self._waiting).most_common(1)
        for peer in [peer for peer in self._waiting if peer[0] == host]:
            connection = self._waiting.pop(peer)()
            if connection is None:
                return
            with suppress(OSError):  # it has just been closed
                if self._shows_token(connection):
                    continue  # and stops being counted: its request is read in the next turns of the loop
                connection.shutdown(socket.SHUT_RDWR)
            return

    def _shows_token(self, connection: socket.socket) -> bool:
        """Whether data that arrived, but is still unread, has the token. In a rush, connections are accepted first."""
        try:
            return self._token in connection.recv(_MOST_PEEKED_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            return False


def protocol_with_head_timeout(head_s: float) -> type[H11Protocol]:
    """Return the protocol that ends connections whose request line and headers take longer than `head_s`."""

    class HeadTimeoutProtocol(H11Protocol):
        def __init__(
            self,
            config: Config,
            server_state: ServerState,
            app_state: dict[str, Any],
            _loop: asyncio.AbstractEventLoop | None = None,
        ) -> None:
            super().__init__(config, server_state, app_state, _loop)
            self._head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._stop_waiting()
            elif self._head_timer is None:
                self._wait_for_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            self._head_timer = self.loop.call_later(head_s, self.transport.abort)

        def _stop_waiting(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

    return HeadTimeoutProtocol


_READING: Final = frozenset({"GET", "HEAD"})
_MOST_DRAINED_BYTES: Final = 2**20
_DRAIN_S: Final = 1.0


class ServerIdentity(Struct, frozen=True, kw_only=True):
    scheme: str
    names: frozenset[str]
    """The names and addresses, without a port, to which the server answers."""
    port: int
    token: str
    public: frozenset[str]
    """The paths that need no token, because they reveal none of the user's data."""
    is_any_address: bool = False
    """Whether the server answers to every numeric IP address, which no other site's name can look like."""

    def is_own_host(self, value: str) -> bool:
        """Whether a `Host` header names this server. Another site's name that resolves to this server does not."""
        try:
            parts = urlsplit(f"//{value}")
            name, port = parts.hostname, parts.port
        except ValueError:
            return False
        if name is None or parts.netloc != value or "@" in value:
            return False
        usual = 443 if self.scheme == "https" else 80
        return (port or usual) == self.port and (name in self.names or (self.is_any_address and _is_address(name)))


class RequestGuard:
    def __init__(
        self, app: ASGIApp, identity: ServerIdentity, limits: ServerLimits, admit: Callable[[Peer | None], None]
    ) -> None:
        """`admit` is called with the peer of each connection that has shown the token."""
        self._app = app
        self._admit = admit
        self._identity = identity
        self._limits = limits
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # the server speaks nothing else
        try:
            if self._check(scope) == "public":
                await self._app(scope, _without_body, _last(send) if _announces_body(scope) else send)
                return
            self._admit(scope.get("client"))
            with self._counted():
                body = await self._body(scope, receive)
                await self._app(scope, _with_body(body, receive), send)  # raises no `RequestError`: it answers them
        except RequestError as error:
            # What else the client sends is not read: the connection ends with the answer.
            await self._drain(scope, receive)
            error.headers = {**error.headers, "connection": "close", "cache-control": "no-store"}
            await failure_answer(error)(scope, receive, send)

    @contextmanager
    def _counted(self) -> Generator[None]:
        """Count a permitted request while it is carried out. Raises `RequestError` if there are too many."""
        if self._running >= self._limits.requests:
            hint = "Try again when some of them have ended."
            raise refusal(429, "too_many_requests", "Too many requests are under way.", hint=hint)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    def _check(self, scope: Scope) -> Literal["public", "owner"]:
        head_bytes = len(scope["raw_path"]) + len(scope["query_string"])
        head_bytes += sum(len(name) + len(value) for name, value in scope["headers"])
        if head_bytes > self._limits.head_bytes:
            raise refusal(431, "head_too_large", f"Address and headers have {self._limits.head_bytes} bytes at most.")
        hosts = list(_values(scope, b"host"))
        if len(hosts) != 1 or not self._identity.is_own_host(hosts[0]):
            raise refusal(421, "wrong_host", "The Host header does not name this server.")
        for origin in _values(scope, b"origin"):
            if origin != f"{self._identity.scheme}://{hosts[0]}":
                raise refusal(403, "foreign_origin", "Pages of other sites may not use this server.")
        if scope["path"] in self._identity.public and scope["method"] in _READING:
            return "public"
        given = list(_values(scope, b"authorization"))
        if not given:
            raise self._unauthorised("token_missing", "The request has no token.")
        kind, _, token = given[0].partition(" ")
        is_right = hmac.compare_digest(token.strip().encode(), self._identity.token.encode())
        if len(given) != 1 or kind.lower() != "bearer" or not is_right:
            raise self._unauthorised("token_wrong", "The token is not that of this server.")
        return "owner"

    async def _drain(self, scope: Scope, receive: Receive) -> None:
        """Read the rest of the request for a moment: closing with unread data can lose the answer."""
        left = _MOST_DRAINED_BYTES
        try:
            async with asyncio.timeout(min(_DRAIN_S, self._limits.body_s)):
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
        except TimeoutError:
            return

    def _unauthorised(self, code: str, message: str) -> RequestError:
        error = refusal(401, code, message, hint="Send `Authorization: Bearer TOKEN`; `serve` prints the token.")
        error.headers = {"www-authenticate": "Bearer"}
        return error

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        too_long = refusal(413, "too_large", f"A body has {self._limits.body_bytes} bytes at most.")
        if any(int(value) > self._limits.body_bytes for value in _values(scope, b"content-length") if value.isdigit()):
            raise too_long
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise refusal(400, "disconnected", "The client went away.")
                    body += message.get("body", b"")
                    if len(body) > self._limits.body_bytes:
                        raise too_long
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise refusal(408, "too_slow", f"A body has {self._limits.body_s:g} seconds to arrive.") from None


def _values(scope: Scope, name: bytes) -> Iterator[str]:
    headers: Collection[tuple[bytes, bytes]] = scope["headers"]
    return (value.decode("latin-1") for key, value in headers if key == name)


def _announces_body(scope: Scope) -> bool:
    lengths = list(_values(scope, b"content-length"))
    return any(length.strip("0") for length in lengths) or any(_values(scope, b"transfer-encoding"))


async def _without_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _last(send: Send) -> Send:
    """Return a `send` that ends the connection after the answer, because the request's body was not read."""

    async def send_last(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await send(message)

    return send_last


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _with_body(body: bytes, receive: Receive) -> Receive:
    waiting = [body]

    async def replay() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replay
