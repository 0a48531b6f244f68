"""The way to a server at an address: adds the headers, bounds what comes, and says in words what went wrong.

The SDK's transport ends with all of its requests when one of them raises. So none does: a failure becomes an answer of
the protocol that carries the mark of the failure, and the caller of that one request gets it in words.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from typing import cast

import httpx2
from mcp import MCPError
from msgspec import Struct

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.mcp.client import BearerTokens, SignInNeededError
from desktop_agent.core.mcp.sdk.http import http_faults as faults
from desktop_agent.core.mcp.sdk.http.challenges import challenge_in
from desktop_agent.core.mcp.sdk.lines import MOST_BYTES
from desktop_agent.core.system.network.connections import Proxy

logger = logging.getLogger(__name__)

_MOST_ERROR_BYTES = 64 * 1024
"""How much is read of an answer that refuses; more is a page that nobody asked for."""

_SESSION = "mcp-session-id"
_MARK = "desktop-agent/failure"
_FAILED = 500
_MOST_FAILURES = 100
_MOST_TOKENS = 4
"""None, the one that is kept, the one that renews it, and one that allows more."""


class TokenAccess(Struct, frozen=True, kw_only=True):
    """How a connection comes by the user's sign-in, when the server asks for one."""

    name: str
    """The server's, for hints."""
    tokens: Callable[[], Awaitable[BearerTokens]]
    """Raises `SignInNeededError` without a sign-in."""
    hide: Callable[[Collection[str]], None]
    """Masks what a token brings into the log of the server."""


class HttpLink(httpx2.AsyncBaseTransport):
    """One connection's way to its server. Belongs to one event loop."""

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        address: str,
        proxy: Proxy | None,
        headers: Mapping[str, str],
        access: TokenAccess,
    ) -> None:
        """`address` is what people see; `headers` go with every request, and their values are shown nowhere."""
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
            failure = faults.unreachable(error, self._address, self._proxy)
            self.end(failure)
            return self._failed(request, failure)
        except ServerError as failure:
            if isinstance(failure, SignInNeededError) and not failure.scopes:
                self.end(failure)  # what needs no more than it has goes on
            return self._failed(request, failure)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def end(self, why: ServerError) -> None:
        """Send nothing more: whoever has the connection gives it up."""
        if not self._over.done():
            self._over.set_result(why)

    async def ended(self) -> str:
        """Return when the server has forgotten the connection, or raise the `ServerError` that ended it."""
        why = await asyncio.shield(self._over)
        if isinstance(why, faults.SessionGoneError):
            return ""
        raise why

    def failure_in(self, error: MCPError) -> ServerError | None:
        """Return the failure that an answer of ours stands for; a server cannot make one up."""
        data: object = error.error.data
        mark = cast("dict[str, object]", data).get(_MARK) if isinstance(data, dict) else None
        return self._failures.pop(mark, None) if isinstance(mark, str) else None

    def hidden(self, text: str) -> str:
        """Return what a server said, without the credentials it was given."""
        return mask(text, self._hidden)

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, with a token once the server has asked for one, and with another one if it refuses that."""
        token = await self._tokens.access_token() if self._tokens is not None else ""
        for _ in range(_MOST_TOKENS):
            if token:
                self._hidden.add(token)
                self._access.hide((token,))
                request.headers["Authorization"] = f"Bearer {token}"
            response = await self._inner.handle_async_request(request)
            challenge = challenge_in(response) if token else None
            if (response.status_code != 401 and challenge is None) or self._has_credential:
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

    @property
    def _has_credential(self) -> bool:
        """Whether the user gave one as a header, so that no sign-in is of use."""
        return "authorization" in map(str.lower, self._headers)

    def _failed(self, request: httpx2.Request, failure: ServerError) -> httpx2.Response:
        """Return the answer that carries a failure to the one who asked."""
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
        """Return the answer for the SDK, whole unless it is a stream. Raises `ServerError` for what is none."""
        try:
            if _is_stream(response):
                return response  # the SDK bounds each event
            content = await _read(response)
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
        """Raise `ServerError` unless a refusal is an error of the protocol, which the SDK understands."""
        is_error = isinstance(message.get("error"), dict)
        has_session = _SESSION in request.headers
        # 404 is what the protocol says; servers of the TypeScript SDK's examples answer 400 to nobody.
        if has_session and (status == 404 or (status == 400 and message.get("id") is None)):
            failure = faults.session_gone()
            self.end(failure)
            raise failure
        if status in (401, 403) or not is_error:
            raise faults.refused(status, self._address)


def _is_stream(response: httpx2.Response) -> bool:
    """Whether an answer comes in events. Raises `ServerError` for one that must be unpacked first."""
    if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise faults.packed()
    return response.is_success and response.headers.get("content-type", "").lower().startswith("text/event-stream")


async def _read(response: httpx2.Response) -> bytes:
    """Return the body. Raises `ServerError` when it is too large, and what the network raises."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    content = bytearray()
    async for piece in response.stream:
        content += piece
        if not response.is_success and len(content) > _MOST_ERROR_BYTES:
            break
        if len(content) > MOST_BYTES:
            raise faults.too_large(MOST_BYTES)
    return bytes(content)


def _message(content: bytes) -> Mapping[str, object]:
    with suppress(ValueError, RecursionError):
        found: object = json.loads(content)
        if isinstance(found, dict):
            return cast("dict[str, object]", found)
    return {}
