"""Ops as JSON, for front ends that are other programs."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.op_codec import MalformedOpError, decode_op, encode_op

KINDS: tuple[type[ops.Op], ...] = get_args(ops.Op)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(st.one_of([st.from_type(kind) for kind in KINDS if kind not in (ops.WriteFile, ops.AnswerApproval)]))
def test_an_op_survives_the_way_through_json(op: ops.Op) -> None:
    if isinstance(op, ops.SubmitPrompt | ops.Steer) and not op.text.strip():
        with pytest.raises(MalformedOpError, match="the message is empty"):
            decode_op(encode_op(op))
        return
    assert decode_op(json.loads(json.dumps(encode_op(op)))) == op


@given(JSON)
def test_anything_else_is_named_and_nothing_breaks(value: object) -> None:
    with pytest.raises(MalformedOpError):
        decode_op(value)


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(["text", "call_id", "turn", "x"]), JSON, max_size=3))
def test_fields_of_any_kind_give_an_op_or_an_error_in_words(kind: type[ops.Op], fields: dict[str, object]) -> None:
    name = kind.__struct_defaults__[-1]
    try:
        op = decode_op({**fields, "type": name})
    except MalformedOpError:
        return
    assert isinstance(op, kind)


@given(st.sampled_from(KINDS), st.text(max_size=8), JSON)
def test_a_field_that_the_op_does_not_have_is_refused_whatever_its_name(
    kind: type[ops.Op], name: str, value: object
) -> None:
    if name not in kind.__struct_fields__:
        with pytest.raises(MalformedOpError, match="has no field"):
            decode_op({name: value, "type": kind.__struct_defaults__[-1]})
