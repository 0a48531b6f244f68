"""A proxy that gives a confined program access to some hosts only.

The launcher passes a listening socket out of the program's network namespace, so nothing leads out of it.
"""

import array
import asyncio
import base64
import ipaddress
import os
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError, SandboxError
from desktop_agent.core.base.web_address import IpAddress
from desktop_agent.core.sandbox.confinement import PROXY_PORT
from desktop_agent.core.system.network.connections import (
    Proxy,
    Resolver,
    hands_out_credentials,
    is_public,
    proxy_for,
    reach_of,
    system_resolver,
)

USUAL_PORTS = frozenset({80, 443})


class AllowedHosts(Struct, frozen=True):
    entries: tuple[str, ...]

    def allow(self, host: str, port: int) -> bool:
        return self._best(host, port) is not None and not hands_out_credentials(host)

    def allow_address(self, host: str, port: int, address: IpAddress) -> bool:
        entry = self._best(host, port)
        if entry is None or hands_out_credentials(str(address)):
            return False
        if "*" in entry:
            return is_public(address)
        if _address(entry) is not None or entry == "localhost":
            return True
        return reach_of(address) != "closed"

    def _best(self, host: str, port: int) -> str | None:
        asked = host.rstrip(".").lower().strip("[]")
        found = [name for name, number in map(_split, self.entries) if _covers(name, asked) and _fits(number, port)]
        return min(found, key=lambda name: "*" in name, default=None)


def _split(entry: str) -> tuple[str, int | None]:
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]")
        return name, int(port[1:]) if port else None
    name, _, port = entry.partition(":")
    return name, int(port) if port else None


def _covers(name: str, asked: str) -> bool:
    if name.startswith("*."):
        return asked.endswith(name[1:]) and len(asked) >= len(name)
    if name == "*":
        return True
    literal = _address(asked)
    return literal == _address(name) if literal is not None else asked == name


def _fits(number: int | None, port: int) -> bool:
    return port == number if number is not None else port in USUAL_PORTS


def _address(text: str) -> IpAddress | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


_HEAD_BYTES = 64 * 1024
_HEAD_S = 30.0
_CONNECT_S = 30.0
_PIECE_BYTES = 64 * 1024
_MOST_TRIED = 4
_HOP_HEADERS = frozenset({b"proxy-authorization", b"proxy-connection", b"connection", b"keep-alive", b"host"})
_MOST_CONNECTIONS = 128

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _RefusedError(Exception):
    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _Target(Struct, frozen=True, kw_only=True):
    host: str
    port: int
    url: str
    head: bytes
    is_tunnel: bool


_NEVER = "hands out the credentials of a cloud, which no program in the sandbox may reach."


class HostProxy(Struct, frozen=True, kw_only=True, eq=False):
    hosts: AllowedHosts
    environ: Mapping[str, str]
    say: Callable[[str], None] = lambda _: None
    resolve: Resolver = system_resolver

    @asynccontextmanager
    async def serving(self, path: Path) -> AsyncGenerator[None]:
        """Serve the program whose launcher connects to `path`, which must be unused. Raises `SandboxError`."""
        try:
            door = await asyncio.to_thread(_listen_at, path)
        except OSError as error:
            raise SandboxError(f"The way to its hosts could not be made: {error.strerror or error}.") from error
        waiting = asyncio.create_task(self._serve(door), name="host proxy")
        try:
            yield
        finally:
            waiting.cancel()
            await asyncio.wait({waiting})
            door.close()
            with suppress(OSError):
                await asyncio.to_thread(path.unlink)

    async def _serve(self, door: socket.socket) -> None:
        with await _handed_out(door) as listener:
            connections: set[asyncio.Task[None]] = set()

            def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                if len(connections) >= _MOST_CONNECTIONS:
                    writer.close()
                    return
                task = asyncio.create_task(self._connection(reader, writer), name="host proxy connection")
                connections.add(task)
                task.add_done_callback(connections.discard)

            server = await asyncio.start_server(connected, sock=listener, limit=_HEAD_BYTES)
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                server.close()
                for task in connections:
                    task.cancel()
                if connections:
                    await asyncio.wait(connections)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                async with asyncio.timeout(_HEAD_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                try:
                    target = _target(head)
                    far = await self._reach(target)
                except _RefusedError as error:
                    self.say(str(error))
                    text = f"{error}\n".encode()
                    status = f"HTTP/1.1 {error.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                    writer.write(f"{status}Connection: close\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
                    await writer.drain()
                    return
                if target.is_tunnel:
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _both_ways((reader, writer), far)
        finally:
            writer.close()

    async def _reach(self, target: _Target) -> Streams:
        where = f"{target.host}:{target.port}"
        if hands_out_credentials(target.host):
            raise _RefusedError("403 Forbidden", f"{target.host} {_NEVER}")
        if not self.hosts.allow(target.host, target.port):
            raise _RefusedError("403 Forbidden", f"{where} is not among the hosts that this server may reach.")
        try:
            async with asyncio.timeout(_CONNECT_S):
                proxy = proxy_for(target.url, self.environ)
                return await (self._through(proxy, target) if proxy is not None else self._directly(target))
        except (OSError, TimeoutError, ProviderError, asyncio.IncompleteReadError) as error:
            raise _RefusedError("502 Bad Gateway", f"{where} cannot be reached: {error}") from error

    async def _directly(self, target: _Target) -> Streams:
        try:
            found = await self.resolve(target.host, target.port)
        except UnicodeError as error:
            raise OSError("it is no name of a host") from error
        addresses = [ipaddress.ip_address(text.partition("%")[0]) for text in found]
        allowed = self.hosts.allow_address
        if wrong := next((one for one in addresses if not allowed(target.host, target.port, one)), None):
            why = _NEVER if hands_out_credentials(str(wrong)) else "can only be reached by its address."
            raise _RefusedError("403 Forbidden", f"{target.host} leads to {wrong}, which {why}")
        failure = OSError("it has no address")
        for address in addresses[:_MOST_TRIED]:
            try:
                far = await asyncio.open_connection(str(address), target.port)
            except OSError as error:
                failure = error
            else:
                far[1].write(target.head)
                return far
        raise failure

    async def _through(self, proxy: Proxy, target: _Target) -> Streams:
        """Connect through a proxy, always by a tunnel, so that the proxy does not see the requests."""
        url = urlsplit(proxy.url)
        tls = await asyncio.to_thread(ssl.create_default_context) if url.scheme == "https" else None
        far = await asyncio.open_connection(url.hostname, url.port or (443 if tls else 80), ssl=tls, limit=_HEAD_BYTES)
        reader, writer = far
        where = _authority(target.host, target.port)
        writer.write(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n{_authorization(url)}\r\n".encode())
        try:
            answer = await reader.readuntil(b"\r\n\r\n")
        except BaseException:
            writer.close()
            raise
        if answer.split(b" ", 2)[1:2] == [b"200"]:
            writer.write(target.head)
            return far
        writer.close()
        raise OSError("the proxy of this machine refuses it")


def proxy_variables(hosts: tuple[str, ...]) -> dict[str, str]:
    here = [name for name in ("localhost", "127.0.0.1", "::1") if not any(name in host for host in hosts)]
    url, exempt = f"http://127.0.0.1:{PROXY_PORT}", ",".join(here)
    variables = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), url) | {"no_proxy": exempt}
    upper = {name.upper(): value for name, value in variables.items()}
    return variables | upper | {"NODE_USE_ENV_PROXY": "1"}


def _target(head: bytes) -> _Target:
    line, _, rest = head.partition(b"\r\n")
    words = line.split(b" ")
    try:
        method, asked, version = (word.decode("ascii") for word in words)
        is_tunnel = method == "CONNECT"
        parts = urlsplit(f"https://{asked}" if is_tunnel else asked)
        host, port = parts.hostname or "", parts.port or (443 if is_tunnel else 80)
    except ValueError as error:
        raise _RefusedError("400 Bad Request", "A request to the proxy could not be understood.") from error
    if not host or not version.startswith("HTTP/1.") or (not is_tunnel and parts.scheme != "http"):
        raise _RefusedError("400 Bad Request", "The proxy of the sandbox takes CONNECT and http:// only.")
    url = f"{'https' if is_tunnel else 'http'}://{_authority(host, port)}/"
    sent = b"" if is_tunnel else _origin_form(method, parts, rest)
    return _Target(host=host, port=port, url=url, head=sent, is_tunnel=is_tunnel)


def _origin_form(method: str, parts: SplitResult, rest: bytes) -> bytes:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = [
        line for line in rest.split(b"\r\n") if line and line.partition(b":")[0].strip().lower() not in _HOP_HEADERS
    ]
    host = parts.netloc.rpartition("@")[2]
    lines = [f"{method} {path} HTTP/1.1".encode(), f"Host: {host}".encode(), b"Connection: close", *kept]
    return b"\r\n".join([*lines, b"", b""])


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _authorization(proxy: SplitResult) -> str:
    if proxy.username is None:
        return ""
    credentials = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return f"Proxy-Authorization: Basic {base64.b64encode(credentials).decode()}\r\n"


async def _both_ways(near: Streams, far: Streams) -> None:
    flows = {
        asyncio.create_task(_flow(near[0], far[1]), name="host proxy out"),
        asyncio.create_task(_flow(far[0], near[1]), name="host proxy in"),
    }
    try:
        await asyncio.gather(*flows)
    finally:
        for flow in flows:
            flow.cancel()
        await asyncio.wait(flows)
        far[1].close()


async def _flow(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(_PIECE_BYTES):
        sink.write(piece)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()


def _listen_at(path: Path) -> socket.socket:
    """Listen at `path`, which may be longer than the kernel's limit for Unix sockets."""
    assert sys.platform == "linux"
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        door.bind(f"/proc/self/fd/{folder}/{path.name}")
        door.listen(1)
        door.setblocking(False)
    except BaseException:
        door.close()
        raise
    finally:
        os.close(folder)
    return door


async def _handed_out(door: socket.socket) -> socket.socket:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(door)
        with connection:
            readable = loop.create_future()
            loop.add_reader(connection, _once, readable)
            try:
                await readable
            finally:
                loop.remove_reader(connection)
            descriptors = _descriptors(connection)
            if descriptors:
                listener = socket.socket(fileno=descriptors[0])
                for extra in descriptors[1:]:
                    os.close(extra)
                listener.setblocking(False)
                with suppress(OSError):
                    connection.send(b".")
                return listener


def _once(readable: "asyncio.Future[None]") -> None:
    if not readable.done():
        readable.set_result(None)


def _descriptors(connection: socket.socket) -> list[int]:
    assert sys.platform == "linux"
    size = array.array("i").itemsize
    _, messages, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(size))
    found = array.array("i")
    for level, kind, content in messages:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(content[: len(content) - len(content) % size])
    return list(found)
