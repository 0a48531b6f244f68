"""The protocol's reference server over streamable HTTP, also after a restart."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.client import SampledAnswer, SamplingRequest
from desktop_agent.core.mcp.connection import ServerPool
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.sdk.http_transport import challenge_in
from desktop_agent.core.mcp.sdk.oauth import SignInTransport
from desktop_agent.core.mcp.server_status import Progress
from tests.core.mcp.conftest import Connect
from tests.core.mcp.test_connection import text_of, until
from tests.npm.programs import npm_program
from tests.servers.mcp_http import Fault, McpHttpServer
from tests.servers.ports import free_port


@asynccontextmanager
async def everything(port: int) -> AsyncGenerator[None]:
    process = await asyncio.create_subprocess_exec(
        *npm_program("mcp-server-everything"),
        "streamableHttp",
        env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        while str(port).encode() not in await process.stderr.readline():
            assert process.returncode is None
        yield
    finally:
        process.kill()
        await process.communicate()


async def test_it_is_called_and_found_again_after_a_restart(connect: Connect, pool: ServerPool) -> None:
    port = free_port()
    connection = connect(ServerDefinition(name="everything", reached_by=Address(url=f"http://127.0.0.1:{port}/mcp")))
    progress: list[Progress] = []

    async with everything(port):
        assert "Echo: hello" in text_of(await connection.call("echo", {"message": "hello"}))
        await connection.call("trigger-long-running-operation", {"duration": 0.1, "steps": 2}, progress.append)
        assert [step.done for step in progress] == [1, 2]
        facts = connection.status.facts
        assert facts is not None
        assert facts.era == "handshake"
    await until(pool, connection, "failed")  # the stream of its notices has ended, and nothing listens any more
    async with everything(port):
        connection._may_try_at = 0.0  # pyright: ignore[reportPrivateUsage] -- as if the pause were over
        assert "Echo: again" in text_of(await connection.call("echo", {"message": "again"}))
        await connection.stop()


async def test_what_two_calls_at_once_ask_the_model_is_answered_each_by_its_own_session(connect: Connect) -> None:
    port = free_port()
    connection = connect(ServerDefinition(name="everything", reached_by=Address(url=f"http://127.0.0.1:{port}/mcp")))
    asked: dict[str, str] = {}
    both = asyncio.Barrier(2)

    async def call(session: str) -> str:
        async def sample(request: SamplingRequest) -> SampledAnswer:
            asked[session] = request.messages[-1].text
            await both.wait()
            return SampledAnswer(text=f"answered in {session}", model="m")

        arguments = {"prompt": f"asked in {session}", "maxTokens": 10}
        return text_of(await connection.call("trigger-sampling-request", arguments, sample=sample))

    async with everything(port):
        replies = await asyncio.gather(call("one"), call("two"))
        await connection.stop()

    for session, reply in zip(("one", "two"), replies, strict=True):
        assert f"asked in {session}" in asked[session]
        assert f"answered in {session}" in reply


WANTED = 'Bearer error="insufficient_scope", scope="use write", resource_metadata="https://tickets.example/meta"'


def answer(header: bytes, status: int = 403) -> httpx2.Response:
    return httpx2.Response(status, headers=[(b"www-authenticate", header)])


def test_the_scopes_are_read() -> None:
    challenge = challenge_in(answer(WANTED.encode()))

    assert challenge is not None
    assert (challenge.header, challenge.scopes) == (WANTED, frozenset({"use", "write"}))


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (WANTED, 401),
        (WANTED.replace("insufficient_scope", "invalid_token"), 403),
        (WANTED.replace('scope="use write", ', ""), 403),
        (WANTED.replace("use write", 'use \\"'), 403),
        (WANTED.replace("use", "us\xe9"), 403),
        (WANTED + "x" * 2000, 403),
        ("", 403),
    ],
)
def test_anything_else_asks_for_nothing(header: str, status: int) -> None:
    assert challenge_in(answer(header.encode("latin-1"), status)) is None


@given(st.binary(max_size=200).filter(lambda text: b"\n" not in text and b"\r" not in text))
def test_no_header_is_too_strange(header: bytes) -> None:
    for text in (header, WANTED.encode() + header, header + WANTED.encode()):
        challenge = challenge_in(answer(text))
        assert challenge is None or all(scope.isascii() and scope.isprintable() for scope in challenge.scopes)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://127.0.0.1:8080/token", "on this machine"),
        ("http://localhost/token", "on this machine"),
        ("https://[::1]/token", "on this machine"),
        ("http://evil.example/token", "is not encrypted"),
    ],
)
async def test_a_server_elsewhere_cannot_name_any_address(url: str, problem: str) -> None:
    transport = SignInTransport(Address(url="https://tickets.example/mcp"))

    with pytest.raises(ServerError, match=problem):
        await transport.handle_async_request(httpx2.Request("POST", url, content=b"secret"))
    with pytest.raises(ServerError, match=problem):
        transport.require_allowed(url)


def test_its_own_address_and_encrypted_ones_are_allowed() -> None:
    transport = SignInTransport(Address(url="http://tickets.example/mcp", allow_unencrypted=True))

    assert transport.require_allowed("http://tickets.example/token") == "http://tickets.example"
    assert transport.require_allowed("https://login.example/token?a=b") == "https://login.example"


async def test_an_answer_is_bounded() -> None:
    async with McpHttpServer() as server:
        transport = SignInTransport(Address(url=server.url))
        server.will("", Fault(200, b"x" * 2_000_000, "application/json"))
        with pytest.raises(ServerError, match="more than 1 MiB"):
            await transport.handle_async_request(httpx2.Request("GET", server.url))
        await transport.aclose()
