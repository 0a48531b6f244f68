"""The way to whoever a server names for a sign-in: bounded, never unencrypted, and not into this machine."""

import asyncio
from urllib.parse import urlsplit

import httpx2

from desktop_agent.core.base.errors import ProviderError, ServerError
from desktop_agent.core.base.web_address import address_of, is_loopback, is_readable_on_the_way
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.mcp.sdk.http import http_faults as faults
from desktop_agent.core.system.network.connections import proxy_for
from desktop_agent.core.system.network.http_client import server_transport

_MOST_BYTES = 1024 * 1024
"""The longest answer: a description of a server, or tokens."""


class SignInTransport(httpx2.AsyncBaseTransport):
    """Sends each request by the proxy for its own address. A server may name any address, so each is judged."""

    def __init__(self, server: Address) -> None:
        self._server = server
        self._is_local = is_loopback(urlsplit(server.url).hostname or "")
        self._ways: dict[str, httpx2.AsyncBaseTransport] = {}
        self.asked_last = address_of(server.url) or server.url
        """The last address that a request went to, for people."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        address = self.require_allowed(str(request.url))
        self.asked_last = address
        response = await (await self._way_to(address)).handle_async_request(request)
        try:
            content = await _read(response)
        finally:
            await response.aclose()
        return httpx2.Response(
            response.status_code, headers=response.headers, content=content, extensions=response.extensions
        )

    async def aclose(self) -> None:
        for way in self._ways.values():
            await way.aclose()

    def require_allowed(self, url: str) -> str:
        """Return the address of `url` for people. Raises `ServerError` for one where nothing may be sent or opened."""
        address = address_of(url)
        if address is None:
            raise faults.no_address()
        is_own = address == address_of(self._server.url)
        if is_readable_on_the_way(address) and not (is_own and self._server.allow_unencrypted):
            raise faults.readable(address)
        if is_loopback(urlsplit(url).hostname or "") and not self._is_local:
            raise ServerError(f"It names {address}, on this machine, for the sign-in. Nothing was sent there.")
        return address

    async def _way_to(self, address: str) -> httpx2.AsyncBaseTransport:
        if address not in self._ways:
            try:
                proxy = proxy_for(address)
                self._ways[address] = await asyncio.to_thread(server_transport, proxy=proxy)
            except ProviderError as error:
                raise ServerError(error.title, hint=error.hint, detail=error.detail) from error
        return self._ways[address]


async def _read(response: httpx2.Response) -> bytes:
    """Return the body; nothing of events, of which none says anything about a sign-in."""
    if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise faults.packed()
    if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        return b""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    content = bytearray()
    async for piece in response.stream:
        content += piece
        if len(content) > _MOST_BYTES:
            raise faults.too_large(_MOST_BYTES)
    return bytes(content)
