"""Builds the HTTP clients for models, MCP servers, pages and telemetry. Call it from a thread.

Certificates take some 20 ms. No other module makes one. No client reads proxies from the environment on its own,
follows redirects or keeps cookies.
"""

import os
import socket
import ssl
import sys
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.system.network.guard import GuardedTransport
from desktop_agent.core.system.network.proxies import Proxy, unusable_proxy

if TYPE_CHECKING:
    from requests import Session

_KEEP_ALIVE_S = 60


def model_client(
    *, proxy: Proxy | None, timeout: httpx2.Timeout, environ: Mapping[str, str] = os.environ
) -> httpx2.AsyncClient:
    """Return a client for an address that gets a key. Raises `ProviderError` when it cannot be built."""
    guarded = GuardedTransport(_transport(proxy, environ), head_s=timeout.read or _KEEP_ALIVE_S)
    return _client(guarded, timeout, {"Accept-Encoding": "identity"})


def page_client(
    headers: Mapping[str, str], *, timeout_s: float, proxy: Proxy | None = None, environ: Mapping[str, str] = os.environ
) -> httpx2.AsyncClient:
    """Return a client for pages, without a key; the caller bounds and judges what comes.

    Raises `ProviderError` when it cannot be built.
    """
    return _client(_transport(proxy, environ), httpx2.Timeout(timeout_s), headers)


def server_transport(*, proxy: Proxy | None, environ: Mapping[str, str] = os.environ) -> httpx2.AsyncBaseTransport:
    """Return the way to an MCP server, which bounds nothing. Raises `ProviderError` when it cannot be built."""
    return _transport(proxy, environ)


def server_client(transport: httpx2.AsyncBaseTransport, *, timeout: httpx2.Timeout) -> httpx2.AsyncClient:
    """Return a client for one MCP server; the `transport` adds credentials, and bounds and judges what comes."""
    return _client(transport, timeout, {"Accept-Encoding": "identity"})


def exporter_session(proxy: Proxy | None) -> "Session":
    """Return what OpenTelemetry's exporter sends by. It sends no password of `~/.netrc`, and follows no redirect."""
    import requests  # that library's only use, when telemetry is switched on

    session = requests.Session()
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
    if proxy is not None:
        session.proxies = {"https": proxy.url, "http": proxy.url}
    return session


def _client(
    transport: httpx2.AsyncBaseTransport, timeout: httpx2.Timeout, headers: Mapping[str, str]
) -> httpx2.AsyncClient:
    # A jar that takes nothing: a site must not recognise one call of a tool, or one session, in the next.
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx2.AsyncClient(
        transport=transport,
        timeout=timeout,
        trust_env=False,
        follow_redirects=False,
        cookies=cookies,
        headers=dict(headers),
    )


def _transport(proxy: Proxy | None, environ: Mapping[str, str]) -> httpx2.AsyncHTTPTransport:
    context = _tls_context(environ)
    try:
        through = httpx2.Proxy(proxy.url) if proxy is not None else None
        if through is not None and through.url.scheme == "https":
            through.ssl_context = context  # TLS to the proxy itself
        return httpx2.AsyncHTTPTransport(
            verify=context, trust_env=False, proxy=through, socket_options=_keeping_alive()
        )
    except (ValueError, ImportError, httpx2.InvalidURL):
        raise unusable_proxy(proxy.named_by if proxy is not None else "the environment") from None


def _tls_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return whom TLS trusts: the system's certificates, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.

    Raises `ProviderError` that names the variable when it names nothing that can be used.
    """
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
    """Options that notice a connection whose other end has vanished."""
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
