"""Providers over HTTP keep the contract of all providers, in each wire format."""

import pytest

from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.http_provider import HttpProvider
from tests.contracts.provider_conformance import ProviderConformance
from tests.contracts.wire_conformance import WireConformance, WireGround
from tests.servers import fault
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text, thinking, tool_use


class HttpGround:
    def __init__(self, provider: HttpProvider, server: ModelServer, request: ModelRequest) -> None:
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
        self._server.will(reply(text("And then it goes on"), fault.stall_after(events=5)))
        return self._request

    async def was_let_go(self) -> None:
        exchange = self._server.messages[-1]
        await exchange.is_over.wait()
        assert exchange.outcome == "abandoned"


class TestHttpProvider(ProviderConformance):
    @pytest.fixture
    def ground(self, provider: HttpProvider, server: ModelServer, model_request: ModelRequest) -> HttpGround:
        return HttpGround(provider, server, model_request)


class TestWireFormat(WireConformance):
    @pytest.fixture
    def wire(self, provider: HttpProvider, server: ModelServer, model_request: ModelRequest) -> WireGround:
        return WireGround(provider, server, model_request)
