"""Reaching a server by streamable HTTP: the SDK's transport over another client, with limits and readable failures.

A failure becomes a protocol answer with a mark, because an exception would end all requests of the SDK's transport.
"""

import asyncio
import json
import logging
import secrets
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress

import httpx2
from mcp import MCPError
from mcp.client import Transport
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.client.streamable_http import streamable_http_client
from msgspec import Struct

from desktop_agent.core.base.errors import AgentError, ProviderError, ServerError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.base.web_address import address_of, is_readable_on_the_way
from desktop_agent.core.mcp.client import BearerTokens, Challenge, ConnectionLostError, SignInNeededError
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.protocol.codec import as_object, text_in
from desktop_agent.core.system.network.connections import Proxy, causes_of, names_of, proxy_for
from desktop_agent.core.system.network.http_client import server_client, server_transport
from desktop_agent.core.system.processes.line_process import MOST_BYTES

logger = logging.getLogger(__name__)


class SessionGoneError(ConnectionLostError):
    """The server has forgotten the connection. The next call opens a new one."""


def no_address() -> ServerError:
    return ServerError("Its URL is not a web address.", hint="Write it in full: https://host/mcp.")


def readable(address: str) -> ServerError:
    return ServerError(
        f"Nothing was sent: {address} is not encrypted, so others on the way could read and change everything.",
        hint="Use its https:// address, or set allow_unencrypted = true for this server in the settings file.",
    )


def refused(status: int, address: str) -> ServerError:
    title, hint = _REFUSALS.get(status, ("", ""))
    if not title and status >= 500:
        title, hint = "It failed by itself", "It is tried again when it is needed. Its own log says more."
    return ServerError(f"{title or 'It refused the request'} (HTTP {status}).", hint=hint, detail=address)


_REFUSALS = {
    401: ("It does not take the credential in its header", "Remove the server, and add it again with another one."),
    403: ("It does not allow this", "The credential may lack a right, or the server may be closed to this network."),
    404: ("There is no MCP server at this address", "Check the path of its URL; for many it is /mcp."),
    405: ("It takes no MCP messages at this address", "Check the path of its URL; for many it is /mcp."),
    429: ("It was asked too often", "Wait a moment, and try again."),
}


def unreachable(error: Exception, address: str, proxy: Proxy | None) -> ServerError:
    causes = list(causes_of(error))
    if known := next((cause for cause in causes if isinstance(cause, AgentError)), None):
        return known if isinstance(known, ServerError) else ServerError(known.title, hint=known.hint)
    title, hint = _words(causes, address)
    if proxy is not None:
        hint = f"{hint} The connection goes through the proxy {proxy.address} ({proxy.named_by}).".strip()
    return ConnectionLostError(title, hint=hint, detail=f"{address}: {names_of(causes)}")


def _words(causes: list[BaseException], address: str) -> tuple[str, str]:
    for cause in causes:
        match cause:
            case httpx2.ProxyError():
                return "The proxy refused the connection.", "Ask who runs it, or change the variable that names it."
            case httpx2.LocalProtocolError() | UnicodeEncodeError():
                return "A header for this server cannot be sent.", "Headers have only letters of ASCII, in one line."
            case socket.gaierror():
                return f"The name in {address} is unknown.", "Check the address and the network connection."
            case ssl.SSLCertVerificationError():
                return (
                    f"The certificate of {address} cannot be trusted.",
                    "For one that your organisation made, let SSL_CERT_FILE name the file with its authority.",
                )
            case ssl.SSLError():
                return f"{address} offers no encrypted connection that can be trusted.", "Check the address."
            case ConnectionRefusedError():
                return f"Nothing listens at {address}.", "Start the server, or check the address."
            case httpx2.TimeoutException():
                return f"{address} does not answer.", "Check the address and the network connection."
            case httpx2.RemoteProtocolError():
                return f"{address} does not speak HTTP, or broke off.", "Check the address."
            case _:
                pass
    return f"{address} could not be reached.", "Check the address and the network connection."


_HEADER = regex(r"[\x20-\x7e]{1,2000}")
_SCOPE = regex(r"[\x21\x23-\x5b\x5d-\x7e]+")

_STATUS = 403


def challenge_in(response: httpx2.Response) -> Challenge | None:
    """Return the scopes that a server asks for when a token has too few; `None` for any other answer."""
    header = response.headers.get("www-authenticate", "")
    if response.status_code != _STATUS or _HEADER.fullmatch(header) is None:
        return None
    if extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    scopes = frozenset((extract_scope_from_www_auth(response) or "").split())
    if not scopes or not all(map(_SCOPE.fullmatch, scopes)):
        return None
    return Challenge(header=header, scopes=scopes)


class ChallengedTransport(httpx2.AsyncBaseTransport):
    """Answers the next request with a stored challenge, so that the SDK signs in again."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self._challenge: httpx2.Response | None = None

    def challenge(self, header: str) -> None:
        self._challenge = httpx2.Response(_STATUS, headers={"WWW-Authenticate": header})

    def want_token(self) -> None:
        self._challenge = httpx2.Response(401)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        challenge, self._challenge = self._challenge, None
        return challenge if challenge is not None else await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


_MOST_ERROR_BYTES = 64 * 1024

_SESSION = "mcp-session-id"
_MARK = "desktop-agent/failure"
_FAILED = 500
_MOST_FAILURES = 100
_MOST_TOKENS = 4
"""How often a request is sent: without a token, with the stored one, a renewed one, and one with more rights."""


class TokenAccess(Struct, frozen=True, kw_only=True):
    name: str
    tokens: Callable[[], Awaitable[BearerTokens]]
    """Returns the tokens of the user's sign-in. Raises `SignInNeededError` if there is none."""
    hide: Callable[[Collection[str]], None]
    """Called with the secrets of a token, which are then masked in the server's log."""


class HttpLink(httpx2.AsyncBaseTransport):
    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        address: str,
        proxy: Proxy | None,
        headers: Mapping[str, str],
        access: TokenAccess,
    ) -> None:
        """`address` is for display. `headers` are sent with every request; their values are never shown."""
        self._inner = inner
        self._address = address
        self._headers = headers
        self._access = access
        self._tokens: BearerTokens | None = None
        self._hidden = {word for value in headers.values() for word in (value, *value.split())}
        self._proxy = proxy
        self._failures: dict[str, ServerError] = {}
        self._over: asyncio.Future[ServerError] = asyncio.get_running_loop().create_future()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._over.done():
            return self._failed(request, self._over.result())
        try:
            request.headers.update(self._headers)
            return await self._judged(request, await self._answer(request))
        except (httpx2.HTTPError, httpx2.StreamError, OSError, UnicodeError) as error:
            failure = unreachable(error, self._address, self._proxy)
            self.end(failure)
            return self._failed(request, failure)
        except ServerError as failure:
            if isinstance(failure, SignInNeededError) and not failure.scopes:
                self.end(failure)  # if only more permissions are wanted, the connection goes on
            return self._failed(request, failure)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def end(self, why: ServerError) -> None:
        if not self._over.done():
            self._over.set_result(why)

    async def ended(self) -> str:
        """Return when the server has forgotten the connection. Raises the `ServerError` that ended it, if one did."""
        why = await asyncio.shield(self._over)
        if isinstance(why, SessionGoneError):
            return ""
        raise why

    def failure_in(self, error: MCPError) -> ServerError | None:
        return self._failures.pop(text_in(as_object(error.error.data), _MARK), None)

    def hidden(self, text: str) -> str:
        return mask(text, self._hidden)

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, with a token if the server has asked for one. If the token is refused, try another."""
        has_credential = "authorization" in map(str.lower, self._headers)
        token = await self._tokens.access_token() if self._tokens is not None else ""
        for _ in range(_MOST_TOKENS):
            if token:
                self._hidden.add(token)
                self._access.hide((token,))
                request.headers["Authorization"] = f"Bearer {token}"
            response = await self._inner.handle_async_request(request)
            challenge = challenge_in(response) if token else None
            if (response.status_code != 401 and challenge is None) or has_credential:
                return response
            await response.aclose()
            if self._tokens is None:
                self._tokens = await self._access.tokens()
                token = await self._tokens.access_token()
            elif challenge is None:
                token = await self._tokens.refused(token)
            else:
                token = await self._tokens.insufficient(token, challenge)
        raise SignInNeededError(self._access.name)

    def _failed(self, request: httpx2.Request, failure: ServerError) -> httpx2.Response:
        if request.method == "DELETE":  # a farewell that does not arrive
            return httpx2.Response(204, request=request)
        logger.info("A request to %s failed: %s", self._address, failure.title)
        mark = secrets.token_hex(16)
        while len(self._failures) >= _MOST_FAILURES:  # of requests that nobody waited for
            del self._failures[next(iter(self._failures))]
        self._failures[mark] = failure
        error = {"code": -32000, "message": failure.title, "data": {_MARK: mark}}
        return httpx2.Response(_FAILED, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)

    async def _judged(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        try:
            if has_events(response) and response.is_success:
                return response  # the SDK bounds each event
            content = await read_body(response, MOST_BYTES, _MOST_ERROR_BYTES)
        except BaseException:
            await response.aclose()
            raise
        await response.aclose()
        if response.status_code >= 400 and request.method == "POST":
            self._require_protocol(request, response.status_code, _message(content))
        return httpx2.Response(
            response.status_code, headers=response.headers, content=content, extensions=response.extensions
        )

    def _require_protocol(self, request: httpx2.Request, status: int, message: Mapping[str, object]) -> None:
        """Raise `ServerError` unless an error response contains a protocol error, which the SDK understands."""
        is_error = isinstance(message.get("error"), dict)
        has_session = _SESSION in request.headers
        # 404 is what the protocol says; servers of the TypeScript SDK's examples answer 400 to nobody.
        if has_session and (status == 404 or (status == 400 and message.get("id") is None)):
            failure = SessionGoneError(
                "The server has forgotten this connection, so the call was not carried out.",
                hint="Call it again: that reconnects.",
            )
            self.end(failure)
            raise failure
        if status in (401, 403) or not is_error:
            raise refused(status, self._address)


def has_events(response: httpx2.Response) -> bool:
    """Whether the answer is a stream of events. Raises `ServerError` if it is compressed."""
    if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise ServerError(
            "It compressed its answer, although it was asked not to, so the answer was not read.",
            hint="Compression must be off, also in a gateway before it.",
        )
    return response.headers.get("content-type", "").lower().startswith("text/event-stream")


async def read_body(response: httpx2.Response, most_bytes: int, most_error_bytes: int | None = None) -> bytes:
    """Read at most `most_bytes`, or `most_error_bytes` of an error response. Raises `ServerError`."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    content = bytearray()
    async for piece in response.stream:
        content += piece
        if most_error_bytes is not None and not response.is_success and len(content) > most_error_bytes:
            break
        if len(content) > most_bytes:
            raise ServerError(f"It sent a message of more than {most_bytes // 1024**2} MiB.")
    return bytes(content)


def _message(content: bytes) -> Mapping[str, object]:
    with suppress(ValueError, RecursionError):
        return as_object(json.loads(content))
    return {}


_TIMES = httpx2.Timeout(None, connect=10.0, write=30.0)
"""There is no time limit for reading, because the call has its own."""


@asynccontextmanager
async def reaching(
    address: Address, secrets: Mapping[str, str], access: TokenAccess
) -> AsyncGenerator[tuple[HttpLink, Transport]]:
    """Prepare the transport to a server, without sending anything. Raises `ServerError` for an unusable address."""
    logging.getLogger("mcp.client.streamable_http").addFilter(_quotes_nothing)  # failures are reported by us
    shown = address_of(address.url)
    if shown is None:
        raise no_address()
    if is_readable_on_the_way(address.url) and not address.allow_unencrypted:
        raise readable(shown)
    try:
        proxy = proxy_for(address.url)
        if proxy is not None and is_readable_on_the_way(address.url):
            raise ServerError(
                f"Nothing was sent: the proxy {proxy.address} could read and change everything.",
                hint=f"{shown} is not encrypted, and {proxy.named_by} names this proxy. Use an https:// address, or "
                "add the host to NO_PROXY.",
            )
        inner = await asyncio.to_thread(server_transport, proxy=proxy)
    except ProviderError as error:
        raise ServerError(error.title, hint=error.hint, detail=error.detail) from error
    link = HttpLink(inner, shown, proxy, {**address.headers, **secrets}, access)
    async with server_client(link, timeout=_TIMES) as client:
        yield link, streamable_http_client(address.url, http_client=client, max_sse_event_size=MOST_BYTES)


def _quotes_nothing(record: logging.LogRecord) -> bool:
    """Drop records of the SDK with a traceback, which would quote an answer of the server."""
    return record.exc_info is None
