"""Requests through Anthropic's SDK, which runs in a process of its own."""

import sys
from collections.abc import AsyncGenerator

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.protocol.model import ModelRequest, TextBlock, ToolUseBlock
from desktop_agent.core.providers.auth.credential import NoCredential
from desktop_agent.core.providers.http_provider import HttpProvider
from desktop_agent.core.providers.provider import whole_answer
from desktop_agent.core.providers.provider_catalog import account_provider, sdk_connection
from desktop_agent.core.providers.sdk_connection import SdkConnection
from tests.servers import fault
from tests.servers.dialects.clouds import bedrock
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text, tool_use

MODEL = "global.anthropic.claude-sonnet-5-5"
AWS = {"AWS_ACCESS_KEY_ID": "AKIATESTTESTTEST1234", "AWS_SECRET_ACCESS_KEY": "a-secret-of-the-test-0123456789"}


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer(dialect=bedrock(MODEL)) as server:
        yield server
        assert server.violations == []


@pytest.fixture
def connection(server: ModelServer) -> SdkConnection:
    account = replace(usual_account("bedrock"), address=server.url, cloud={"region": "eu-central-1"})
    return sdk_connection(account, AWS)


@pytest.fixture
async def provider(connection: SdkConnection, server: ModelServer) -> AsyncGenerator[HttpProvider]:
    account = replace(usual_account("bedrock"), address=server.url)
    provider = account_provider(account, NoCredential(), sdk=connection)
    yield provider
    await provider.aclose()
    assert connection.pid is None


@pytest.fixture
def request_to_bedrock(model_request: ModelRequest) -> ModelRequest:
    return replace(model_request, model=MODEL)


async def test_answers_come_whole_and_the_sdk_is_not_imported_here(
    provider: HttpProvider, server: ModelServer, request_to_bedrock: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for imported_by_other_tests in ("anthropic", "boto3"):
        monkeypatch.delitem(sys.modules, imported_by_other_tests, raising=False)
    server.will(reply(text("Größe, 思考."), tool_use("read_file", path="a.py")))
    completion = await whole_answer(provider, request_to_bedrock)
    assert [type(block) for block in completion.content] == [TextBlock, ToolUseBlock]
    assert completion.text == "Größe, 思考."
    assert "anthropic" not in sys.modules
    assert "boto3" not in sys.modules


async def test_a_worker_that_was_killed_is_a_connection_that_was_lost_and_the_next_request_starts_another(
    provider: HttpProvider, connection: SdkConnection, server: ModelServer, request_to_bedrock: ModelRequest
) -> None:
    server.will(reply(text("And then"), fault.stall_after(events=3)), reply(text("Again.")))

    async def kill_in_the_middle() -> None:
        async for _ in provider.stream(request_to_bedrock):
            connection.kill()

    with pytest.raises(ProviderError) as caught:
        await kill_in_the_middle()
    assert caught.value.is_transient
    assert (await whole_answer(provider, request_to_bedrock)).text == "Again."
