"""The server: listens, serves until it is interrupted, and leaves nothing running."""

import asyncio
import secrets
import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import psutil
import uvicorn
from msgspec import Struct

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import UsageError
from desktop_agent.rest.application import OPENAPI_PATH, application_of, endpoints_of, public_paths
from desktop_agent.rest.endpoints import ChangeEndpoints, SessionEndpoints, ToolEndpoints
from desktop_agent.rest.guard import (
    GuardedSocket,
    RequestGuard,
    ServerIdentity,
    ServerLimits,
    protocol_with_head_timeout,
)
from desktop_agent.rest.open_sessions import OpenSessions

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_TOKEN_BYTES: Final = 32


class ServeOptions(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    """The certificate for TLS, in PEM format, to which `key` belongs."""
    key: Path | None = None
    folder: Path
    """The workspace of sessions for which the client names no folder."""
    limits: ServerLimits = ServerLimits()


class RestServer:
    """The REST server. Call `listen`, then `run` once."""

    def __init__(self, bench: Workbench, options: ServeOptions) -> None:
        """Raises `UsageError` if the address is not a loopback address and there is no TLS."""
        self._options = options
        self._tls = options.certificate is not None
        if not self._tls and not _is_loopback(options.host):
            raise UsageError(
                f"{options.host} is not this machine's own address, so others could read what is sent there.",
                hint="Encrypt it with --tls CERT KEY, or leave --host out.",
            )
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._sessions = OpenSessions(bench)
        given = (bench, self._sessions, options.folder, options.limits)
        self._tools = ToolEndpoints(*given)
        groups = (SessionEndpoints(*given), ChangeEndpoints(*given), self._tools)
        self.endpoints = tuple(endpoint for group in groups for endpoint in endpoints_of(group))
        self._socket: GuardedSocket | None = None
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        host = _reachable(self._options.host)
        return f"{'https' if self._tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self._port}"

    @property
    def openapi_url(self) -> str:
        return self.url + OPENAPI_PATH

    def listen(self) -> None:
        """Bind the address. Connections wait until the server runs. Raises `UsageError` when binding fails."""
        listening = _bound(self._options.host, self._options.port)
        self._socket = GuardedSocket(listening, self._options.limits.waiting, self.token)
        config = self._config()
        try:
            config.load()  # reads the certificate, too
        except (OSError, ssl.SSLError) as error:
            self._socket.close()
            raise UsageError(
                "The certificate and its key cannot be used.",
                hint="--tls takes two PEM files: the certificate, then its key without a password.",
                detail=str(error),
            ) from error
        self._server = _Server(config)

    async def run(self) -> None:
        """Serve until this is interrupted. Then streams end, sessions are closed, and nothing is left running."""
        assert self._socket is not None, "it listens first"
        assert self._server is not None
        try:
            await self._server.serve([self._socket])
        finally:
            self._socket.close()
            self._tools.interrupt()
            await self._sessions.aclose()

    def interrupt(self) -> None:
        self._sessions.end_streams()
        self._tools.interrupt()
        if self._server is not None:
            self._server.end()

    @property
    def _port(self) -> int:
        assert self._socket is not None, "it listens first"
        return int(self._socket.getsockname()[1])

    def _config(self) -> uvicorn.Config:
        assert self._socket is not None, "it listens first"
        host, limits = self._options.host, self._options.limits
        identity = ServerIdentity(
            scheme="https" if self._tls else "http",
            names=_LOOPBACK_NAMES | {host.lower()} if _is_loopback(host) else frozenset({host.lower()}),
            port=self._port,
            token=self.token,
            public=public_paths(),
            is_any_address=not _is_loopback(host),
        )
        return uvicorn.Config(
            RequestGuard(application_of(self.endpoints), identity, limits, self._socket.admit),
            http=protocol_with_head_timeout(limits.head_s),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # what strangers send is no news
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=limits.closing_s,
            h11_max_incomplete_event_size=limits.head_bytes,
            ssl_certfile=self._options.certificate,
            ssl_keyfile=self._options.key,
        )


class _Server(uvicorn.Server):
    """uvicorn's server, except that it leaves signals to the command, and sleeps while there are no requests."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ended = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._ended.set()

    async def main_loop(self) -> None:
        """Run without uvicorn's own loop, which wakes ten times a second to update a header that is omitted here."""
        await self._ended.wait()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _bound(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, address = found[0][0], found[0][4]
        return socket.create_server((str(address[0]), int(address[1])), family=family)
    except OSError as error:
        raise UsageError(
            f"{host}:{port} cannot be listened at.",
            hint="Choose another --port; 0 takes any that is free.",
            detail=str(error),
        ) from error


def _reachable(host: str) -> str:
    """If `host` stands for all addresses, return one that other machines can open."""
    try:
        if not ip_address(host).is_unspecified:
            return host
    except ValueError:
        return host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    own = [one.address for found in psutil.net_if_addrs().values() for one in found if one.family == family]
    others = [text for text in own if "%" not in text and not ip_address(text).is_loopback]
    return others[0] if others else "::1" if family == socket.AF_INET6 else "127.0.0.1"


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
