import json
from functools import reduce
from operator import add
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event, encode, encode_event
from desktop_agent.core.protocol.model import JsonObject, Usage
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


PRICED = Usage(input_tokens=100, output_tokens=10, cost_usd=0.25)
UNPRICED = Usage(input_tokens=7, cache_read_tokens=3, output_tokens=2)
CENTS = st.integers(0, 10_000).map(lambda cents: cents / 100)
REQUESTS = st.builds(
    Usage,
    input_tokens=st.integers(1, 1_000),
    output_tokens=st.integers(0, 1_000),
    cache_read_tokens=st.integers(0, 1_000),
    cache_write_tokens=st.integers(0, 1_000),
    cost_usd=st.one_of(st.none(), CENTS),
)


def total(requests: list[Usage]) -> Usage:
    return reduce(add, requests, Usage())


def test_nothing_is_known_of_a_sum_without_a_price() -> None:
    both = UNPRICED + UNPRICED
    assert (both.cost_usd, both.is_cost_partial) == (None, False)


def test_a_sum_with_one_price_says_that_more_was_paid() -> None:
    for both in (PRICED + UNPRICED, UNPRICED + PRICED):
        assert (both.cost_usd, both.unpriced_tokens, both.is_cost_partial) == (0.25, 12, True)


def test_nothing_added_leaves_a_cost_whole() -> None:
    assert Usage() + PRICED == PRICED + Usage() == PRICED
    assert not PRICED.is_cost_partial


def test_a_sum_of_prices_has_no_crumbs() -> None:
    assert (Usage(cost_usd=0.1) + Usage(cost_usd=0.2)).cost_usd == 0.3


def test_what_was_paid_elsewhere_costs_nothing_and_stays_counted() -> None:
    elsewhere = (PRICED + UNPRICED).paid_elsewhere()
    assert (elsewhere.input_tokens, elsewhere.cost_usd, elsewhere.is_cost_partial) == (107, 0.0, False)


@given(REQUESTS, REQUESTS, REQUESTS)
def test_the_order_of_a_sum_does_not_matter(a: Usage, b: Usage, c: Usage) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)


@given(st.lists(REQUESTS, max_size=5), st.lists(REQUESTS, max_size=5))
def test_a_difference_takes_away_what_was_added(before: list[Usage], since: list[Usage]) -> None:
    spent = total([*before, *since]) - total(before)
    if all(one.cost_usd == 0 for one in since if one.cost_usd is not None):
        spent = replace(spent, cost_usd=total(since).cost_usd)  # nothing paid or nothing known: no amount either way
    assert spent == total(since)


@given(st.lists(REQUESTS, max_size=8))
def test_a_sum_is_partial_when_some_prices_are_known_and_some_are_not(requests: list[Usage]) -> None:
    known = [one.cost_usd for one in requests if one.cost_usd is not None]
    sum_of_all = total(requests)
    assert sum_of_all.cost_usd == (pytest.approx(sum(known)) if known else None)
    assert sum_of_all.is_cost_partial == (0 < len(known) < len(requests))
