"""Where a server may send a sign-in: nowhere unencrypted, and not into this machine."""

import httpx2
import pytest

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.mcp.sdk.oauth import SignInTransport
from tests.servers.mcp_http import Fault, McpHttpServer


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
