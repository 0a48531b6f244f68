"""Servers reached by streamable HTTP: the SDK's own server on a socket, behaving and misbehaving."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.server_pool import ServerPool
from desktop_agent.core.mcp.server_status import Progress
from tests.core.mcp.conftest import Connect
from tests.core.mcp.test_connection import text_of, try_now, until
from tests.servers.mcp_http import DROPPED, Fault, McpHttpServer


@pytest.fixture
async def reached() -> AsyncIterator[McpHttpServer]:
    async with McpHttpServer() as server:
        yield server


@pytest.fixture
async def old() -> AsyncIterator[McpHttpServer]:
    async with McpHttpServer(is_old=True) as server:
        yield server


def at(url: str, *, name: str = "reached", **rest: object) -> ServerDefinition:
    return ServerDefinition(name=name, reached_by=Address(url=url, **rest))  # pyright: ignore[reportArgumentType]


async def failure_of(connection: Connection, tool: str = "echo") -> ServerError:
    with pytest.raises(ServerError) as caught:
        await connection.call(tool, {"text": "x"})
    return caught.value


async def test_a_server_at_an_address_is_reached_and_called(reached: McpHttpServer, connect: Connect) -> None:
    connection = connect(at(reached.url, headers={"X-Team": "blue"}))
    progress: list[Progress] = []

    tools = await connection.tools()
    reply = await connection.call("echo", {"text": "hello"})
    await connection.call("steps", {}, progress.append)

    assert [tool.name for tool in tools] == ["echo", "steps", "large"]
    assert text_of(reply) == "hello"
    assert progress == [Progress(done=step, total=3, message="on") for step in (1, 2, 3)]
    facts = connection.status.facts
    assert facts is not None
    assert (facts.name, facts.era, connection.status.pid) == ("reached", "stateless", None)
    assert all(headers["x-team"] == "blue" for _, _, headers in reached.requests)


async def test_a_server_of_the_older_protocol_gets_its_handshake_and_its_farewell(
    old: McpHttpServer, connect: Connect
) -> None:
    connection = connect(at(old.url))

    assert text_of(await connection.call("echo", {"text": "hello"})) == "hello"
    await connection.aclose()

    assert connection.status.facts is not None
    assert (connection.status.facts.era, connection.status.facts.protocol) == ("handshake", "2025-11-25")
    assert old.requests[-1][0] == "DELETE"


@pytest.mark.parametrize("is_old", [False, True])
async def test_answers_as_one_document_are_read_too(*, is_old: bool, connect: Connect) -> None:
    async with McpHttpServer(is_old=is_old, answers_json=True) as server:
        assert text_of(await connect(at(server.url)).call("echo", {"text": "hello"})) == "hello"


async def test_a_session_that_the_server_forgot_is_made_anew_with_the_next_call(
    old: McpHttpServer, connect: Connect, pool: ServerPool
) -> None:
    connection = connect(at(old.url))
    await connection.tools()
    old.will("tools/call", Fault(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'))

    error = await failure_of(connection)

    assert "forgotten this connection" in error.title
    assert (connection.status.state, connection.status.failures) == ("idle", 0)
    assert text_of(await connection.call("echo", {"text": "again"})) == "again"


async def test_a_restarted_server_is_connected_with_again(old: McpHttpServer, connect: Connect) -> None:
    connection = connect(at(old.url))
    await connection.tools()
    await old.restart()
    with pytest.raises(ServerError):
        await connection.call("echo", {"text": "lost"})

    await try_now(connection)

    assert text_of(await connection.call("echo", {"text": "again"})) == "again"


@pytest.mark.parametrize("is_old", [False, True])
async def test_a_connection_that_drops_under_a_call_fails_it_and_the_next_one_connects(
    *, is_old: bool, connect: Connect, pool: ServerPool
) -> None:
    async with McpHttpServer(is_old=is_old) as server:
        connection = connect(at(server.url))
        await connection.tools()
        server.will("tools/call", DROPPED)

        error = await failure_of(connection)

        assert "broke off" in error.title
        assert connection.status.state == "failed"
        await try_now(connection)
        assert text_of(await connection.call("echo", {"text": "again"})) == "again"


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (Fault(500, b"<h1>Oops</h1>"), "It failed by itself (HTTP 500)."),
        (Fault(403), "It does not allow this (HTTP 403)."),
        (Fault(200, b"x" * 17_000_000, "application/json"), "a message of more than 16 MiB"),
        (Fault(200, b'{"jsonrpc":"2.0","id":1,"result":[1]}', "application/json"), "what cannot be read"),
        (Fault(200, b"data: Oops\n\n", "text/event-stream"), "what cannot be read"),
        (Fault(200, b"<h1>Welcome</h1>", "text/html"), "such as a web page"),
    ],
)
async def test_a_call_that_is_refused_says_so_and_the_connection_stays(
    reached: McpHttpServer, connect: Connect, caplog: pytest.LogCaptureFixture, fault: Fault, problem: str
) -> None:
    connection = connect(at(reached.url))
    await connection.tools()
    reached.will("tools/call", fault)

    error = await failure_of(connection)

    assert problem in error.title
    assert "Oops" not in f"{error} {error.detail} {caplog.text}"
    assert text_of(await connection.call("echo", {"text": "still"})) == "still"


async def test_a_server_that_cannot_be_used_says_why(reached: McpHttpServer, connect: Connect) -> None:
    cases = {
        f"http://127.0.0.1:{reached.port}/other": "There is no MCP server at this address (HTTP 404).",
        "http://127.0.0.1:1/mcp": "Nothing listens at http://127.0.0.1:1.",
        f"https://127.0.0.1:{reached.port}/mcp": "offers no encrypted connection that can be trusted",
        "http://192.0.2.1/mcp": "Nothing was sent: http://192.0.2.1 is not encrypted",
        "http://": "Its URL is not a web address.",
    }
    for number, (url, problem) in enumerate(cases.items()):
        connection = connect(at(url, name=f"s{number}"))
        with pytest.raises(ServerError) as caught:
            await connection.tools()
        assert problem in caught.value.title
        assert caught.value.hint
        assert connection.status.state == "failed"


async def test_a_redirect_to_another_origin_is_not_followed(reached: McpHttpServer, connect: Connect) -> None:
    async with McpHttpServer() as elsewhere:
        page = f"HTTP/1.1 307 Temporary Redirect\r\nlocation: {elsewhere.url}\r\ncontent-length: 0\r\n\r\n"

        async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(page.encode())
            writer.close()

        async with await asyncio.start_server(redirect, "127.0.0.1", 0) as front:
            port = front.sockets[0].getsockname()[1]
            with pytest.raises(ServerError, match="not followed"):
                await connect(at(f"http://127.0.0.1:{port}/mcp", headers={"X-Key": "k"})).tools()

        assert elsewhere.requests == []


async def test_a_server_that_says_nothing_is_given_up_in_time(connect: Connect) -> None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        definition = ServerDefinition(
            name="x", reached_by=Address(url=f"http://127.0.0.1:{port}/mcp"), startup_timeout_ms=300
        )
        with pytest.raises(ServerError, match=r"did not answer within 0\.3 s"):
            await connect(definition).tools()


async def test_a_server_that_is_gone_fails_the_call_and_says_so_on_its_card(
    connect: Connect, pool: ServerPool, reached: McpHttpServer
) -> None:
    connection = connect(at(reached.url))
    await connection.tools()
    await reached.stop()

    error = await failure_of(connection)
    await until(pool, connection, "failed")
    await reached.start()

    assert error.hint
    assert connection.status.problem
