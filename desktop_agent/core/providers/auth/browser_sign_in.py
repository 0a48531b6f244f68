"""Signing in with a service in the browser: OAuth 2 for desktop programs, following RFC 8252 and RFC 7636.

A port of 127.0.0.1 accepts one request. The request must have the sign-in's state, and name this host and port, which
prevents DNS rebinding.
"""

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Protocol, Self, cast
from urllib.parse import parse_qsl

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.secrets import Discreet
from desktop_agent.core.providers.auth.tokens import ERROR_CODE

_RANDOM_BYTES = 32


class Attempt(Discreet, frozen=True):
    verifier: str
    """A secret that proves that the program with the code also began the sign-in: RFC 7636."""
    state: str
    """A random value that must come back with the answer: RFC 6749 10.12."""
    nonce: str
    """A random value that must come back in the identity token: OpenID Connect Core 3.1.2.1."""

    @classmethod
    def new(cls) -> Self:
        return cls(*(secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3)))

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode("ascii")).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8"))


class RedirectPage(NamedTuple):
    status: int
    phrase: str
    title: str
    text: str


TAKEN = RedirectPage(200, "OK", "Back to Desktop Agent", "The answer has arrived. You can close this window.")
DECLINED = RedirectPage(
    200, "OK", "Not signed in", "Desktop Agent knows that this was declined. You can close this window."
)
MALFORMED = RedirectPage(400, "Bad Request", "Not understood", "This is no request that Desktop Agent answers.")
FOREIGN = RedirectPage(
    400, "Bad Request", "Another sign-in", "This answer belongs to another sign-in. Begin again in Desktop Agent."
)
UNKNOWN = RedirectPage(404, "Not Found", "Nothing here", "Only the answer of a sign-in is taken here.")
NOT_A_GET = RedirectPage(405, "Method Not Allowed", "Nothing here", "Only the answer of a sign-in is taken here.")
REPLAYED = RedirectPage(410, "Gone", "Already used", "This answer was taken already. You can close this window.")
MISDIRECTED = RedirectPage(421, "Misdirected Request", "Nothing here", "This request was meant for another address.")
TOO_LONG = RedirectPage(431, "Request Header Fields Too Large", "Not understood", "The request is too long.")

# The page's address contains the code: it must not be cached, sent as a referrer, or framed.
_HEADERS = (
    "Content-Type: text/html; charset=utf-8", "Cache-Control: no-store", "Referrer-Policy: no-referrer",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options: nosniff", "Connection: close",
)  # fmt: skip

_STYLE = (
    ":root{color-scheme:light dark}h1{font-size:1.5rem}"
    "body{font:1.1rem/1.6 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1.5rem}"
)


def response(page: RedirectPage) -> bytes:
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{page.title}</title><style>{_STYLE}</style>'
        f"<h1>{page.title}</h1><p>{page.text}</p></html>\n"
    ).encode()
    lines = (f"HTTP/1.1 {page.status} {page.phrase}", *_HEADERS, f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body


MAX_HEAD_BYTES = 32 * 2**10
"""How many bytes a request may have. Browsers send all cookies that they have for 127.0.0.1."""

_HEAD_S = 10.0

_MAX_PARAMETERS = 20


class Request(NamedTuple):
    method: str
    path: str
    query: str
    host: str


class RedirectReceiver:
    """Listens for the answer while its context is entered. Belongs to one event loop."""

    def __init__(self, path: str, *, state: str | None, host: str = "127.0.0.1", port: int = 0) -> None:
        """Without `state`, the path must be a secret. The service is told `host`. `port` 0 means any free port."""
        self._path = path
        self._state = state
        self._host = host
        self._port = port
        self._authority = ""
        self._answer: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()
        self._is_taken = False
        self.has_refused = False
        """Whether an answer came that was malformed, or had another state."""
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=MAX_HEAD_BYTES)
        except OSError as error:
            raise _no_port(self._port, error) from None
        port = cast("int", self._server.sockets[0].getsockname()[1])
        self._authority = f"{self._host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._answer.cancel()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def address(self) -> str:
        return f"http://{self._authority}{self._path}"

    def expect(self, state: str) -> None:
        self._state = state

    async def answer(self) -> Mapping[str, str]:
        """Wait for the browser and return the parameters of its request. They are secrets."""
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
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return TOO_LONG, None
        request = read_request(head)
        if request is None:
            return MALFORMED, None
        if request.host.lower() != self._authority:
            return MISDIRECTED, None
        if not is_same(request.path, self._path):
            return UNKNOWN, None
        if request.method != "GET":
            return NOT_A_GET, None
        return self._taken(read_parameters(request.query))

    def _taken(self, parameters: Mapping[str, str] | None) -> tuple[RedirectPage, Mapping[str, str] | None]:
        if parameters is None or (self._state is not None and not is_same(parameters.get("state", ""), self._state)):
            self.has_refused = True
            return FOREIGN, None
        if self._is_taken:
            return REPLAYED, None
        self._is_taken = True
        return (DECLINED if "error" in parameters else TAKEN), parameters


def read_request(head: bytes) -> Request | None:
    """Return the request with this head; `None` if it is not HTTP/1 with exactly one host."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    parts = first.split(" ")
    fields = (line.partition(":") for line in lines)
    hosts = [value.strip() for name, colon, value in fields if colon and name.lower() == "host"]
    if len(parts) != 3 or not parts[2].startswith("HTTP/1.") or len(hosts) != 1:
        return None
    method, target, _ = parts
    path, _, query = target.partition("?")
    return Request(method, path, query, hosts[0])


def read_parameters(query: str) -> Mapping[str, str] | None:
    """Return the parameters of a query; `None` if one is repeated, or there are too many."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS, errors="strict")
    except ValueError:
        return None
    parameters = dict(pairs)
    return parameters if len(parameters) == len(pairs) else None


LIMIT_S = 600.0


class Browser(Protocol):
    async def open(self, address: str) -> bool: ...

    def show(self, address: str) -> None: ...


async def code_from_browser(
    service: str, address: str, receiver: RedirectReceiver, browser: Browser, clock: Clock
) -> Mapping[str, str]:
    """Have the user sign in at `address`, and return the answer with its `code`. Raises `CredentialsError`."""
    opening = asyncio.ensure_future(_open(browser, address))
    answer, limit = asyncio.ensure_future(receiver.answer()), asyncio.ensure_future(clock.sleep(LIMIT_S))
    try:
        await asyncio.wait({answer, limit, opening}, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()
            await asyncio.wait({answer, limit}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise _timed_out(service, has_refused=receiver.has_refused)
        parameters = answer.result()
    finally:
        for one in (opening, answer, limit):
            one.cancel()
        await asyncio.gather(opening, answer, limit, return_exceptions=True)
    if "error" in parameters:
        raise _declined(service, parameters["error"])
    if not parameters.get("code"):
        raise CredentialsError(f"{service} sent the browser back without an answer.", hint="Sign in again.")
    return parameters


async def _open(browser: Browser, address: str) -> None:
    if not await browser.open(address):
        browser.show(address)


def _timed_out(service: str, *, has_refused: bool) -> CredentialsError:
    if has_refused:
        return CredentialsError(
            f"The browser's answer belongs to another sign-in, not to this one with {service}.",
            hint="Close older sign-in pages, then sign in again.",
        )
    return CredentialsError(
        f"The sign-in with {service} was not finished within {LIMIT_S / 60:.0f} minutes.",
        hint="Sign in again, and finish it in the browser.",
    )


def _declined(service: str, code: str) -> CredentialsError:
    """Return the error for an error code in the browser's answer: RFC 6749 4.1.2.1."""
    if code == "access_denied":
        return CredentialsError(
            f"The sign-in with {service} was declined.",
            hint="Nothing was saved. Sign in again and allow it, or use an API key.",
        )
    return CredentialsError(
        f"{service} did not sign you in.",
        hint="Try again, or use an API key.",
        detail=f"its error: {code}" if ERROR_CODE.fullmatch(code) else "it gave no error that can be shown",
    )


def _no_port(port: int, error: OSError) -> CredentialsError:
    detail = f"{type(error).__name__} {error.errno}"
    if port:
        return CredentialsError(
            f"The browser could not send the answer back: port {port} of this machine cannot be opened.",
            hint="Close the program that uses the port, or register another port with the service.",
            detail=detail,
        )
    return CredentialsError(
        "The browser could not send the answer back: no port of this machine can be opened.",
        hint="Allow the application to listen on 127.0.0.1, or use an API key.",
        detail=detail,
    )
