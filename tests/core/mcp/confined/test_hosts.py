"""A server in the sandbox reaches the hosts that its definition names, by the proxy, and no others in any way."""

import asyncio
import socket
from contextlib import closing

import pytest

from desktop_agent.core.mcp.definition import ServerSandbox
from desktop_agent.core.sandbox.find import Sandbox
from tests.core.mcp.confined.conftest import Ground, OpenPool, Servers, confiner_for, said_by
from tests.servers.web_server import Canned, WebServer

FETCH = """
import urllib.request
said = urllib.request.urlopen({url!r}, timeout=20).read().decode()
"""
TUNNEL = """
import socket
with socket.create_connection(("127.0.0.1", 3128), 20) as way:
    way.sendall(b"CONNECT {where} HTTP/1.1\\r\\nHost: {where}\\r\\n\\r\\n")
    said = way.recv(1000).decode()
    if " 200 " in said:
        way.sendall(b"GET /page HTTP/1.1\\r\\nHost: {where}\\r\\n\\r\\n")
        while piece := way.recv(1000):
            said += piece.decode()
"""


async def test_a_host_that_it_may_reach_answers_and_gets_the_request_as_if_asked_directly(servers: Servers) -> None:
    async with WebServer({"/page": Canned("hello")}) as web:
        connection = servers.connect(ServerSandbox(hosts=(f"127.0.0.1:{web.port}",)))

        assert await said_by(connection, FETCH.format(url=f"{web.url}/page?a=b")) == "hello"
        assert (await said_by(connection, TUNNEL.format(where=f"127.0.0.1:{web.port}"))).endswith("hello")

    first = web.requests[0]
    assert first.path == "/page?a=b"
    assert first.headers["host"] == f"127.0.0.1:{web.port}"
    assert not [name for name in first.headers if name.startswith("proxy")]


async def test_every_other_host_and_port_is_refused_and_the_log_says_so(servers: Servers) -> None:
    async with WebServer({"/page": Canned("hello")}) as web, WebServer({"/page": Canned("other")}) as other:
        connection = servers.connect(ServerSandbox(hosts=(f"127.0.0.1:{web.port}", "example.test")))
        refused = [f"127.0.0.1:{other.port}", f"localhost:{web.port}", "example.org:443", "example.test:8080"]

        said = [await said_by(connection, TUNNEL.format(where=where)) for where in refused]

    assert all(text.startswith("HTTP/1.1 403") for text in said), said
    assert not web.requests
    assert not other.requests
    log = connection.log.tail()
    assert all(f"{where} is not among the hosts that this server may reach." in log for where in refused)


async def test_a_name_does_not_lead_to_this_machine_nor_to_a_clouds_own_service(servers: Servers) -> None:
    async with WebServer({"/page": Canned("hello")}) as web:
        port = web.port
        connection = servers.connect(ServerSandbox(hosts=(f"here.test:{port}", "cloud.test:80", f"*:{port}")))

        said = [
            await said_by(connection, TUNNEL.format(where=where))
            for where in (f"here.test:{port}", "cloud.test:80", f"127.0.0.1:{port}", f"[::ffff:127.0.0.1]:{port}")
        ]

    assert all(text.startswith("HTTP/1.1 403") for text in said), said
    assert not web.requests


async def test_past_the_proxy_there_is_no_way(servers: Servers) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        connection = servers.connect(ServerSandbox(hosts=(f"127.0.0.1:{port}",)))

        direct = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        datagram = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))"
        door = "import socket; socket.socket(socket.AF_UNIX).connect('/tmp/way-out')"
        said = [await said_by(connection, code) for code in (direct, datagram, door)]

    assert said[0].startswith("ConnectionRefusedError")
    assert "unreachable" in said[1]
    assert said[2].startswith("PermissionError")


@pytest.mark.parametrize(
    "request_head",
    [
        b"",
        b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"CONNECT / HTTP/1.1\r\n\r\n",
        b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET ftp://example.test/ HTTP/1.1\r\n\r\n",
        b"CONNECT example.test:99999 HTTP/1.1\r\n\r\n",
        b"CONNECT \xff:1 HTTP/1.1\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\n\r\n",
        b"x" * 200_000,
    ],
)
async def test_what_is_no_request_is_answered_or_ended_and_the_proxy_goes_on(
    servers: Servers, request_head: bytes
) -> None:
    async with WebServer({"/page": Canned("hello")}) as web:
        connection = servers.connect(ServerSandbox(hosts=(f"127.0.0.1:{web.port}",)))
        code = f"""
import socket
with socket.create_connection(("127.0.0.1", 3128), 20) as way:
    try:
        way.sendall({request_head!r})
        way.shutdown(socket.SHUT_WR)
        said = way.recv(1000).decode()
    except OSError:
        said = ""
"""
        said = await said_by(connection, code)
        assert said.startswith("HTTP/1.1 400") or said == ""
        assert await said_by(connection, FETCH.format(url=f"{web.url}/page")) == "hello"


async def test_where_the_application_goes_through_a_proxy_the_server_does_too_and_only_to_its_hosts(
    open_pool: OpenPool, sandbox: Sandbox, ground: Ground
) -> None:
    heads: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfrom afar")
        writer.close()

    async with await asyncio.start_server(upstream, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        confiner = confiner_for(sandbox, ground.cache / "mcp", http_proxy=f"http://me:pass%20word@127.0.0.1:{port}")
        connection = Servers(open_pool(confiner), ground).connect(ServerSandbox(hosts=("far.test",)))

        assert await said_by(connection, FETCH.format(url="http://far.test/page")) == "from afar"
        assert "403" in await said_by(connection, FETCH.format(url="http://other.test/page"))

    assert heads[0].startswith(b"CONNECT far.test:80 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk\r\n" in heads[0]
    assert heads[1].startswith(b"GET /page HTTP/1.1\r\nHost: far.test\r\nConnection: close\r\n")
    assert len(heads) == 2
    environ = await said_by(connection, "import os; said = ''.join(os.environ.values())")
    assert not any(text in environ for text in ("pass%20word", "pass word", "bWU6cGFzcyB3b3Jk"))
