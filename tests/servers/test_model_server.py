"""One server plays the same script in every wire format, and Anthropic's own client reads it."""

import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, NamedTuple, cast

import httpx2
import pytest

from desktop_agent.core.protocol.model import JsonObject
from tests.servers import fault
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.clouds import bedrock
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import CHATGPT_PLAN, RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import Refusal, event, reply, text, thinking, tool_use

if TYPE_CHECKING:  # importing it takes a second, in each process that collects tests
    import anthropic

HEADERS = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}


class Spoken(NamedTuple):
    dialect: Dialect
    body: JsonObject

    def address(self, server: ModelServer) -> str:
        return f"{server.url}{self.dialect.answers_at.removeprefix(self.dialect.base)}"


_MESSAGES = [{"role": "user", "content": "Hello."}]
_CHAT: JsonObject = {"model": "m", "stream": True, "messages": _MESSAGES}
_ITEMS: JsonObject = {"model": "m", "stream": True, "store": False, "input": _MESSAGES}
SPOKEN = {
    "anthropic": Spoken(ANTHROPIC, _CHAT | {"max_tokens": 10}),
    "bedrock": Spoken(bedrock("m"), {"anthropic_version": "v", "max_tokens": 9, "messages": _MESSAGES}),
    "chat": Spoken(CHAT, _CHAT),
    "openrouter": Spoken(OPENROUTER, _CHAT),
    "responses": Spoken(RESPONSES, _ITEMS),
    "plan": Spoken(CHATGPT_PLAN, _ITEMS),
}


@pytest.fixture(params=SPOKEN)
def spoken(request: pytest.FixtureRequest) -> Spoken:
    return SPOKEN[request.param]


@pytest.fixture
async def client() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(headers=HEADERS) as client:
        yield client


async def asked(client: httpx2.AsyncClient, server: ModelServer, spoken: Spoken) -> httpx2.Response:
    return await client.post(spoken.address(server), json=spoken.body)


async def test_a_request_that_the_api_would_refuse_is_refused_and_recorded(
    client: httpx2.AsyncClient, spoken: Spoken
) -> None:
    async with ModelServer(reply(text("Hi.")), dialect=spoken.dialect) as server:
        blank = json.loads(json.dumps(spoken.body).replace("Hello.", " "))
        answer = await client.post(spoken.address(server), json=blank)
        said = answer.json()
        assert (answer.status_code, said.get("error", said)["message"]) == (400, server.violations[0])
        assert [problem.partition(": ")[2] for problem in server.violations] == ["text must not be blank"]
        assert server.unused_answers == 1


async def test_what_goes_wrong_in_the_server_itself_fails_the_test(client: httpx2.AsyncClient) -> None:
    answer = reply(event("weather", sky=object()))
    with pytest.RaisesGroup(pytest.RaisesExc(TypeError, match="not JSON serializable")):
        async with ModelServer(answer, dialect=CHAT) as server:
            with pytest.raises(httpx2.RemoteProtocolError):
                await asked(client, server, SPOKEN["chat"])


def client_of(server: AnthropicServer) -> "anthropic.AsyncAnthropic":
    import anthropic

    return anthropic.AsyncAnthropic(api_key="sk-ant-test", base_url=server.url, max_retries=0)


async def said(client: "anthropic.AsyncAnthropic") -> "anthropic.types.Message":
    async with client.messages.stream(
        model="m", max_tokens=10, messages=[{"role": "user", "content": "Hello."}]
    ) as stream:
        return await stream.get_final_message()


async def test_the_sdks_own_stream_reads_every_kind_of_block() -> None:
    answer = reply(thinking("Hm.", signature="sig"), text("Größe."), tool_use("read_file", path="a.py"))
    async with AnthropicServer(answer) as server, client_of(server) as client:
        message = await said(client)
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert (message.stop_reason, message.model, message.usage.output_tokens) == ("tool_use", "m", 20)
    assert server.violations == []
    assert server.unused_answers == 0


@pytest.mark.parametrize(
    ("refusal", "kind", "type_"),
    [
        (fault.unauthorized(), "AuthenticationError", "authentication_error"),
        (fault.not_found("claude-0"), "NotFoundError", "not_found_error"),
        (fault.rate_limited(retry_after="2"), "RateLimitError", "rate_limit_error"),
        (fault.no_credit(), "APIStatusError", "billing_error"),
        (fault.too_long(), "APIStatusError", "request_too_large"),
        (fault.server_error(), "InternalServerError", "api_error"),
        (fault.overloaded(), "InternalServerError", "overloaded_error"),
    ],
)
async def test_the_sdk_knows_every_refusal(refusal: Refusal, kind: str, type_: str) -> None:
    import anthropic

    async with AnthropicServer(refusal) as server, client_of(server) as client:
        with pytest.raises(anthropic.APIStatusError) as error:
            await said(client)
    assert isinstance(error.value, getattr(anthropic, kind))
    assert (error.value.status_code, error.value.type, error.value.request_id) == (refusal.status, type_, "req_0001")


async def test_a_request_without_the_version_of_the_api_is_refused() -> None:
    import anthropic

    omitted = {"anthropic-version": anthropic.omit}
    async with AnthropicServer(reply(text("Hi."))) as server, client_of(server) as client:
        with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
            await said(client.with_options(default_headers=cast("dict[str, str]", omitted)))
