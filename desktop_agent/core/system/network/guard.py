"""A transport that bounds what an address may answer, for connections that carry a key.

It follows no redirect, unpacks nothing, waits for the head of an answer only so long, and ends a body at its bound. The
HTTP library bounds the head itself (100 KB).
"""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urljoin

import httpx2
from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.web_address import address_of
from desktop_agent.core.system.network.bounds import (
    MAX_BODY_BYTES,
    MAX_ERROR_BYTES,
    MAX_STREAM_BYTES,
    MAX_STREAM_S,
    oversized,
)

_STREAM_TYPE = "text/event-stream"


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Passes requests on to `inner`. Raises `ProviderError` for an answer that is not acceptable."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, head_s: float) -> None:
        self._inner = inner
        self._head_s = head_s

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._answer(request)
        try:
            _require_acceptable(request, response)
        except ProviderError:
            await response.aclose()
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, _bound_of(response))
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response once its head is there. Interim answers (1xx) may come for ever, each in time."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as limit:

                async def follow(step: str, _info: object) -> None:
                    if step.endswith("receive_response_headers.started"):  # sending may take as long as it takes
                        limit.reschedule(loop.time() + self._head_s)

                request.extensions = {**request.extensions, "trace": follow}
                return await self._inner.handle_async_request(request)
        except TimeoutError:
            raise httpx2.ReadTimeout("no answer in time", request=request) from None


class _Bound(Struct, frozen=True):
    size: int
    is_cut: bool
    """Whether what is beyond it is left out, instead of being an error."""


class _Bounded(httpx2.AsyncByteStream):
    """A body up to its bound."""

    def __init__(self, inner: httpx2.AsyncByteStream, bound: _Bound) -> None:
        self._inner = inner
        self._bound = bound

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        size = 0
        async for piece in self._inner:
            size += len(piece)
            if size > self._bound.size and self._bound.is_cut:
                yield piece[: len(piece) - (size - self._bound.size)]
                return
            if size > self._bound.size:
                raise oversized(f"more than {self._bound.size:,} bytes")
            if loop.time() - began > MAX_STREAM_S:
                raise oversized(f"more than {MAX_STREAM_S:,.0f} seconds")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


def _bound_of(response: httpx2.Response) -> _Bound:
    if not response.is_success:
        return _Bound(MAX_ERROR_BYTES, is_cut=True)
    is_stream = response.headers.get("content-type", "").startswith(_STREAM_TYPE)
    return _Bound(MAX_STREAM_BYTES if is_stream else MAX_BODY_BYTES, is_cut=False)


def _require_acceptable(request: httpx2.Request, response: httpx2.Response) -> None:
    here = address_of(str(request.url)) or request.url.host
    if 300 <= response.status_code < 400:
        raise _redirected(request, response, here)
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise ProviderError(
            f"{here} packed its answer, although it was asked not to, so the answer was not read.",
            fault="unacceptable",
            hint="Check the model's address, and a gateway before it: compression must be off.",
            detail=f"content-encoding: {coding[:100]!r}",
        )


def _redirected(request: httpx2.Request, response: httpx2.Response, here: str) -> ProviderError:
    try:
        target = urljoin(str(request.url), response.headers.get("location", ""))
    except ValueError:
        target = ""
    there = address_of(target) or "another address"
    return ProviderError(
        f"{here} redirects to {there}. Neither the key nor the conversation was sent there.",
        fault="configuration",
        hint=f"If {there} is right, enter it as the model's address in Settings or with --base-url.",
        detail=f"HTTP {response.status_code}",
    )
