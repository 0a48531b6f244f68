"""Refused requests: other sites, wrong tokens, other hosts, and too big or too slow ones."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from desktop_agent.core.base.errors import UsageError
from desktop_agent.rest.guard import ServerIdentity, ServerLimits
from desktop_agent.rest.server import RestServer, ServeOptions
from tests.certificates import Authority
from tests.harness import PATIENCE_S, Ground
from tests.rest.serving import raw_connection, serving, up_to


async def test_without_the_right_token_nothing_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        token = served.server.token
        async with httpx2.AsyncClient(base_url=served.server.url, trust_env=False) as stranger:
            for path in (
                "/v1/sessions",
                "/v1/tools",
                "/v1/approvals",
                "/nothing",
                f"/v1/sessions?token={token}",
                "/v1/sessions/x/events",
            ):
                answer = await stranger.get(path)
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
                assert answer.json()["error"]["code"] == "token_missing"
            for given in (f"Bearer {token}x", f"Bearer {token[:-1]}", "Bearer", f"Basic {token}", token, "Bearer \xe9"):
                answer = await stranger.get("/v1/sessions", headers=[(b"authorization", given.encode("latin-1"))])
                assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token_wrong")
            assert (await stranger.post("/", content=b"{}")).status_code == 401
            twice = [("authorization", f"Bearer {token}"), ("authorization", "Bearer other")]
            assert (await stranger.get("/v1/sessions", headers=twice)).status_code == 401


async def test_pages_of_other_sites_and_names_that_lead_here_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        port = served.server.url.rsplit(":", 1)[1]
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"localhost.evil:{port}", ""):
            answer = await served.get("/v1/sessions", headers={"host": host})
            assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host"), host
            assert (await served.get("/", headers={"host": host})).status_code == 421
        for origin in ("https://evil.example", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1:1"):
            answer = await served.get("/v1/sessions", headers={"origin": origin})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "foreign_origin"), origin
        for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
            headers = {"host": host, "origin": f"http://{host}"}
            assert (await served.get("/v1/sessions", headers=headers)).status_code == 200
        answer = await served.client.options("/v1/sessions", headers={"origin": "https://evil.example"})
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("box.example:8400", True),
        ("BOX.example:8400", True),
        ("192.0.2.7:8400", True),
        ("[2001:db8::1]:8400", True),
        ("box.example", False),
        ("box.example:8401", False),
        ("evil.example:8400", False),
        ("box.example.evil:8400", False),
        ("user@box.example:8400", False),
        ("box.example:8400/path", False),
        ("box.example:eight", False),
        ("[box.example]:8400", False),
        (":8400", False),
    ],
)
def test_behind_a_name_only_that_name_and_addresses_in_digits_are_its_own(host: str, *, is_own: bool) -> None:
    identity = ServerIdentity(
        scheme="https",
        names=frozenset({"box.example"}),
        port=8400,
        token="-",
        public=frozenset(),
        is_any_address=True,
    )
    assert identity.is_own_host(host) is is_own


async def test_bodies_that_are_too_big_are_refused_before_they_are_there(tmp_path: Path) -> None:
    async def endless():
        for _ in range(100):
            yield b" " * 1_000

    async with serving(tmp_path, limits=ServerLimits(body_bytes=10_000)) as served:
        headers = {"content-type": "application/json"}
        for content in (b" " * 10_001, endless()):
            answer = await served.client.post("/v1/sessions", content=content, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        assert (await served.client.request("GET", "/v1/sessions", content=b" " * 10_001)).status_code == 413


async def test_headers_that_are_too_long_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, limits=ServerLimits(head_bytes=4_000)) as served:
        for headers, path in (({"x-filler": "x" * 8_000}, "/v1/sessions"), ({}, f"/v1/sessions?{'x' * 8_000}")):
            assert (await served.get(path, headers=headers)).status_code == 431
        async with raw_connection(served.server) as (reader, writer), asyncio.timeout(PATIENCE_S):
            writer.write(b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000)
            with suppress(ConnectionResetError):
                assert b" 400 " in (await reader.read()).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("GET / HTTP/1.1\r\nHost:", b""),
        ("", b""),
        (
            "POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Length: 9\r\n\r\n{{",
            b"408",
        ),
    ],
    ids=["half a head", "nothing", "half a body"],
)
async def test_clients_that_are_too_slow_are_cut_off(tmp_path: Path, request_text: str, expected: bytes) -> None:
    async with serving(tmp_path, limits=ServerLimits(head_s=0.05, body_s=0.05)) as served:
        host = served.server.url.removeprefix("http://")
        async with raw_connection(served.server) as (reader, writer), asyncio.timeout(PATIENCE_S):
            writer.write(request_text.format(host=host, token=served.server.token).encode())
            try:
                answer = await reader.read()
            except ConnectionResetError:
                answer = b""
            assert expected in answer.partition(b"\r\n")[0]
            assert bool(answer) == bool(expected)


UNFINISHED = {
    "a body that never comes": "GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n",
    "a body in chunks that never come": "GET /page.js HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n",
    "half a head": "GET / HTTP/1.1\r\nHost:",
    "nothing": "",
    "a body without a token": "POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n",
    "one request after the other": "GET /page.js HTTP/1.1\r\nHost: {host}\r\n\r\n" * 20,
}


@asynccontextmanager
async def crowd(server: RestServer, count: int, request: str) -> AsyncGenerator[list[asyncio.StreamReader]]:
    """Keep `count` connections with this request and without the token open."""
    async with AsyncExitStack() as stack:
        readers: list[asyncio.StreamReader] = []
        for _ in range(count):
            reader, writer = await stack.enter_async_context(raw_connection(server))
            with suppress(ConnectionError):
                writer.write(request.format(host=server.url.partition("//")[2]).encode())
                await writer.drain()
            readers.append(reader)
        yield readers


@pytest.mark.parametrize("name", UNFINISHED)
async def test_whoever_has_the_token_gets_in_beside_any_number_who_have_not(tmp_path: Path, name: str) -> None:
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(tmp_path, limits=ServerLimits(requests=5, waiting=10)) as served,
        crowd(served.server, 60, UNFINISHED[name]),
    ):
        for _ in range(3):
            assert (await served.get("/v1/sessions")).status_code == 200
        async with httpx2.AsyncClient(base_url=served.server.url, trust_env=False) as stranger:
            assert (await stranger.get("/")).status_code == 200


async def test_whoever_has_the_token_gets_in_beside_unfinished_handshakes(tmp_path: Path) -> None:
    limits, authority = ServerLimits(waiting=10), Authority(tmp_path)
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(tmp_path, limits=limits, authority=authority) as served,
        crowd(served.server, 50, "") as readers,
    ):
        assert (await served.get("/v1/sessions")).status_code == 200
        for reader in readers[:30]:
            with suppress(ConnectionError):
                assert await reader.read() == b""


async def test_of_too_many_without_the_token_the_oldest_go_and_whoever_has_it_stays(tmp_path: Path) -> None:
    async with serving(tmp_path, limits=ServerLimits(waiting=10)) as served, asyncio.timeout(PATIENCE_S):
        session = await served.start()
        async with served.events(session) as coming:
            assert (await anext(coming)).type == "session_opened"
            async with crowd(served.server, 30, "") as readers:
                for reader in readers[:20]:
                    with suppress(ConnectionError):
                        assert await reader.read() == b""
                await served.op(session, "rename_session", title="Still there")
                await up_to(coming, "session_renamed")


async def test_a_rush_of_connections_ends_none_that_has_sent_the_token(tmp_path: Path) -> None:
    async with serving(tmp_path, limits=ServerLimits(waiting=10)) as served, asyncio.timeout(PATIENCE_S):
        host = served.server.url.removeprefix("http://")
        name, port = host.split(":")
        head = f"GET /v1/sessions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {served.server.token}\r\n\r\n"
        with ExitStack() as stack:  # all of them in one turn of the loop
            owner = stack.enter_context(socket.create_connection((name, int(port))))
            owner.sendall(head.encode())
            for _ in range(40):
                stack.enter_context(socket.create_connection((name, int(port))))
            owner.setblocking(False)
            answer = await asyncio.get_running_loop().sock_recv(owner, 1_000)
            assert answer.startswith(b"HTTP/1.1 200")


async def test_what_is_public_is_answered_without_its_body_and_nothing_behind_it_is_taken_for_a_request(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as served, asyncio.timeout(PATIENCE_S):
        host = served.server.url.removeprefix("http://")
        inner = f"GET /v1/sessions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {served.server.token}\r\n\r\n"
        for header in (f"Content-Length: {len(inner)}", "Transfer-Encoding: chunked"):
            async with raw_connection(served.server) as (reader, writer):
                writer.write(f"GET / HTTP/1.1\r\nHost: {host}\r\n{header}\r\n\r\n".encode())
                answer = await reader.read()
                assert answer.startswith(b"HTTP/1.1 200")
                assert b"connection: close" in answer.lower()
            async with raw_connection(served.server) as (reader, writer):
                writer.write(f"GET / HTTP/1.1\r\nHost: {host}\r\n{header}\r\n\r\n{inner}".encode())
                with suppress(ConnectionError):
                    assert (await reader.read()).count(b"HTTP/1.1 ") == 1


async def test_streams_that_nobody_closes_leave_room_for_an_answer(tmp_path: Path) -> None:
    async with serving(tmp_path, limits=ServerLimits(requests=3, streams=2)) as served:
        session = await served.start()
        async with served.events(session), served.events(session):
            refused = await served.get(f"{session}/events")
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_streams")
            await served.op(session, "interrupt")
        async with asyncio.timeout(PATIENCE_S):  # until the server hears that they are closed
            while (await served.get(f"{session}/events", params={"until": "session_opened"})).status_code == 429:
                pass


async def test_to_ask_for_the_head_of_a_stream_holds_no_place(tmp_path: Path) -> None:
    async with serving(tmp_path, limits=ServerLimits(streams=1)) as served, asyncio.timeout(PATIENCE_S):
        session = await served.start()
        for _ in range(2):
            head = await served.client.head(f"{session}/events")
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-type"].startswith("text/event-stream")
        async with served.events(session) as coming:
            assert (await anext(coming)).id == 1


async def test_too_many_requests_are_refused_in_the_shape_of_all_errors(tmp_path: Path) -> None:
    async with serving(tmp_path, limits=ServerLimits(requests=1)) as served:
        session = await served.start()
        async with served.events(session):
            refused = await served.get("/v1/sessions")
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_requests")


async def test_only_an_encrypted_server_listens_for_other_machines(tmp_path: Path) -> None:
    bench = Ground(tmp_path).bench(None)  # pyright: ignore[reportArgumentType] - no model is asked
    for host in ("0.0.0.0", "::", "192.0.2.7", "box.example"):
        with pytest.raises(UsageError, match="this machine's own address") as caught:
            RestServer(bench, ServeOptions(host=host, folder=tmp_path))
        assert "--tls" in caught.value.hint


async def test_an_encrypted_server_answers_over_tls_alone(tmp_path: Path) -> None:
    async with serving(tmp_path, authority=Authority(tmp_path)) as served:
        assert served.server.url.startswith("https://")
        assert (await served.get("/v1/sessions")).status_code == 200
        with pytest.raises(httpx2.HTTPError):
            async with httpx2.AsyncClient(trust_env=False) as plain:
                await plain.get(served.server.url.replace("https", "http"))


async def test_one_for_all_addresses_names_one_that_can_be_opened(tmp_path: Path) -> None:
    bench = Ground(tmp_path / "ground").bench(None)  # pyright: ignore[reportArgumentType] - no model is asked
    certificate, key = Authority(tmp_path).issue("server")
    for host in ("0.0.0.0", "::"):
        options = ServeOptions(host=host, folder=tmp_path, certificate=certificate, key=key)
        server = RestServer(bench, options)
        server.listen()
        running = asyncio.create_task(server.run())
        named = urlsplit(server.url)
        assert not ip_address(named.hostname or "").is_unspecified
        server.interrupt()
        await running


async def test_a_certificate_that_cannot_be_used_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("no certificate")
    bench = Ground(tmp_path / "ground").bench(None)  # pyright: ignore[reportArgumentType] - no model is asked
    options = ServeOptions(folder=tmp_path, certificate=tmp_path / "cert.pem", key=tmp_path / "none.pem")
    with pytest.raises(UsageError, match="cannot be used"):
        RestServer(bench, options).listen()


async def test_a_port_that_is_taken_is_said_in_words(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        port = int(served.server.url.rsplit(":", 1)[1])
        bench = served.ground.bench(served.provider)
        with pytest.raises(UsageError, match="cannot be listened at"):
            RestServer(bench, ServeOptions(folder=tmp_path, port=port)).listen()
