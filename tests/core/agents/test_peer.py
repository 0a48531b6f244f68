"""One side of a JSON-RPC conversation: what it takes at once, and what it refuses."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest

from desktop_agent.core.agents.peer import Peer
from desktop_agent.core.protocol.model import JsonObject


def _request(number: object, text: str = "") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "wait", "params": {"text": text}}).encode()


async def _answers(*lines: bytes) -> list[dict[str, Any]]:
    """Return what a peer says to these lines, all of whose requests wait until its input ends."""
    said = list[dict[str, Any]]()

    async def wait(_params: JsonObject) -> JsonObject:
        return await asyncio.get_running_loop().create_future()

    async def given() -> AsyncGenerator[bytes]:
        for line in lines:
            yield line

    await Peer(lambda line: said.append(json.loads(line)), {"wait": wait}, {}).serve(given())
    return said


def _refused(said: list[dict[str, Any]]) -> dict[object, str]:
    return {one["id"]: one["error"]["message"] for one in said if one["error"]["code"] != -32800}


async def test_requests_that_run_are_few_and_together_not_large() -> None:
    large = "x" * 30_000_000
    assert _refused(await _answers(*(_request(name, large) for name in "abc"))) == {"c": "Too many requests run."}
    assert len(_refused(await _answers(*map(_request, range(300))))) == 300 - 256
    assert _refused(await _answers(_request(1), _request(1))) == {1: "The id is in use."}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (_request("x" * 201), "not a JSON-RPC 2.0 message"),
        (_request(True), "not a JSON-RPC 2.0 message"),
        (_request(1.5), "not a JSON-RPC 2.0 message"),
        (_request(1, "half \ud83d a character"), "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"1" * 10_000, "not JSON"),
    ],
)
async def test_what_is_no_request_is_refused_without_an_id(line: bytes, words: str) -> None:
    (refusal,) = _refused(await _answers(line)).items()
    assert refusal[0] is None
    assert words in refusal[1]


async def test_a_whole_character_of_two_halves_is_taken() -> None:
    assert _refused(await _answers(_request(1, "\N{PARTY POPPER}"))) == {}


@pytest.mark.parametrize(
    ("own", "method", "parameter"),
    [({}, "$/cancel_request", "requestId"), ({"cancel": ("$/cancelRequest", "id")}, "$/cancelRequest", "id")],
)
async def test_a_request_is_cancelled_as_the_protocol_says(own: dict[str, Any], method: str, parameter: str) -> None:
    said = list[dict[str, Any]]()
    peer = Peer(lambda line: said.append(json.loads(line)), {}, {}, **own)
    with suppress(TimeoutError):
        async with asyncio.timeout(0):
            await peer.ask("wait", {})
    assert [(one["method"], one["params"]) for one in said] == [("wait", {}), (method, {parameter: said[0]["id"]})]
