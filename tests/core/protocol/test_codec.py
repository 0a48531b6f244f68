"""Every event survives the trip through JSON."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event, encode, encode_event
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.protocol.ops import MalformedOpError, decode_op
from tests.core.samples import SAMPLE_EVENTS


@pytest.mark.parametrize("event", SAMPLE_EVENTS, ids=lambda event: event.type)
def test_an_event_comes_back_from_json_as_it_was(event: ev.KnownEvent) -> None:
    line = json.loads(json.dumps(encode_event(event)))
    assert line["v"] == 1
    assert decode_event(line) == event


def test_there_is_a_sample_of_every_durable_event() -> None:
    assert {type(event) for event in SAMPLE_EVENTS} == set(get_args(ev.KnownEvent))


def test_a_live_event_has_no_number_and_no_version() -> None:
    assert encode_event(ev.TextDelta(turn=1, text="a")) == {"type": "text_delta", "turn": 1, "text": "a"}


def test_an_unknown_kind_is_kept_whole() -> None:
    line: JsonObject = {"v": 1, "seq": 9, "at": "2026-01-01T00:00:00Z", "type": "dreamed", "of": {"sheep": 3}}
    event = decode_event(line)
    assert isinstance(event, ev.UnknownEvent)
    assert event.seq == 9
    assert encode_event(event) == line


@pytest.mark.parametrize(
    "line",
    [{}, {"type": 3}, {"v": 1, "type": "session_renamed"}, {"v": 1, "type": "turn_ended", "turn": "many"}],
)
def test_a_line_that_lacks_what_its_type_requires_is_malformed(line: dict[str, object]) -> None:
    with pytest.raises(MalformedLineError):
        decode_event(line)


KINDS: tuple[type[ops.Op], ...] = get_args(ops.Op)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(st.one_of([st.from_type(kind) for kind in KINDS if kind not in (ops.WriteFile, ops.AnswerApproval)]))
def test_an_op_survives_the_way_through_json(op: ops.Op) -> None:
    if isinstance(op, ops.SubmitPrompt | ops.Steer) and not op.text.strip():
        with pytest.raises(MalformedOpError, match="the message is empty"):
            decode_op(encode(op))
        return
    assert decode_op(json.loads(json.dumps(encode(op)))) == op


@given(JSON)
def test_anything_else_is_named_and_nothing_breaks(value: object) -> None:
    with pytest.raises(MalformedOpError):
        decode_op(value)


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(["text", "call_id", "turn", "x"]), JSON, max_size=3))
def test_fields_of_any_kind_give_an_op_or_an_error_in_words(kind: type[ops.Op], fields: dict[str, object]) -> None:
    name = kind.__struct_config__.tag
    try:
        op = decode_op({**fields, "type": name})
    except MalformedOpError:
        return
    assert isinstance(op, kind)


@given(st.sampled_from(KINDS), st.text(max_size=8), JSON)
def test_a_field_that_the_op_does_not_have_is_refused_whatever_its_name(
    kind: type[ops.Op], name: str, value: object
) -> None:
    if name not in ("type", *kind.__struct_fields__):
        with pytest.raises(MalformedOpError, match="has no field"):
            decode_op({name: value, "type": kind.__struct_config__.tag})
