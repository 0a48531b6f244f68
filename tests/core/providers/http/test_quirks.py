"""Almost correct models and servers: unambiguous mistakes are repaired, and reported."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Flaw, ModelRequest, TextBlock, ThinkingBlock, ToolUseBlock
from desktop_agent.core.providers.faults import ErrorEventError
from desktop_agent.core.providers.http_provider import answer_pieces
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.providers.provider_catalog import wire_format_of
from tests.core.providers.http.conftest import KEY
from tests.providers import keyed_provider
from tests.servers.rude_server import RudeServer

CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "corpus" / "quirks.jsonl").read_text(encoding="utf-8").splitlines()
]
NAMES = [f"{case['format']}: {case['name']}" for case in CORPUS]
VENDORS = {"chat": "openai-chat", "anthropic": "anthropic", "responses": "openai"}


def body_of(case: dict[str, Any]) -> bytes:
    if "raw" in case:
        return case["raw"].encode(errors="surrogateescape")
    if "document" in case:
        return json.dumps(case["document"], indent=1).encode()
    events = (line if isinstance(line, str) else json.dumps(line) for line in case["sse"])
    return "".join(f"data: {event}\n\n" for event in events).encode()


class Read(NamedTuple):
    text: str
    thoughts: str
    calls: list[list[Any]]
    rejected: list[str]
    stop: str
    mended: tuple[Flaw, ...]


def read_of(completion: Completion) -> Read:
    calls = [block for block in completion.content if isinstance(block, ToolUseBlock)]
    return Read(
        completion.text,
        "\n".join(block.thinking for block in completion.content if isinstance(block, ThinkingBlock)),
        [[call.name, call.arguments] for call in calls if not call.rejected],
        [call.rejected for call in calls if call.rejected],
        completion.stop_reason,
        completion.mended,
    )


def check(case: dict[str, Any], read: Read) -> None:
    wanted = (case["text"], case["thoughts"], case["calls"], case["stop"], tuple(case["mended"]))
    assert (read.text, read.thoughts, read.calls, read.stop, read.mended) == wanted
    assert len(read.rejected) == len(case["rejected"])
    assert all(part in why for part, why in zip(case["rejected"], read.rejected, strict=True))


@pytest.mark.parametrize("case", CORPUS, ids=NAMES)
async def test_an_answer_of_a_sloppy_server_is_read_as_what_it_can_only_mean(
    case: dict[str, Any], model_request: ModelRequest
) -> None:
    kind = b"application/json" if "document" in case else b"text/event-stream"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n" % kind
    async with RudeServer(head, body_of(case)) as server:
        provider = keyed_provider(VENDORS[case["format"]], KEY, address=server.url)
        async with aclosing(provider):
            if case["fault"]:
                with pytest.raises(ProviderError) as caught:
                    _ = [piece async for piece in provider.stream(model_request)]
                assert caught.value.fault == case["fault"]
            else:
                *_, completion = [piece async for piece in provider.stream(model_request)]
                assert isinstance(completion, Completion)
                check(case, read_of(completion))


async def read_in_pieces(vendor: str, sent: Sequence[bytes]) -> tuple[list[StreamPiece], Completion]:
    async def body() -> AsyncIterator[bytes]:
        for piece in sent:
            yield piece

    reader = wire_format_of(usual_account(vendor)).reader()
    shown = [piece async for piece in answer_pieces(reader, body())]
    return shown, reader.completion()


def cut(body: bytes, places: Sequence[int]) -> list[bytes]:
    ends = sorted(place % (len(body) + 1) for place in places)
    return [body[start:end] for start, end in zip([0, *ends], [*ends, len(body)], strict=True)]


@given(
    case=st.sampled_from([case for case in CORPUS if not case["fault"]]), places=st.lists(st.integers(0), max_size=9)
)
async def test_an_answer_is_the_same_however_it_is_cut(case: dict[str, Any], places: list[int]) -> None:
    vendor, body = VENDORS[case["format"]], body_of(case)
    whole = await read_in_pieces(vendor, [body])
    assert await read_in_pieces(vendor, cut(body, places)) == whole
    shown = "".join(piece.text for piece in whole[0] if isinstance(piece, ev.TextDelta))
    is_shown_before_it_is_known = "opening tag" in case["name"] or "comes whole" in case["name"]
    assert shown == whole[1].text or is_shown_before_it_is_known


FAULTS = st.sampled_from(["drop", "repeat", "swap", "cut", "byte", "splice"])


def test_no_stream_raises_anything_else_or_grows_without_bounds(*, is_nightly: bool) -> None:
    @settings(max_examples=100_000 if is_nightly else 150, phases=[Phase.explicit, Phase.generate])
    @given(
        case=st.sampled_from(CORPUS),
        other=st.sampled_from(CORPUS),
        faults=st.lists(st.tuples(FAULTS, st.integers(0), st.integers(0)), min_size=1, max_size=4),
    )
    def holds(case: dict[str, Any], other: dict[str, Any], faults: list[tuple[str, int, int]]) -> None:
        sent = damaged(body_of(case), body_of(other), faults)
        try:
            with asyncio.Runner() as runner:
                shown, completion = runner.run(read_in_pieces(VENDORS[case["format"]], [sent]))
        except (ProviderError, ErrorEventError):
            return
        assert len(repr(completion)) < 20 * len(sent) + 5_000
        assert len(repr(shown)) < 100 * len(sent) + 5_000
        for block in completion.content:
            if isinstance(block, TextBlock | ThinkingBlock):
                (block.text if isinstance(block, TextBlock) else block.thinking).encode()
            if isinstance(block, ToolUseBlock):
                json.dumps(block.arguments).encode()
                assert block.rejected or completion.stop_reason == "tool_use"

    holds()


def damaged(body: bytes, other: bytes, faults: list[tuple[str, int, int]]) -> bytes:
    sent = bytearray(body)
    for fault, first, second in faults:
        at, to = sorted((first % (len(sent) + 1), second % (len(sent) + 1)))
        match fault:
            case "drop":
                del sent[at:to]
            case "repeat":
                sent[at:at] = sent[at:to]
            case "swap":
                sent[at:to] = sent[at:to][::-1]
            case "cut":
                del sent[to:]
            case "byte" if sent:
                sent[at % len(sent)] = second % 256
            case _:
                sent[at:at] = other
    return bytes(sent)
