"""One server plays the same script in every wire format."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from desktop_agent.core.protocol.model import JsonObject
from tests.servers import fault, threaded
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import CHATGPT_PLAN, RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import Fault, block, event, reply, text, thinking, tool_use

HEADERS = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}


class Spoken(NamedTuple):
    """A wire format, the body of its smallest request, and what the last of its events holds."""

    dialect: Dialect
    body: JsonObject
    end: str

    def address(self, server: ModelServer | threaded.ThreadedServer) -> str:
        """Return where a model is asked."""
        return f"{server.url}{self.dialect.answers_at.removeprefix(self.dialect.base)}"


_MESSAGES = [{"role": "user", "content": "Hello."}]
_CHAT: JsonObject = {"model": "m", "stream": True, "messages": _MESSAGES}
_ITEMS: JsonObject = {"model": "m", "stream": True, "store": False, "input": _MESSAGES}
SPOKEN = {
    "anthropic": Spoken(ANTHROPIC, _CHAT | {"max_tokens": 10}, "message_stop"),
    "chat": Spoken(CHAT, _CHAT, "[DONE]"),
    "openrouter": Spoken(OPENROUTER, _CHAT, "[DONE]"),
    "responses": Spoken(RESPONSES, _ITEMS, "response.completed"),
    "plan": Spoken(CHATGPT_PLAN, _ITEMS, "response.completed"),
}


@pytest.fixture(params=SPOKEN)
def spoken(request: pytest.FixtureRequest) -> Spoken:
    """Return each of the formats."""
    return SPOKEN[request.param]


@pytest.fixture
async def client() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(headers=HEADERS) as client:
        yield client


async def asked(client: httpx2.AsyncClient, server: ModelServer, spoken: Spoken) -> httpx2.Response:
    return await client.post(spoken.address(server), json=spoken.body)


async def test_answers_come_in_the_order_of_the_script_and_then_no_more(
    client: httpx2.AsyncClient, spoken: Spoken
) -> None:
    async with ModelServer(fault.server_error(), reply(text("Größe")), dialect=spoken.dialect) as server:
        answers = [await asked(client, server, spoken) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [500, 200, 400]
        assert "script" in answers[2].text
        assert answers[1].headers["content-type"] == "text/event-stream; charset=utf-8"
        assert "Größe" in answers[1].text
        assert spoken.end in answers[1].text.strip().split("\n\n")[-1]
        assert server.violations == []
        assert [exchange.outcome for exchange in server.messages] == ["answered"] * 3


async def test_a_request_that_the_api_would_refuse_is_refused_and_recorded(
    client: httpx2.AsyncClient, spoken: Spoken
) -> None:
    async with ModelServer(reply(text("Hi.")), dialect=spoken.dialect) as server:
        answer = await client.post(spoken.address(server), json=spoken.body | {"mood": "good"})
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "body.mood: unknown field")
        assert server.violations == ["body.mood: unknown field"]
        assert server.unused_answers == 1


async def test_a_wrong_key_or_none_is_refused(client: httpx2.AsyncClient, spoken: Spoken) -> None:
    async with ModelServer(dialect=spoken.dialect, key="right") as server:
        assert (await asked(client, server, spoken)).status_code == 401
        client.headers["authorization"] = ""
        assert (await asked(client, server, spoken)).status_code == 401
        assert (await client.get(f"{server.url}/v1/models".replace("/v1/v1", "/v1"))).status_code == 401


async def test_an_answer_can_be_cut_anywhere(client: httpx2.AsyncClient, spoken: Spoken) -> None:
    breaks = [fault.drop_after(events=3), fault.close_after(size=200)]
    answers = [reply(text("This is an answer."), each) for each in breaks]
    async with ModelServer(*answers, dialect=spoken.dialect) as server:
        for _ in answers:
            with pytest.raises(httpx2.TransportError):
                await asked(client, server, spoken)
        for exchange in server.messages:
            await exchange.is_over.wait()
        assert [exchange.outcome for exchange in server.messages] == ["cut", "cut"]


@pytest.mark.parametrize("break_", [fault.end_after(events=3), fault.error_after(events=3)])
async def test_an_answer_can_end_early_in_good_order(client: httpx2.AsyncClient, spoken: Spoken, break_: Fault) -> None:
    async with ModelServer(reply(text("This is an answer."), break_), dialect=spoken.dialect) as server:
        answer = await asked(client, server, spoken)
        assert spoken.end not in answer.text
        assert ("Overloaded" in answer.text) == (break_.kind == "insert")


async def test_garbage_comes_in_between(client: httpx2.AsyncClient, spoken: Spoken) -> None:
    answer = reply(text("This is an answer."), fault.garbage_after(events=3, data=b"{garbage"))
    async with ModelServer(answer, dialect=spoken.dialect) as server:
        body = (await asked(client, server, spoken)).text
        assert "data: {garbage\n\n" in body
        assert spoken.end in body


async def test_a_stalled_answer_goes_on_when_it_is_released(client: httpx2.AsyncClient, spoken: Spoken) -> None:
    async with ModelServer(reply(text("Hello."), fault.stall_after(events=2)), dialect=spoken.dialect) as server:
        answer = asyncio.create_task(asked(client, server, spoken))
        await (await server.request(1)).has_stalled.wait()
        assert not answer.done()
        server.release()
        assert spoken.end in (await answer).text


async def test_an_answer_in_chunks_is_the_same_answer(client: httpx2.AsyncClient, spoken: Spoken) -> None:
    answer = reply(
        thinking("Hm.", signature="s"), text("Größe 😀"), tool_use("read_file", path="ä.py").with_id("call_1")
    )
    async with ModelServer(answer, dialect=spoken.dialect) as server:
        whole = (await asked(client, server, spoken)).text
    async with ModelServer(answer.in_chunks(1, 3), dialect=spoken.dialect) as server:
        assert (await asked(client, server, spoken)).text == whole


async def test_any_event_and_any_block_can_be_put_in(client: httpx2.AsyncClient, spoken: Spoken) -> None:
    answer = reply(event("weather", sky="blue"), block({"type": "vision", "id": "v_1"}), text("Hi."))
    async with ModelServer(answer, dialect=spoken.dialect) as server:
        body = (await asked(client, server, spoken)).text
        assert '"sky": "blue"' in body
        assert '"type": "vision"' in body


async def test_a_page_is_no_matter_of_the_format(client: httpx2.AsyncClient, spoken: Spoken) -> None:
    async with ModelServer(fault.page(), dialect=spoken.dialect) as server:
        answer = await asked(client, server, spoken)
        assert (answer.headers["content-type"], answer.text) == ("text/html", "<html>Sign in to the network</html>")


def test_a_test_without_a_loop_can_have_a_server(spoken: Spoken) -> None:
    with (
        threaded.serve(reply(text("One.")), dialect=spoken.dialect) as server,
        httpx2.Client(headers=HEADERS) as client,
    ):
        server.will(reply(text("Two.")))
        bodies = [client.post(spoken.address(server), json=spoken.body).text for _ in range(2)]
        assert ["One." in bodies[0], "Two." in bodies[1], len(server.messages), server.violations] == [
            True,
            True,
            2,
            [],
        ]


async def test_what_goes_wrong_in_the_server_itself_fails_the_test(client: httpx2.AsyncClient) -> None:
    answer = reply(event("weather", sky=object()))
    with pytest.RaisesGroup(pytest.RaisesExc(TypeError, match="not JSON serializable")):
        async with ModelServer(answer, dialect=CHAT) as server:
            with pytest.raises(httpx2.RemoteProtocolError):
                await asked(client, server, SPOKEN["chat"])


async def test_the_server_runs_as_a_process_in_any_format(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "Hi."}]))
    program = ("-m", "tests.servers.process", "--dialect", "responses", "--script", str(script))
    process = await asyncio.create_subprocess_exec(sys.executable, *program, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    url = f"http://127.0.0.1:{int(await process.stdout.readline())}/v1/responses"
    assert "response.completed" in (await client.post(url, json=_ITEMS)).text
    asked = json.loads(await process.stdout.readline())
    assert (asked["path"], asked["body"], asked["violations"]) == ("/v1/responses", _ITEMS, [])
    process.terminate()
    await process.wait()
