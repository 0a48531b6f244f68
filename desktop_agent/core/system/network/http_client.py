"""Builds the HTTP clients for models, MCP servers, pages and telemetry. Blocks for 20 ms: use a thread."""

import asyncio
import os
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urljoin

import httpx2

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.web_address import address_of
from desktop_agent.core.system.network.connections import (
    MAX_BODY_BYTES,
    MAX_ERROR_BYTES,
    MAX_STREAM_BYTES,
    MAX_STREAM_S,
    Proxy,
    oversized,
    unusable_proxy,
)

if TYPE_CHECKING:
    from requests import Session

_KEEP_ALIVE_S = 60


def model_client(address: str, *, proxy: Proxy | None, timeout: httpx2.Timeout) -> httpx2.AsyncClient:
    """A client for an address that gets a key. Raises `ProviderError`."""
    transport = server_transport(proxy, needs_tls=not address.lower().startswith("http://"))
    guarded = GuardedTransport(transport, head_s=timeout.read or _KEEP_ALIVE_S)
    return _client(guarded, timeout, {"Accept-Encoding": "identity"})


def page_client(headers: Mapping[str, str], *, timeout_s: float, proxy: Proxy | None) -> httpx2.AsyncClient:
    """A client for pages: it sends no key, and does not limit answers. Raises `ProviderError`."""
    return _client(server_transport(proxy), httpx2.Timeout(timeout_s), headers)


def server_client(transport: httpx2.AsyncBaseTransport, *, timeout: httpx2.Timeout) -> httpx2.AsyncClient:
    """The `transport` adds credentials, and limits and checks the answers."""
    return _client(transport, timeout, {"Accept-Encoding": "identity"})


def exporter_session(proxy: Proxy | None) -> "Session":
    """The session for OpenTelemetry's exporter ignores `~/.netrc` and rejects cookies."""
    import requests  # only telemetry uses this library

    session = requests.Session()
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
    if proxy is not None:
        session.proxies = {"https": proxy.url, "http": proxy.url}
    return session


def _client(
    transport: httpx2.AsyncBaseTransport, timeout: httpx2.Timeout, headers: Mapping[str, str]
) -> httpx2.AsyncClient:
    # This cookie jar accepts nothing, so that a site cannot link one call or session to the next.
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx2.AsyncClient(
        transport=transport,
        timeout=timeout,
        trust_env=False,
        follow_redirects=False,
        cookies=cookies,
        headers=dict(headers),
    )


def server_transport(proxy: Proxy | None, *, needs_tls: bool = True) -> httpx2.AsyncHTTPTransport:
    """A transport that does not limit answers. Raises `ProviderError`.

    Without `needs_tls`, no certificates are read, which takes 25 ms, and no server behind `https` is trusted.
    """
    try:
        through = httpx2.Proxy(proxy.url) if proxy is not None else None
        is_tls_proxy = through is not None and through.url.scheme == "https"
        context = _tls_context(os.environ) if needs_tls or is_tls_proxy else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if through is not None and is_tls_proxy:
            through.ssl_context = context  # TLS to the proxy itself
        return httpx2.AsyncHTTPTransport(
            verify=context, trust_env=False, proxy=through, socket_options=_keeping_alive()
        )
    except (ValueError, ImportError, httpx2.InvalidURL):
        raise unusable_proxy(proxy.named_by if proxy is not None else "the environment") from None


def _tls_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    for variable, exists in (("SSL_CERT_FILE", Path.is_file), ("SSL_CERT_DIR", Path.is_dir)):
        named = environ.get(variable)
        if named and not exists(Path(named)):
            raise _unusable_certificates(
                variable, named, "does not exist" if not Path(named).exists() else "is of another kind"
            )
    try:
        return httpx2.create_ssl_context()
    except (OSError, ssl.SSLError) as error:
        variable = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if environ.get(name)), "")
        if not variable:
            raise
        raise _unusable_certificates(variable, environ[variable], f"cannot be read: {error}") from None


def _unusable_certificates(variable: str, named: str, why: str) -> ProviderError:
    kind = "file with certificates" if variable == "SSL_CERT_FILE" else "folder with certificates"
    return ProviderError(
        f"{variable} names {named}, which {why}.",
        fault="configuration",
        hint=f"Set {variable} to a {kind}, or unset it to use the certificates of the system.",
    )


def _keeping_alive() -> list[tuple[int, int, int]]:
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    interval = getattr(socket, "TCP_KEEPINTVL", None)
    if interval is not None:
        options.append((socket.IPPROTO_TCP, interval, _KEEP_ALIVE_S))
    elif sys.platform == "darwin":
        options.append((socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPALIVE", 0x10), _KEEP_ALIVE_S))
    for name, value in (("TCP_KEEPCNT", 5), ("TCP_KEEPIDLE", _KEEP_ALIVE_S)):
        if (option := getattr(socket, name, None)) is not None:
            options.append((socket.IPPROTO_TCP, option, value))
    return options


_STREAM_TYPES = ("text/event-stream", "application/vnd.amazon.eventstream")


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Passes requests on to `inner`. Raises `ProviderError` for redirects, and for compressed or oversized answers."""

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
        is_stream = response.headers.get("content-type", "").startswith(_STREAM_TYPES)
        most = MAX_ERROR_BYTES if not response.is_success else MAX_STREAM_BYTES if is_stream else MAX_BODY_BYTES
        response.stream = _Bounded(response.stream, most, is_cut=not response.is_success)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as limit:

                async def follow(step: str, _info: object) -> None:
                    if step.endswith("receive_response_headers.started"):  # sending may be slow: the limit starts here
                        limit.reschedule(loop.time() + self._head_s)

                request.extensions = {**request.extensions, "trace": follow}
                return await self._inner.handle_async_request(request)
        except TimeoutError:
            raise httpx2.ReadTimeout("no answer in time", request=request) from None


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most_bytes: int, *, is_cut: bool) -> None:
        """If the body exceeds `most_bytes`, the rest is dropped when `is_cut`; otherwise `ProviderError` is raised."""
        self._inner = inner
        self._most_bytes = most_bytes
        self._is_cut = is_cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        size = 0
        async with aclosing(cast("AsyncGenerator[bytes]", aiter(self._inner))) as pieces:
            async for piece in pieces:
                size += len(piece)
                if size > self._most_bytes and self._is_cut:
                    yield piece[: len(piece) - (size - self._most_bytes)]
                    return
                if size > self._most_bytes:
                    raise oversized(f"more than {self._most_bytes:,} bytes")
                if loop.time() - began > MAX_STREAM_S:
                    raise oversized(f"more than {MAX_STREAM_S:,.0f} seconds")
                yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


def _require_acceptable(request: httpx2.Request, response: httpx2.Response) -> None:
    here = address_of(str(request.url)) or request.url.host
    if 300 <= response.status_code < 400:
        raise _redirected(request, response, here)
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise ProviderError(
            f"{here} compressed its answer, although it was asked not to, so the answer was not read.",
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
