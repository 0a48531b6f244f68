"""Where the browser brings the answer of a sign-in: a port of 127.0.0.1 that takes one, and is open only meanwhile.

RFC 8252 7.3 and 8.3: loopback, a free port, closed as soon as the answer is there. Other programs and pages can reach
the port as well, so a request counts only when it names this host and port (no page of another name can, by way of a
name server), this path, and this sign-in's state. What does not is answered and changes nothing.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Self, cast
from urllib.parse import parse_qsl

from desktop_agent.core.providers.auth.sign_in import page
from desktop_agent.core.providers.auth.sign_in.attempt import is_same
from desktop_agent.core.providers.auth.sign_in.failures import no_port, port_taken
from desktop_agent.core.providers.auth.sign_in.page import RedirectPage, response

MAX_HEAD_BYTES = 32 * 2**10
"""The longest request: a code, a state, and the headers of a browser with many cookies for 127.0.0.1."""

_HEAD_S = 10.0
"""How long a connection may take to say what it wants. Browsers open some that they never use."""

_MAX_PARAMETERS = 20


class Request(NamedTuple):
    """What is looked at of a request."""

    method: str
    path: str
    query: str
    host: str


class RedirectReceiver:
    """Listens from entering the context to leaving it. Belongs to one event loop."""

    def __init__(self, path: str, *, state: str | None, host: str = "127.0.0.1", port: int = 0) -> None:
        """`state` is `None` for a service that sends none back: then the path must be one that cannot be guessed.

        `host` is what the service gets; the port is one of 127.0.0.1 in any case, any that is free unless it is
        given.
        """
        self._path = path
        self._state = state
        self._host = host
        self._port = port
        self._authority = ""
        self._answer: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()
        self._is_taken = False
        self._has_refused = False
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Begin to listen. Raises `CredentialsError` when that is not possible."""
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=MAX_HEAD_BYTES)
        except OSError as error:
            raise (port_taken(self._port, error) if self._port else no_port(error)) from None
        port = cast("int", self._server.sockets[0].getsockname()[1])
        self._authority = f"{self._host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the port, and every connection to it."""
        self._server.close()
        self._answer.cancel()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def address(self) -> str:
        """Where the service is to send the browser."""
        return f"http://{self._authority}{self._path}"

    def expect(self, state: str) -> None:
        """Take only the answer with this state from now on, for a sign-in whose state is made after its address."""
        self._state = state

    @property
    def has_refused(self) -> bool:
        """Whether an answer with another state came, or a malformed one."""
        return self._has_refused

    async def answer(self) -> Mapping[str, str]:
        """Wait for the browser and return the parameters that it brings. They are secrets."""
        return await asyncio.shield(self._answer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        taken: Mapping[str, str] | None = None
        try:
            shown, taken = await self._judged(reader)
            writer.write(response(shown))
            await writer.drain()
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError):
            pass  # it went away, or never said anything
        except asyncio.CancelledError:
            pass  # by `__aexit__`, which waits for it; asyncio of Python 3.11 reports a cancelled one as an error
        finally:
            self._connections.discard(task)
            writer.close()
            if taken is not None and not self._answer.done():
                self._answer.set_result(taken)
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _judged(self, reader: asyncio.StreamReader) -> tuple[RedirectPage, Mapping[str, str] | None]:
        """Return what to show for a connection's request, and the parameters when it brings the answer."""
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return page.TOO_LONG, None
        request = read_request(head)
        if request is None:
            return page.MALFORMED, None
        if request.host.lower() != self._authority:
            return page.MISDIRECTED, None
        if not is_same(request.path, self._path):
            return page.UNKNOWN, None
        if request.method != "GET":
            return page.NOT_A_GET, None
        return self._taken(read_parameters(request.query))

    def _taken(self, parameters: Mapping[str, str] | None) -> tuple[RedirectPage, Mapping[str, str] | None]:
        if parameters is None or (self._state is not None and not is_same(parameters.get("state", ""), self._state)):
            self._has_refused = True
            return page.FOREIGN, None
        if self._is_taken:
            return page.REPLAYED, None
        self._is_taken = True
        return (page.DECLINED if "error" in parameters else page.TAKEN), parameters


def read_request(head: bytes) -> Request | None:
    """Return the request that a head is, or `None` when it is none of HTTP/1 with exactly one host."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    parts = first.split(" ")
    hosts = [value.strip() for name, colon, value in (line.partition(":") for line in lines) if _is_host(name, colon)]
    if len(parts) != 3 or not parts[2].startswith("HTTP/1.") or len(hosts) != 1:
        return None
    method, target, _ = parts
    path, _, query = target.partition("?")
    return Request(method, path, query, hosts[0])


def read_parameters(query: str) -> Mapping[str, str] | None:
    """Return the parameters of a query, or `None` when one is there twice, or there are too many."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS, errors="strict")
    except ValueError:
        return None
    parameters = dict(pairs)
    return parameters if len(parameters) == len(pairs) else None


def _is_host(name: str, colon: str) -> bool:
    return bool(colon) and name.lower() == "host"
