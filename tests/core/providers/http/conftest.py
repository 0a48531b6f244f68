"""A provider and the server it talks to, in each wire format."""

from collections.abc import AsyncGenerator
from typing import NamedTuple

import pytest

from desktop_agent.core.providers.http_provider import HttpProvider
from tests.providers import keyed_provider
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER, ChatDialect
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES, ResponsesDialect
from tests.servers.model_server import ModelServer

pytest.register_assert_rewrite("tests.contracts.provider_conformance", "tests.contracts.wire_conformance")

KEY = "sk-test-0123456789abcdef"


class Spoken(NamedTuple):
    vendor: str
    dialect: Dialect


SPOKEN = {
    "anthropic": Spoken("anthropic", ANTHROPIC),
    "openai": Spoken("openai", RESPONSES),
    "calls whole, no items at the end": Spoken(
        "openai", ResponsesDialect(calls="whole", repeats_output=False, fails_with="response.failed")
    ),
    "openai-chat": Spoken("openai-chat", CHAT),
    "openrouter": Spoken("openrouter", OPENROUTER),
    "whole calls without a place": Spoken("llamacpp", ChatDialect(calls="whole", has_index=False, alternates=True)),
    "calls together, no end": Spoken(
        "ollama",
        ChatDialect(calls="together", has_index=False, has_done=False, has_empty_deltas=True),
    ),
    "ids again and again": Spoken("ollama", ChatDialect(thinking="reasoning", repeats_ids=True, usage_at="finish")),
}


@pytest.fixture(params=SPOKEN)
def spoken(request: pytest.FixtureRequest) -> Spoken:
    return SPOKEN[request.param]


@pytest.fixture
async def server(spoken: Spoken) -> AsyncGenerator[ModelServer]:
    async with ModelServer(key=KEY, dialect=spoken.dialect) as server:
        yield server
        assert server.violations == []


@pytest.fixture
async def provider(spoken: Spoken, server: ModelServer) -> AsyncGenerator[HttpProvider]:
    provider = keyed_provider(spoken.vendor, KEY, address=server.url)
    yield provider
    await provider.aclose()
