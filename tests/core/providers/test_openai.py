"""What OpenAI's formats share, and what compatible servers send beside what OpenAI's own do."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.plain_text import is_encodable
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.protocol.events import TextDelta
from desktop_agent.core.protocol.model import JsonObject, ModelRequest, TextBlock, ToolUseBlock
from desktop_agent.core.providers.catalog import wire_format_of
from desktop_agent.core.providers.chat_stream import ChatReader
from desktop_agent.core.providers.faults import ErrorEventError, FailedCall
from desktop_agent.core.providers.responses import ResponsesFormat
from desktop_agent.core.providers.responses_stream import ResponsesReader
from desktop_agent.core.providers.strict_json import (
    MAX_DEPTH,
    TextJoiner,
    parse_arguments,
    repaired,
    repaired_json,
)
from desktop_agent.core.providers.wire_format import EncodedPictures, MessageReader
from desktop_agent.core.system.network.connections import MAX_NAME_CHARS

CALL = FailedCall(address="https://api.openai.com")


def test_the_list_of_a_plan_has_slugs_and_leaves_out_what_is_hidden() -> None:
    page = {
        "models": [
            {"slug": "gpt-large", "display_name": "GPT Large", "visibility": "list", "context_window": 272_000},
            {"slug": "gpt-hidden", "visibility": "hide"},
            {"display_name": "without a slug"},
            "no object",
            {"slug": "gpt-small"},
        ]
    }
    models = ResponsesFormat().read_models(json.dumps(page).encode(), CALL)
    assert [(model.name, model.label, model.context_tokens) for model in models] == [
        ("gpt-large", "GPT Large", 272_000),
        ("gpt-small", "", None),
    ]


def test_the_usual_list_is_read_as_before_whatever_stands_beside_it() -> None:
    page = {"object": "list", "data": [{"id": "a"}], "models": [{"slug": "b"}]}
    assert [model.name for model in ResponsesFormat().read_models(json.dumps(page).encode(), CALL)] == ["a"]


@pytest.mark.parametrize("page", ["{}", "[]", '{"models": 7}', '{"data": 3}', "null", "no JSON"])
@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_what_is_no_list_is_refused(vendor: str, page: str) -> None:
    with pytest.raises(ProviderError) as caught:
        wire_format_of(usual_account(vendor)).read_models(page.encode(), CALL)
    assert caught.value.fault == "not_found"


@pytest.mark.parametrize(
    ("vendor", "says"), [("llamacpp", True), ("ollama", None), ("openai-chat", None), ("openai", None)]
)
def test_only_who_calls_one_by_one_is_told(model_request: ModelRequest, vendor: str, says: bool | None) -> None:
    wire = wire_format_of(usual_account(vendor))
    assert json.loads(wire.encode(model_request, EncodedPictures())).get("parallel_tool_calls") is says
    without = json.loads(wire.encode(replace(model_request, tools=()), EncodedPictures()))
    assert "parallel_tool_calls" not in without, "APIs refuse it without tools"


def read(reader: MessageReader, *events: JsonObject) -> str:
    pieces = [piece for event in events for piece in reader.add(json.dumps(event))]
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


def chunk(finish: str | None = None, **delta: object) -> JsonObject:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_text_that_comes_in_parts_is_text() -> None:
    reader = ChatReader()
    parts = [{"type": "text", "text": "Hel"}, {"type": "image", "url": "x"}, None, {"type": "text", "text": "lo."}]
    assert read(reader, chunk(content=parts), chunk("stop", content=[])) == "Hello."
    assert reader.completion().content == (TextBlock(text="Hello."),)


def test_a_number_that_is_infinite_here_is_no_argument_of_a_call() -> None:
    reader = ChatReader()
    function = {"name": "read_file", "arguments": '{"limit": 1e999}'}
    read(reader, chunk("tool_calls", tool_calls=[{"index": 0, "id": "a", "function": function}]))
    (call,) = reader.completion().content
    assert isinstance(call, ToolUseBlock)
    assert (call.arguments, "not valid JSON" in call.rejected) == ({}, True), "a journal could not hold it"


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_response_that_is_done_and_failed_is_no_answer(status: str) -> None:
    item: JsonObject = {"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}
    response: JsonObject = {"id": "r", "status": status, "error": {"code": "rate_limit_exceeded"}}
    reader = ResponsesReader()
    with pytest.raises(ErrorEventError) as caught:
        read(
            reader,
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.done", "response": response},
        )
    assert caught.value.refusal.fault == "rate_limited"
    with pytest.raises(ProviderError):
        reader.completion()


def test_an_id_that_is_longer_than_any_is_not_kept() -> None:
    reader = ChatReader()
    read(reader, {"id": "x" * (MAX_NAME_CHARS + 1)}, chunk("stop", content="Hi."))
    assert reader.completion().message_id == "c"


ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""Also text that Python can hold and nothing can store."""


@given(st.text())
def test_sound_text_stays_as_it_is(text: str) -> None:
    assert repaired(text) == text


@given(ANY_TEXT)
def test_repaired_text_can_always_be_stored(text: str) -> None:
    assert is_encodable(repaired(text))


def test_two_halves_become_one_character() -> None:
    assert repaired("\ud83d\ude00") == "😀"


def test_a_lone_half_is_replaced() -> None:
    assert repaired("a\ud83db\ude00c") == "a\ufffdb\ufffdc"


def test_every_text_in_json_is_repaired() -> None:
    assert repaired_json({"\ud83d": ["\ude00", 1, None, {"a": "\ud83d\ude00"}]}) == {
        "\ufffd": ["\ufffd", 1, None, {"a": "😀"}]
    }


@given(st.lists(ANY_TEXT))
def test_text_in_pieces_comes_to_the_same_as_in_one(pieces: list[str]) -> None:
    joiner = TextJoiner()
    shown = [*(joiner.add(piece) for piece in pieces), joiner.end()]
    assert "".join(shown) == repaired("".join(pieces))
    assert all(map(is_encodable, shown))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), VALUES))
def test_every_object_comes_through_unchanged(arguments: dict[str, object]) -> None:
    assert parse_arguments(json.dumps(arguments)) == (arguments, "", None)


@given(st.dictionaries(st.text(min_size=1), VALUES, min_size=1), st.data())
def test_an_object_that_was_cut_off_is_rejected(arguments: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(arguments)
    cut = data.draw(st.integers(min_value=1, max_value=len(text) - 1))
    value, rejected, _ = parse_arguments(text[:cut])
    assert value == {}
    assert "not valid JSON" in rejected


@pytest.mark.parametrize("text", ["", " \n", "null"])
def test_no_text_means_no_arguments(text: str) -> None:
    assert parse_arguments(text) == ({}, "", None)


@given(st.dictionaries(st.text(), VALUES))
def test_arguments_that_can_only_mean_one_thing_are_mended(arguments: dict[str, object]) -> None:
    wanted = {**arguments, "text": "one\n\ttwo\x01"}
    raw = json.dumps(wanted).replace(json.dumps(wanted["text"]), f'"{wanted["text"]}"')
    read = parse_arguments(raw)
    assert (read.value, read.rejected) == (wanted, "")
    assert read.mended == "control_characters"
    twice = parse_arguments(json.dumps(json.dumps(arguments)))
    assert (twice.value, twice.rejected) == (arguments, "")
    assert twice.mended == "encoded_twice"


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("[1, 2]", "not a JSON object"),
        ('"text"', "not a JSON object"),
        ('"{\\"a\\": NaN}"', "not a JSON object"),
        ('{"a": 1} {"b": 2}', "not valid JSON"),
        ('{"a": 1}}', "not valid JSON"),
        ('{"a": NaN}', "not valid JSON"),
        ('{"a": -Infinity}', "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"a": ' + "[" * 100_000, "not valid JSON"),
        ('{"a": "\\ud800"}', "half a character"),
        ('{"\\udc00": 1}', "half a character"),
        ('{"a": [{"b": "x\\ud800y"}]}', "half a character"),
    ],
)
def test_what_cannot_be_trusted_is_rejected_and_the_model_told_why(text: str, flaw: str) -> None:
    value, rejected, _ = parse_arguments(text)
    assert value == {}
    assert flaw in rejected
    assert "not run" in rejected


def test_a_character_spelled_in_two_escapes_is_whole() -> None:
    assert parse_arguments('{"a": "\\ud83d\\ude00"}') == ({"a": "😀"}, "", None)


def test_nesting_is_allowed_up_to_a_limit() -> None:
    def nested(levels: int) -> str:
        return '{"a":' * levels + "1" + "}" * levels

    assert parse_arguments(nested(MAX_DEPTH)).rejected == ""
    assert "levels deep" in parse_arguments(nested(MAX_DEPTH + 1)).rejected
