"""JSON from models, read strictly: only whole objects pass, and no text breaks a file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.plain_text import is_encodable
from desktop_agent.core.providers.strict_json import (
    MAX_DEPTH,
    TextJoiner,
    parse_arguments,
    repaired,
    repaired_json,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""Also lone surrogates, which cannot be stored."""


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
