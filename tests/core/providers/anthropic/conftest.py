"""A provider and the server it talks to, on loopback."""

from collections.abc import AsyncGenerator

import pytest

from desktop_agent.core.providers.http_provider import HttpProvider
from tests.providers import anthropic_provider
from tests.servers.anthropic_server import AnthropicServer

pytest.register_assert_rewrite("tests.contracts.provider_conformance")

KEY = "sk-ant-test-0123456789abcdef"


@pytest.fixture
async def server() -> AsyncGenerator[AnthropicServer]:
    async with AnthropicServer(key=KEY) as server:
        yield server


@pytest.fixture
async def provider(server: AnthropicServer) -> AsyncGenerator[HttpProvider]:
    provider = anthropic_provider(api_key=KEY, base_url=server.url)
    yield provider
    await provider.aclose()
