"""Signing in by the SDK: what a server wants, and where it may send a sign-in."""

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.mcp.sdk.http_transport import challenge_in
from desktop_agent.core.mcp.sdk.oauth import SignInTransport
from tests.servers.mcp_http import Fault, McpHttpServer

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
