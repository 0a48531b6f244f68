"""The Anthropic provider keeps the contract that every provider keeps."""

from collections.abc import AsyncGenerator

import pytest

from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.anthropic import AnthropicProvider
from tests.contracts.provider_conformance import ProviderConformance
from tests.servers import fault
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import reply, text, thinking, tool_use


class AnthropicGround:
    """The provider against the loopback server."""

    def __init__(self, provider: AnthropicProvider, server: AnthropicServer, request: ModelRequest) -> None:
        self.provider = provider
        self._server = server
        self._request = request

    def will_answer(self) -> ModelRequest:
        self._server.will(reply(thinking("Easy.", signature="sig"), text("The size is off by one.")))
        return self._request

    def will_call_a_tool(self) -> ModelRequest:
        self._server.will(reply(text("Let me look."), tool_use("read_file", path="src/pages.py", limit=200)))
        return self._request

    def will_fail(self) -> ModelRequest:
        self._server.will(reply(text("This will never be"), fault.drop_after(events=4)))
        return self._request

    def will_hang(self) -> ModelRequest:
        self._server.will(reply(text("And then"), fault.stall_after(events=3)))
        return self._request

    async def was_let_go(self) -> None:
        exchange = self._server.messages[-1]
        await exchange.is_over.wait()
        assert exchange.outcome == "abandoned"


class TestAnthropicProvider(ProviderConformance):
    @pytest.fixture
    async def ground(
        self, provider: AnthropicProvider, server: AnthropicServer, model_request: ModelRequest
    ) -> AsyncGenerator[AnthropicGround]:
        yield AnthropicGround(provider, server, model_request)
        assert server.violations == []
