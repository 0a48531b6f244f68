"""The checker of requests finds what the API would refuse, and nothing else."""

import copy
from typing import Any, cast

import pytest

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.validation.anthropic import check_count_request, check_request
from tests.servers.validation.changing import changed

GOOD: JsonObject = {
    "model": "m",
    "max_tokens": 100,
    "stream": True,
    "system": [{"type": "text", "text": "Be careful.", "cache_control": {"type": "ephemeral"}}],
    "tools": [
        {
            "name": "read_file",
            "description": "Read.",
            "input_schema": {"type": "object", "properties": {"cache_control": {"type": "string"}}, "$defs": {}},
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        }
    ],
    "messages": [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "sig"},
                {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"cache_control": 1}},
                {"type": "tool_use", "id": "toolu_2", "name": "read_file", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"},
                {"type": "tool_result", "tool_use_id": "toolu_2"},
                {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ],
}


def test_a_good_request_passes() -> None:
    assert check_request(GOOD) == []


def test_a_good_request_to_count_passes() -> None:
    body = {name: value for name, value in GOOD.items() if name not in ("stream", "max_tokens")}
    assert check_count_request(body) == []
    assert check_count_request(GOOD) == ["body.max_tokens: unknown field", "body.stream: unknown field"]


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("temperature", 1.0, "body.temperature: unknown field"),
        ("max_tokens", None, "body.max_tokens: missing"),
        ("max_tokens", True, "body.max_tokens: bool instead of int"),
        ("max_tokens", "100", "body.max_tokens: str instead of int"),
        ("stream", False, "body.stream: False is none of True"),
        ("messages", "Go.", "body.messages: str instead of a list"),
        ("messages.0.metadata", {}, "body.messages.0.metadata: unknown field"),
        ("messages.1.content.1.rejected", "why", "body.messages.1.content.1.rejected: unknown field"),
        ("messages.2.content.0.error_type", "fatal", "body.messages.2.content.0.error_type: unknown field"),
        ("messages.2.content.2.cache_control.scope", "x", "body.messages.2.content.2.cache_control.scope: unknown"),
        ("messages.1.content.0.cache_control", {"type": "ephemeral"}, "content.0.cache_control: unknown field"),
        ("messages.1.content.0.type", "musing", "body.messages.1.content.0.type: 'musing' is not a type"),
        ("messages.1.content.1.input", [], "body.messages.1.content.1.input: list instead of an object"),
        ("messages.1.content.1.id", None, "body.messages.1.content.1.id: missing"),
        ("messages.2.content.0.is_error", "no", "body.messages.2.content.0.is_error: str instead of bool"),
        ("tools.0.strictness", 1, "body.tools.0.strictness: unknown field"),
        ("system.0.text", 3, "body.system.0.text: int instead of str"),
    ],
)
def test_a_wrong_shape_is_found_at_any_depth(path: str, value: object, problem: str) -> None:
    violations = check_request(changed(GOOD, path, value))
    assert len(violations) == 1
    assert problem in violations[0]


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("messages", [], "messages: empty"),
        ("messages.0.role", "assistant", "a message of assistant where one of user belongs"),
        ("messages.0.content", [], "messages.0.content: empty"),
        ("messages.0.content", " \n", "text must not be blank"),
        ("system.0.text", "", "text must not be blank"),
        ("messages.1.content.0.signature", "", "thinking without a signature"),
        ("messages.1.content.1.id", "a.b", "'a.b' has characters that ids do not have"),
        ("messages.1.content.1.name", "a.b", "'a.b' is not a tool's name"),
        ("messages.1.content.1.id", "toolu_2", "tool_use toolu_2: 2 calls have this id"),
        ("messages.2.content.0.tool_use_id", "toolu_3", "tool_result without its tool_use: ['toolu_3']"),
        ("messages.2.content.1", None, "no tool_result for ['toolu_2']"),
        ("messages.2.content.1.tool_use_id", "toolu_1", "a tool_use is answered twice"),
        ("messages.2.content.1.is_error", True, "an error must have content"),
        ("messages.2.content.0", {"type": "text", "text": "First."}, "no tool_result for ['toolu_1']"),
        ("messages.2", None, "the conversation ends with unanswered calls: ['toolu_1', 'toolu_2']"),
        ("tools.0.name", "has space", "'has space' is not a tool's name"),
        ("tools", [{"name": "read_file", "input_schema": {"type": "object"}}] * 2, "2 tools are named 'read_file'"),
        ("tools.0.input_schema.type", "array", "not of type object"),
    ],
)
def test_a_request_that_makes_no_sense_is_found(path: str, value: object, problem: str) -> None:
    violations = "\n".join(check_request(changed(GOOD, path, value)))
    assert problem in violations


def test_text_before_a_result_is_found() -> None:
    body = copy.deepcopy(GOOD)
    blocks = cast("list[JsonObject]", cast("list[JsonObject]", body["messages"])[2]["content"])
    blocks.insert(0, blocks.pop())
    assert check_request(body) == ["messages.2: tool_result blocks must come first"]


def test_a_fifth_breakpoint_is_found() -> None:
    cached = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    assert check_request(changed(GOOD, "messages.0.content", [cached])) == []
    assert check_request(changed(GOOD, "messages.0.content", [cached, cached])) == [
        "body: 5 blocks with cache_control, 4 at most"
    ]


def test_what_the_api_refuses_of_a_result_with_pictures_is_found() -> None:
    def problems(*blocks: JsonObject, is_error: bool = False) -> list[str]:
        body = copy.deepcopy(GOOD)
        result = cast("Any", body)["messages"][2]["content"][0]
        result |= {"content": list(blocks), "is_error": is_error}
        return check_request(body)

    def image(data: str, media_type: str = "image/png") -> JsonObject:
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}

    text: JsonObject = {"type": "text", "text": "[a.png]"}
    assert problems(text, image("YWJj")) == []
    assert "text only" in problems(text, image("YWJj"), is_error=True)[0]
    assert "not base64" in problems(image("no base64!"))[0]
    assert "exceeds 5 MB" in problems(image("YWJj" * 1_400_000))[0]
    assert "blank" in problems({"type": "text", "text": " "})[0]
    assert "image/bmp" in problems(image("YWJj", "image/bmp"))[0]
