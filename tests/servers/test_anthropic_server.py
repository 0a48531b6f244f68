"""The loopback server does what its scripts say, in a loop, in a thread and as a process."""

import asyncio
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

import anthropic
import pytest

from desktop_agent.core.protocol.model import JsonObject
from tests.servers import fault, threaded
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.dialect import Ask
from tests.servers.script import reply, text, thinking, tool_use
from tests.servers.script_files import answers_from_json
from tests.servers.staging import stages

HELLO: JsonObject = {
    "model": "m",
    "max_tokens": 10,
    "stream": True,
    "messages": [{"role": "user", "content": "Hello."}],
}

ASK = Ask(1, HELLO)


def client_of(server: AnthropicServer) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(api_key="sk-ant-test", base_url=server.url, max_retries=0)


def post(url: str, body: object, **headers: str) -> tuple[int, str]:
    """Send a request without any SDK and return status and body."""
    given = {"authorization": "Bearer k", "anthropic-version": "2026-10-21", "content-type": "application/json"}
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/v1/messages", data=data, headers=given | headers)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def test_the_sdks_own_stream_reads_every_kind_of_block() -> None:
    answer = reply(thinking("Hm.", signature="sig"), text("Größe."), tool_use("read_file", path="a.py"))
    async with AnthropicServer(answer) as server, client_of(server) as client:
        messages: list[anthropic.types.MessageParam] = [{"role": "user", "content": "Hello."}]
        async with client.messages.stream(model="m", max_tokens=10, messages=messages) as stream:
            message = await stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert (message.stop_reason, message.model, message.usage.output_tokens) == ("tool_use", "m", 20)
    assert server.violations == []
    assert server.unused_answers == 0


async def test_tokens_can_be_counted() -> None:
    async with AnthropicServer() as server, client_of(server) as client:
        count = await client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "Hello."}])
        assert count.input_tokens > 0
        assert server.violations == []


async def test_models_can_be_listed() -> None:
    async with AnthropicServer() as server, client_of(server) as client:
        assert [model.id async for model in client.models.list()] == ["claude-test-large", "claude-test-old"]


async def test_answers_come_in_the_order_of_the_script_and_then_no_more() -> None:
    async with AnthropicServer(fault.overloaded(), reply(text("Hi."))) as server:
        statuses = [(await asyncio.to_thread(post, server.url, HELLO))[0] for _ in range(3)]
        assert statuses == [529, 200, 400]


async def test_a_request_that_the_api_would_refuse_is_refused_and_recorded() -> None:
    async with AnthropicServer(reply(text("Hi."))) as server:
        status, body = await asyncio.to_thread(post, server.url, HELLO | {"temperature": 1})
        assert (status, json.loads(body)["error"]["message"]) == (400, "body.temperature: unknown field")
        assert server.violations == ["body.temperature: unknown field"]
        assert server.unused_answers == 1


async def test_a_request_without_a_key_is_refused() -> None:
    async with AnthropicServer(reply(text("Hi."))) as server:
        assert (await asyncio.to_thread(post, server.url, HELLO, authorization=""))[0] == 401


async def test_a_stalled_answer_goes_on_when_it_is_released() -> None:
    async with AnthropicServer(reply(text("Hello."), fault.stall_after(events=2))) as server:
        answer = asyncio.create_task(asyncio.to_thread(post, server.url, HELLO))
        exchange = await server.request(1)
        await exchange.has_stalled.wait()
        server.release()
        _, body = await answer
        assert "message_stop" in body
        await exchange.is_over.wait()
        assert exchange.outcome == "answered"


def test_a_test_without_a_loop_can_have_a_server() -> None:
    with threaded.serve(reply(text("One."))) as server:
        server.will(reply(text("Two.")))
        assert "One." in post(server.url, HELLO)[1]
        assert "Two." in post(server.url, HELLO)[1]
        assert len(server.messages) == 2
        assert server.violations == []


async def test_the_server_runs_as_a_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "Hi."}, {"text": "Wait.", "fault": {"kind": "stall", "events": 2}}]))
    program = ("-m", "tests.servers.anthropic_server", "--script", str(script))
    process = await asyncio.create_subprocess_exec(sys.executable, *program, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    url = f"http://127.0.0.1:{int(await process.stdout.readline())}"

    assert "message_stop" in (await asyncio.to_thread(post, url, HELLO))[1]
    first = json.loads(await process.stdout.readline())
    assert (first["request"], first["path"], first["body"]) == (1, "/v1/messages", HELLO)

    stalled = asyncio.create_task(asyncio.to_thread(post, url, HELLO))
    await process.stdout.readline()
    assert json.loads(await process.stdout.readline()) == {"stalled": 2}

    process.terminate()
    await process.wait()
    with pytest.raises(Exception, match=r"IncompleteRead|reset|closed"):
        await stalled


def test_a_script_file_spells_what_the_words_spell() -> None:
    script: list[object] = [
        {"text": "Hi."},
        {
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "name": "read_file", "input": {"path": "a.py"}},
                {"type": "tool_use", "id": "toolu_x", "name": "list_files", "input": {}},
            ],
            "fault": {"kind": "reset", "events": 3},
        },
        {"text": "Cut", "stop_reason": "max_tokens", "pace_ms": 20},
        {"status": 429, "error_type": "rate_limit_error", "message": "slow", "headers": {"retry-after": "2"}},
    ]
    assert answers_from_json(script) == [
        reply(text("Hi.")),
        reply(
            thinking("Hm.", signature="sig"),
            text("Looking."),
            tool_use("read_file", path="a.py"),
            tool_use("list_files").with_id("toolu_x"),
            fault.drop_after(events=3),
        ),
        reply(text("Cut"), stop_reason="max_tokens").paced(0.02),
        fault.status(429, "rate_limit_error", "slow", retry_after="2"),
    ]


@pytest.mark.parametrize(
    "script",
    [
        {"text": "Hi."},
        [{}],
        [{"content": [{"type": "image"}]}],
        [{"text": "Hi.", "fault": {"kind": "explode", "events": 1}}],
        [{"text": "Hi.", "fault": {"kind": "reset"}}],
    ],
)
def test_a_script_file_that_makes_no_sense_is_refused(script: object) -> None:
    with pytest.raises(ValueError, match=r"script|answer|fault"):
        answers_from_json(script)


def test_chunks_are_cut_anywhere_and_nothing_is_lost() -> None:
    answer = reply(text("Größe 😀"))
    whole = b"".join(stages(answer, ANTHROPIC, ASK)[0].chunks)
    for sizes in ((1,), (3, 5), (10_000,)):
        chunks = stages(answer.in_chunks(*sizes), ANTHROPIC, ASK)[0].chunks
        assert b"".join(chunks) == whole
        assert all(len(chunk) <= max(sizes) for chunk in chunks)
