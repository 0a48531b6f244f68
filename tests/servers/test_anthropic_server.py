"""Anthropic's own client reads what the server says."""

import asyncio
import json
import sys
import urllib.request
from pathlib import Path
from typing import cast

import anthropic
import pytest

from desktop_agent.core.protocol.model import JsonObject
from tests.servers import fault
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import Refusal, reply, text, thinking, tool_use

HELLO: JsonObject = {
    "model": "m",
    "max_tokens": 10,
    "stream": True,
    "messages": [{"role": "user", "content": "Hello."}],
}


def client_of(server: AnthropicServer) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(api_key="sk-ant-test", base_url=server.url, max_retries=0)


def post(url: str) -> str:
    """Ask without any SDK and return what came."""
    headers = {"authorization": "Bearer k", "anthropic-version": "2026-10-21", "content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/messages", data=json.dumps(HELLO).encode(), headers=headers)
    with urllib.request.urlopen(request) as response:
        return response.read().decode()


async def said(client: anthropic.AsyncAnthropic) -> anthropic.types.Message:
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
        (fault.unauthorized(), anthropic.AuthenticationError, "authentication_error"),
        (fault.not_found("claude-0"), anthropic.NotFoundError, "not_found_error"),
        (fault.rate_limited(retry_after="2"), anthropic.RateLimitError, "rate_limit_error"),
        (fault.no_credit(), anthropic.APIStatusError, "billing_error"),
        (fault.too_long(), anthropic.APIStatusError, "request_too_large"),
        (fault.server_error(), anthropic.InternalServerError, "api_error"),
        (fault.overloaded(), anthropic.InternalServerError, "overloaded_error"),
    ],
)
async def test_the_sdk_knows_every_refusal(refusal: Refusal, kind: type[anthropic.APIStatusError], type_: str) -> None:
    async with AnthropicServer(refusal) as server, client_of(server) as client:
        with pytest.raises(kind) as error:
            await said(client)
    assert (error.value.status_code, error.value.type, error.value.request_id) == (refusal.status, type_, "req_0001")


async def test_the_sdk_reads_an_error_in_the_stream() -> None:
    async with (
        AnthropicServer(reply(text("Hi."), fault.error_after(events=3))) as server,
        client_of(server) as client,
    ):
        with pytest.raises(anthropic.APIStatusError) as error:
            await said(client)
    assert error.value.type == "overloaded_error"


async def test_a_request_without_the_version_of_the_api_is_refused() -> None:
    omitted = {"anthropic-version": anthropic.omit}
    async with AnthropicServer(reply(text("Hi."))) as server, client_of(server) as client:
        with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
            await said(client.with_options(default_headers=cast("dict[str, str]", omitted)))


async def test_the_server_runs_as_a_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "Hi."}, {"text": "Wait.", "fault": {"kind": "stall", "events": 2}}]))
    program = ("-m", "tests.servers.anthropic_server", "--script", str(script))
    process = await asyncio.create_subprocess_exec(sys.executable, *program, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    url = f"http://127.0.0.1:{int(await process.stdout.readline())}"

    assert "message_stop" in await asyncio.to_thread(post, url)
    first = json.loads(await process.stdout.readline())
    assert (first["request"], first["path"], first["body"]) == (1, "/v1/messages", HELLO)

    stalled = asyncio.create_task(asyncio.to_thread(post, url))
    await process.stdout.readline()
    assert json.loads(await process.stdout.readline()) == {"stalled": 2}

    process.terminate()
    await process.wait()
    with pytest.raises(Exception, match=r"IncompleteRead|reset|closed"):
        await stalled
