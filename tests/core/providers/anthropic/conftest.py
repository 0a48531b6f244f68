"""A provider and the server it talks to, on loopback, away from the settings of the user who runs the tests."""

import os
from collections.abc import AsyncGenerator

import pytest

from desktop_agent.core.protocol.model import ModelRequest, TextBlock, ToolDefinition, UserMessage
from desktop_agent.core.providers.http.provider import HttpProvider
from tests.providers import anthropic_provider
from tests.servers.anthropic_server import AnthropicServer

pytest.register_assert_rewrite("tests.contracts.provider_conformance")

KEY = "sk-ant-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().startswith("ANTHROPIC_") or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)


@pytest.fixture
async def server() -> AsyncGenerator[AnthropicServer]:
    async with AnthropicServer(key=KEY) as server:
        yield server


@pytest.fixture
async def provider(server: AnthropicServer) -> AsyncGenerator[HttpProvider]:
    provider = anthropic_provider(api_key=KEY, base_url=server.url)
    yield provider
    await provider.aclose()


@pytest.fixture
def model_request() -> ModelRequest:
    """A request with everything that a first request has."""
    return ModelRequest(
        model="claude-test-large",
        system="You are careful.",
        messages=(UserMessage(content=(TextBlock(text="Fix the off-by-one."),)),),
        tools=(
            ToolDefinition(name="read_file", description="Read a file.", input_schema={"type": "object"}),
            ToolDefinition(name="edit_file", description="Edit a file.", input_schema={"type": "object"}),
        ),
        max_tokens=1024,
    )
