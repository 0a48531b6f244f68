"""Builds the HTTP clients for models and for pages. Call it from a thread: certificates take some 20 ms.

Neither client reads the environment on its own or follows redirects; both keep cookies for as long as they live. The
client of `web_search` is its own: it reads the environment's proxies and follows redirects.
"""

import os
import socket
import sys
from collections.abc import Mapping

import httpx2

from desktop_agent.core.network.guard import GuardedTransport
from desktop_agent.core.network.proxies import Proxy, unusable_proxy
from desktop_agent.core.network.trust import tls_context

_KEEP_ALIVE_S = 60


def model_client(
    *, proxy: Proxy | None, timeout: httpx2.Timeout, environ: Mapping[str, str] = os.environ
) -> httpx2.AsyncClient:
    """Return a client for an address that gets a key. Raises `ProviderError` when it cannot be built."""
    context = tls_context(environ)
    try:
        through = httpx2.Proxy(proxy.url) if proxy is not None else None
        if through is not None and through.url.scheme == "https":
            through.ssl_context = context  # TLS to the proxy itself
        transport = httpx2.AsyncHTTPTransport(
            verify=context, trust_env=False, proxy=through, socket_options=_keeping_alive()
        )
    except (ValueError, ImportError, httpx2.InvalidURL):
        raise unusable_proxy(proxy.named_by if proxy is not None else "the environment") from None
    guarded = GuardedTransport(transport, head_s=timeout.read or _KEEP_ALIVE_S)
    return httpx2.AsyncClient(
        transport=guarded,
        timeout=timeout,
        trust_env=False,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
    )


def direct_client(headers: Mapping[str, str], *, timeout_s: float) -> httpx2.AsyncClient:
    """Return a client for pages, without proxies and without a key; the caller bounds and judges what comes."""
    return httpx2.AsyncClient(
        trust_env=False, follow_redirects=False, timeout=httpx2.Timeout(timeout_s), headers=dict(headers)
    )


def _keeping_alive() -> list[tuple[int, int, int]]:
    """Options that notice a connection whose other end has vanished, as the SDK sets them."""
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
