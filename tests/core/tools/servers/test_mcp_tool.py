"""The names of servers' tools, and their schemas for models."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.mcp_tool import LONGEST_NAME, ArgumentCheck, offered_schema, wire_name

SERVERS = st.from_regex(r"\A[A-Za-z0-9]([A-Za-z0-9-]{0,14}[A-Za-z0-9])?\Z")
TOOLS = st.one_of(st.text(min_size=1, max_size=80), st.from_regex(r"\A[a-z_]{1,70}(-[0-9a-f]{8})?\Z"))


@given(SERVERS, TOOLS)
def test_every_name_is_one_that_providers_take(server: str, tool: str) -> None:
    name = wire_name(server, tool)

    assert len(name) <= LONGEST_NAME
    assert name.startswith(f"{server}__")
    assert all(sign.isascii() and (sign.isalnum() or sign in "_-") for sign in name)


@given(st.lists(st.tuples(SERVERS, TOOLS), unique=True, max_size=20))
def test_no_two_tools_get_the_same_name(tools: list[tuple[str, str]]) -> None:
    assert len({wire_name(server, tool) for server, tool in tools}) == len(tools)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=15,
)
KEYWORDS = st.sampled_from(["type", "properties", "items", "anyOf", "oneOf", "allOf", "required", "$ref", "const"])
SCHEMAS = st.dictionaries(KEYWORDS | st.text(max_size=5), JSON | st.sampled_from(["array", "object"]), max_size=6)


@given(SCHEMAS)
def test_whatever_a_server_sends_its_schema_stays_and_ours_is_an_object(schema: JsonObject) -> None:
    before = copy.deepcopy(schema)

    ours = offered_schema(schema).schema

    assert schema == before
    assert ours["type"] == "object"
    assert isinstance(ours["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf"} & ours.keys()


@given(SCHEMAS, st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_no_schema_makes_the_check_fail(schema: JsonObject, values: JsonObject) -> None:
    ArgumentCheck(schema).mistake_in(values)


ACCEPTED: JsonObject = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 1},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "kind": {"const": 3},
        "at": {"$ref": "#/$defs/place"},
    },
    "required": ["count"],
    "$defs": {"place": {"type": "array", "items": {"type": "number"}}},
    "additionalProperties": False,
}
LIST: JsonObject = {"type": ["array", "null"]}


@pytest.mark.parametrize(
    ("schema", "offered"),
    [
        (ACCEPTED, ACCEPTED),
        ({}, {"type": "object", "properties": {}}),
        (
            {"type": "object", "properties": {"list": LIST}},
            {"type": "object", "properties": {"list": {**LIST, "items": {}}}},
        ),
    ],
    ids=["one that APIs take", "an empty one", "an array of anything"],
)
def test_a_schema_is_passed_on_with_what_apis_want_besides(schema: JsonObject, offered: JsonObject) -> None:
    assert offered_schema(schema).schema == offered


def test_alternatives_at_the_root_become_one_object_with_what_any_of_them_has() -> None:
    one = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    other = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}

    either, both = offered_schema({"oneOf": [one, other]}).schema, offered_schema({"allOf": [one, other]}).schema

    assert either["properties"] == both["properties"] == {"path": {"type": "string"}, "url": {"type": "string"}}
    assert "required" not in either
    assert both["required"] == ["path", "url"]


def test_a_property_with_a_name_that_apis_refuse_is_called_otherwise_and_back() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"filter[name]": {"type": "string"}},
        "required": ["filter[name]"],
    }
    offered = offered_schema(schema)
    (ours,) = offered.renamed

    assert offered.schema["required"] == [ours]
    assert offered.arguments_for_server({ours: "x", "other": 1}) == {"filter[name]": "x", "other": 1}


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "input: 'count' is a required property"),
        ({"count": "many"}, "count: 'many' is not of type 'integer'"),
        ({"count": 0}, "count: 0 is less than the minimum of 1"),
        ({"count": 1}, ""),
    ],
)
def test_a_mistake_is_told_with_its_place(values: JsonObject, says: str) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"count": {"type": "integer", "minimum": 1}},
        "required": ["count"],
    }

    assert ArgumentCheck(schema).mistake_in(values) == says


def test_a_schema_that_points_elsewhere_or_at_itself_is_left_to_the_server() -> None:
    elsewhere: JsonObject = {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    circle: JsonObject = {"$ref": "#"}

    assert ArgumentCheck(elsewhere).mistake_in({"x": 1}) == ""
    assert ArgumentCheck(circle).mistake_in({"x": 1}) == ""
