"""One message from a stream of events, or none."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ProviderError, ProviderFault
from desktop_agent.core.protocol.events import TextDelta, ThinkingDelta
from desktop_agent.core.protocol.model import (
    HostedCall,
    JsonObject,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
    WebPage,
)
from desktop_agent.core.providers.anthropic import AnthropicReader
from desktop_agent.core.providers.provider import Completion, StreamPiece, writing_call
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.dialect import Ask
from tests.servers.script import (
    Part,
    Reply,
    block,
    event,
    ping,
    raw_tool_use,
    redacted_thinking,
    reply,
    text,
    thinking,
    tool_use,
)
from tests.servers.staging import body


def events_of(answer: Reply) -> list[JsonObject]:
    wire = body(answer, ANTHROPIC, Ask(1, {"model": "m"})).decode()
    return [json.loads(part.partition("data: ")[2]) for part in wire.split("\n\n") if part]


def built(events: list[JsonObject]) -> list[StreamPiece]:
    message = AnthropicReader()
    pieces = [piece for each in events for piece in message.add(json.dumps(each))]
    return [*pieces, message.completion()]


def completed(*parts: Part, stop_reason: str = "") -> Completion:
    last = built(events_of(reply(*parts, stop_reason=stop_reason)))[-1]
    assert isinstance(last, Completion)
    return last


def test_a_message_is_streamed_and_then_whole() -> None:  # Z-104
    pieces = built(
        events_of(
            reply(
                thinking("Let me see.", signature="sig"),
                text("I read it."),
                tool_use("read_file", path="a.py"),
                input_tokens=7,
                output_tokens=9,
                cache_read=3,
                cache_write=2,
            )
        )
    )
    assert pieces == [
        ThinkingDelta(text="Let me "),
        ThinkingDelta(text="see."),
        TextDelta(text="I read "),
        TextDelta(text="it."),
        writing_call("toolu_0001_2", "read_file", 0),
        writing_call("toolu_0001_2", "read_file", 9),
        writing_call("toolu_0001_2", "read_file", 16),
        Completion(
            message_id="msg_0001",
            content=(
                ThinkingBlock(thinking="Let me see.", signature="sig"),
                TextBlock(text="I read it."),
                ToolUseBlock(id="toolu_0001_2", name="read_file", arguments={"path": "a.py"}),
            ),
            stop_reason="tool_use",
            usage=Usage(input_tokens=7, output_tokens=9, cache_read_tokens=3, cache_write_tokens=2),
        ),
    ]


def test_an_empty_message_is_a_message() -> None:
    assert completed().content == ()


# --- tool calls ---------------------------------------------------------------------------------------------------


@given(st.integers(min_value=1))
def test_a_call_that_the_token_limit_cut_is_rejected_wherever_it_was_cut(cut: int) -> None:
    whole = json.dumps({"path": "a.txt", "content": "x" * 20})
    (call,) = completed(raw_tool_use("edit_file", whole[: cut % len(whole)]), stop_reason="max_tokens").content
    assert isinstance(call, ToolUseBlock)
    assert call.arguments == {}
    assert "token limit" in call.rejected


def test_arguments_that_come_with_the_start_are_taken() -> None:
    start: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.py"}}
    assert completed(block(start)).content == (
        ToolUseBlock(id="toolu_1", name="read_file", arguments={"path": "a.py"}),
    )


# --- what we do not know ------------------------------------------------------------------------------------------


def test_unknown_events_and_pings_are_passed_over() -> None:
    assert completed(ping(), event("weather", sky="blue"), text("Hi.")).content == (TextBlock(text="Hi."),)


def test_unknown_deltas_of_a_known_block_are_passed_over() -> None:
    start: JsonObject = {"type": "text", "text": "H"}
    citation: JsonObject = {"type": "citations_delta", "citation": {"type": "page_location"}}
    delta: JsonObject = {"type": "text_delta", "text": "i."}
    strange: JsonObject = {"type": "colour_delta", "colour": "red"}
    assert completed(block(start, citation, strange, delta)).content == (TextBlock(text="Hi."),)


def test_redacted_thinking_is_kept() -> None:
    assert completed(redacted_thinking("abc"), text("Hi.")).content[0] == RedactedThinkingBlock(data="abc")


def test_a_server_tool_is_kept_whole() -> None:
    call: JsonObject = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    parts: tuple[JsonObject, ...] = (
        {"type": "input_json_delta", "partial_json": '{"query": "off'},
        {"type": "input_json_delta", "partial_json": ' by one"}'},
    )
    found: JsonObject = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "https://example.com", "encrypted_content": "abc"}],
    }
    assert completed(block(call, *parts), block(found)).content == (
        OpaqueBlock(
            payload=call | {"input": {"query": "off by one"}},
            call=HostedCall(id="srvtoolu_1", query="off by one", state="started"),
        ),
        OpaqueBlock(payload=found, call=HostedCall(id="srvtoolu_1", pages=(WebPage(url="https://example.com"),))),
    )


def test_a_block_of_a_type_that_nobody_knows_is_kept_with_all_its_deltas() -> None:
    start: JsonObject = {"type": "dream", "text": "a", "places": [1], "mood": None}
    deltas: tuple[JsonObject, ...] = (
        {"type": "text_delta", "text": "b"},
        {"type": "dream_delta", "places": [2], "mood": "calm", "depth": 3},
        {"type": "citations_delta", "citation": {"n": 1}},
        {"type": "citations_delta", "citation": {"n": 2}},
    )
    assert completed(block(start, *deltas)).content == (
        OpaqueBlock(
            payload={
                "type": "dream",
                "text": "ab",
                "places": [1, 2],
                "mood": "calm",
                "depth": 3,
                "citations": [{"n": 1}, {"n": 2}],
            }
        ),
    )


# --- characters ---------------------------------------------------------------------------------------------------


def test_a_character_cut_in_two_by_the_stream_is_whole_again() -> None:
    halves: tuple[JsonObject, ...] = (
        {"type": "text_delta", "text": "a\ud83d"},
        {"type": "text_delta", "text": "\ude00b"},
    )
    pieces = built(events_of(reply(block({"type": "text", "text": ""}, *halves))))
    assert pieces[:-1] == [TextDelta(text="a"), TextDelta(text="😀b")]


def test_half_a_character_is_replaced() -> None:
    half: JsonObject = {"type": "text_delta", "text": "a\ud83d"}
    pieces = built(events_of(reply(block({"type": "text", "text": ""}, half))))
    assert pieces[:-1] == [TextDelta(text="a"), TextDelta(text="\ufffd")]


# --- streams that cannot be trusted -------------------------------------------------------------------------------

WHOLE = events_of(reply(text("Hello."), tool_use("edit_file", path="a.py")))


@pytest.mark.parametrize("length", range(len(WHOLE) - 1))
def test_a_stream_that_ends_before_its_reason_to_stop_never_becomes_a_message(length: int) -> None:
    with pytest.raises(ProviderError) as caught:
        built(WHOLE[:length])
    assert caught.value.fault == "stream"


def without(kind: str) -> list[JsonObject]:
    return [each for each in WHOLE if each["type"] != kind]


@pytest.mark.parametrize(
    "events",
    [
        without("content_block_start"),
        [*WHOLE[:1], *WHOLE[1:3], *WHOLE[1:]],
        [*WHOLE[:-1], *WHOLE[2:3], *WHOLE[-1:]],
    ],
    ids=["a delta without a block", "a block twice", "a delta too late"],
)
def test_events_in_the_wrong_order_are_no_message(events: list[JsonObject]) -> None:
    with pytest.raises(ProviderError) as caught:
        built(events)
    assert caught.value.fault == "stream"


@pytest.mark.parametrize("events", [without("message_delta"), events_of(reply(text("Hi."), stop_reason=None))])
def test_a_whole_message_without_a_reason_to_stop_is_taken(events: list[JsonObject]) -> None:
    completion = built(events)[-1]
    assert isinstance(completion, Completion)
    has_calls = any(isinstance(block, ToolUseBlock) for block in completion.content)
    assert completion.stop_reason == ("tool_use" if has_calls else "end_turn")
    assert completion.mended[0] == "no_stop_reason"


@pytest.mark.parametrize("data", ["{", "[1]", '"text"', '{"type": 3}', "[" * 100_000, "-Infinity"])
def test_data_that_is_no_event_is_a_broken_stream(data: str) -> None:
    with pytest.raises(ProviderError) as caught:
        AnthropicReader().add(data)
    assert caught.value.fault == "stream"


@pytest.mark.parametrize("data", ["", "null", "{}", "ping", "[PING]", "keep-alive", "processing"])
def test_data_that_only_keeps_the_connection_open_is_no_event(data: str) -> None:
    assert AnthropicReader().add(data) == ()


@pytest.mark.parametrize(
    "malformed",
    [
        {"type": "message_start"},
        {"type": "message_start", "message": 3},
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_start", "index": "0", "content_block": {"type": "text"}},
        {"type": "content_block_start", "index": True, "content_block": {"type": "text"}},
        {"type": "content_block_start", "index": 0, "content_block": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "a"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "", "name": "a"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "\ud800"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "redacted_thinking"}},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "message_delta", "delta": None},
    ],
)
def test_a_malformed_event_is_a_broken_stream(malformed: JsonObject) -> None:
    with pytest.raises(ProviderError) as caught:
        AnthropicReader().add(json.dumps(malformed))
    assert caught.value.fault == "stream"


@pytest.mark.parametrize(
    ("start", "delta"),
    [
        ({"type": "text", "text": ""}, {"type": "text_delta"}),
        ({"type": "text", "text": ""}, {"type": "text_delta", "text": 3}),
        ({"type": "tool_use", "id": "a", "name": "b"}, {"type": "input_json_delta", "partial_json": {}}),
    ],
)
def test_a_malformed_delta_is_a_broken_stream(start: JsonObject, delta: JsonObject) -> None:
    with pytest.raises(ProviderError) as caught:
        completed(block(start, delta))
    assert caught.value.fault == "stream"


def test_an_unknown_block_too_deep_to_be_kept_is_a_broken_stream() -> None:
    deep: object = "x"
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ProviderError, match="broke off"):
        completed(block({"type": "dream", "inner": deep}))


# --- anything -----------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


def fault_of(events: list[JsonObject]) -> ProviderFault | None:
    try:
        assert isinstance(built(events)[-1], Completion)
    except ProviderError as error:
        return error.fault
    return None


STRANGE = st.dictionaries(st.text(max_size=9), JSON).map(lambda fields: {**fields, "type": "strange"})


@given(st.lists(st.sampled_from(WHOLE) | STRANGE))
def test_whatever_comes_is_a_message_or_a_broken_stream(events: list[JsonObject]) -> None:
    assert fault_of(events) in (None, "stream")


@given(st.data())
def test_a_field_changed_anywhere_makes_a_message_or_a_broken_stream(data: st.DataObject) -> None:
    events = cast("list[JsonObject]", json.loads(json.dumps(WHOLE)))
    place = data.draw(st.sampled_from(events))
    while True:
        name = data.draw(st.sampled_from(sorted(place)))
        inner = place[name]
        if not (isinstance(inner, dict) and inner and data.draw(st.booleans())):
            break
        place = cast("JsonObject", inner)
    if place not in events or name != "type":
        place[name] = data.draw(JSON)
    assert fault_of(events) in (None, "stream")
