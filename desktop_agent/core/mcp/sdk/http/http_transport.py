"""Reaching a server by streamable HTTP: the SDK's transport over a client of ours."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from desktop_agent.core.base.errors import ProviderError, ServerError
from desktop_agent.core.base.web_address import address_of, is_readable_on_the_way
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.mcp.sdk.http import http_faults as faults
from desktop_agent.core.mcp.sdk.http.http_link import HttpLink, TokenAccess
from desktop_agent.core.mcp.sdk.lines import MOST_BYTES
from desktop_agent.core.system.network.connections import Proxy, proxy_for
from desktop_agent.core.system.network.http_client import server_client, server_transport

_TIMES = httpx2.Timeout(None, connect=10.0, write=30.0)
"""An answer may take as long as its call; that is bounded where it is called."""


@asynccontextmanager
async def reaching(
    address: Address, secrets: Mapping[str, str], access: TokenAccess
) -> AsyncGenerator[tuple[HttpLink, Transport]]:
    """Give the way to a server, and the transport that goes it; nothing is sent yet.

    The headers of the address go with every request, and the `secrets` as well, which are shown nowhere.
    `access` is asked for a token when the server wants one.

    Raises `ServerError` for an address that is not to be used.
    """
    logging.getLogger("mcp.client.streamable_http").addFilter(_quotes_nothing)  # that it failed is said by us
    shown = address_of(address.url)
    if shown is None:
        raise faults.no_address()
    if is_readable_on_the_way(address.url) and not address.allow_unencrypted:
        raise faults.readable(shown)
    try:
        proxy = proxy_for(address.url)
        _require_unread(shown, address, proxy)
        inner = await asyncio.to_thread(server_transport, proxy=proxy)
    except ProviderError as error:
        raise ServerError(error.title, hint=error.hint, detail=error.detail) from error
    link = HttpLink(inner, shown, proxy, {**address.headers, **secrets}, access)
    async with server_client(link, timeout=_TIMES) as client:
        yield link, streamable_http_client(address.url, http_client=client, max_sse_event_size=MOST_BYTES)


def _quotes_nothing(record: logging.LogRecord) -> bool:
    """Whether a line of the SDK's log has no traceback, which would quote what a server answered."""
    return record.exc_info is None


def _require_unread(shown: str, address: Address, proxy: Proxy | None) -> None:
    if proxy is not None and is_readable_on_the_way(address.url):
        raise faults.readable_by_proxy(shown, proxy)
