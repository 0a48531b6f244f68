"""One server plays the same script in every wire format."""

from collections.abc import AsyncGenerator
from typing import NamedTuple

import httpx2
import pytest

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import CHATGPT_PLAN, RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import event, reply, text, thinking, tool_use

HEADERS = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}


class Spoken(NamedTuple):
    """A wire format and the body of its smallest request."""

    dialect: Dialect
    body: JsonObject

    def address(self, server: ModelServer) -> str:
        return f"{server.url}{self.dialect.answers_at.removeprefix(self.dialect.base)}"


_MESSAGES = [{"role": "user", "content": "Hello."}]
_CHAT: JsonObject = {"model": "m", "stream": True, "messages": _MESSAGES}
_ITEMS: JsonObject = {"model": "m", "stream": True, "store": False, "input": _MESSAGES}
SPOKEN = {
    "anthropic": Spoken(ANTHROPIC, _CHAT | {"max_tokens": 10}),
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
        answer = await client.post(spoken.address(server), json=spoken.body | {"mood": "good"})
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "body.mood: unknown field")
        assert server.violations == ["body.mood: unknown field"]
        assert server.unused_answers == 1


async def test_an_answer_in_chunks_is_the_same_answer(client: httpx2.AsyncClient, spoken: Spoken) -> None:
    answer = reply(
        thinking("Hm.", signature="s"), text("Größe 😀"), tool_use("read_file", path="ä.py").with_id("call_1")
    )
    async with ModelServer(answer, dialect=spoken.dialect) as server:
        whole = (await asked(client, server, spoken)).text
    async with ModelServer(answer.in_chunks(1, 3), dialect=spoken.dialect) as server:
        assert (await asked(client, server, spoken)).text == whole


async def test_what_goes_wrong_in_the_server_itself_fails_the_test(client: httpx2.AsyncClient) -> None:
    answer = reply(event("weather", sky=object()))
    with pytest.RaisesGroup(pytest.RaisesExc(TypeError, match="not JSON serializable")):
        async with ModelServer(answer, dialect=CHAT) as server:
            with pytest.raises(httpx2.RemoteProtocolError):
                await asked(client, server, SPOKEN["chat"])
