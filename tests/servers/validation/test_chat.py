"""The checker of Chat Completions finds what the API would refuse, and nothing else."""

import copy
from typing import Any

import pytest

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.validation.changing import changed
from tests.servers.validation.chat import check_request

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}


def call(call_id: str, arguments: str = "{}") -> JsonObject:
    return {"id": call_id, "type": "function", "function": {"name": "read_file", "arguments": arguments}}


GOOD: JsonObject = {
    "model": "m",
    "max_completion_tokens": 100,
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [
        {
            "type": "function",
            "function": {"name": "read_file", "description": "Read.", "parameters": {"type": "object"}},
        }
    ],
    "messages": [
        {"role": "system", "content": "Be careful."},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "tool_calls": [call("call_1"), call("call_2", '{"path": "a.py"}')]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
        {"role": "tool", "tool_call_id": "call_2", "content": ""},
        {"role": "assistant", "content": "I read it."},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}, PICTURE]},
    ],
}


def test_a_good_request_passes() -> None:
    assert check_request(GOOD, alternates=True) == []


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("messages", [], "messages: empty"),
        ("messages.1.role", "person", "body.messages.1.role: 'person' is not a role that may stand here"),
        ("reasoning_effort", "hard", "body.reasoning_effort: 'hard' is none of"),
        ("messages", [{"role": "system", "content": "x"}], "messages: nothing but the system"),
        ("messages.1", {"role": "assistant", "content": "x"}, "messages.1: a message of assistant where one of user"),
        ("messages.5", {"role": "developer", "content": "x"}, "messages.5: a message of developer in the middle"),
        ("messages.6", None, "messages: the last word is the assistant's"),
        ("messages.0.content", " ", "messages.0.content: text must not be blank"),
        ("messages.1.content", "", "messages.1.content: text must not be blank"),
        ("messages.6.content", [], "messages.6.content: empty"),
        ("messages.6.content.0.text", "\n", "messages.6.content.0: text must not be blank"),
        ("messages.5.content", "", "messages.5: neither content nor calls"),
        ("messages.5.tool_calls", [], "messages.5.tool_calls: empty"),
        ("messages.4", None, "messages.4: no tool message for ['call_2']"),
        ("messages.4.tool_call_id", "call_1", "messages.4: the call 'call_1' is answered twice"),
        ("messages.4.tool_call_id", "call_3", "messages.4: a tool message without its call: 'call_3'"),
        ("messages.2.tool_calls.0.id", "call_2", "messages.2: more than one call 'call_2'"),
        ("messages.2.tool_calls.0.id", "", "messages.2.tool_calls.0.id: '' is no id"),
        ("messages.2.tool_calls.0.id", "c" * 41, "string too long, 41 characters, 40 at most"),
        ("messages.2.tool_calls.0.function.name", "a.b", "'a.b' is not a tool's name"),
        ("messages.2.tool_calls.0.function.arguments", "{", "'{' is not an object in JSON"),
        ("messages.2.tool_calls.0.function.arguments", "[]", "'[]' is not an object in JSON"),
        ("messages.3.content", [PICTURE], "body.messages.3.content.0.type: 'image_url' is none of 'text'"),
        ("messages.6.content.1.image_url.url", "data:image/bmp;base64,YWJj", "not the address of a picture"),
        ("messages.6.content.1.image_url.url", "data:image/png;base64,no base64!", "the data is not base64"),
        ("tools", [], "tools: empty"),
        ("tools.0.function.name", "n" * 65, "is not a tool's name"),
        ("tools.0.function.parameters.type", "array", "not of type object"),
        ("tools.0.function.strict", True, "strict, and additionalProperties is not false"),
        ("max_tokens", 100, "max_tokens and max_completion_tokens exclude each other"),
    ],
)
def test_a_request_that_makes_no_sense_is_found(path: str, value: object, problem: str) -> None:
    assert problem in "\n".join(check_request(changed(GOOD, path, value)))


def test_a_conversation_that_ends_with_calls_is_found() -> None:
    body: Any = copy.deepcopy(GOOD)
    del body["messages"][3:]
    assert check_request(body) == [
        "messages: the last word is the assistant's",
        "messages: the conversation ends with unanswered calls: ['call_1', 'call_2']",
    ]


def test_two_tools_of_one_name_are_found() -> None:
    tool = {"type": "function", "function": {"name": "read_file"}}
    assert check_request(changed(GOOD, "tools", [tool, tool])) == ["tools: 2 tools are named 'read_file'"]


def test_what_belongs_to_tools_needs_tools() -> None:
    body = changed(changed(GOOD, "tools", None), "parallel_tool_calls", True)
    assert check_request(body) == ["parallel_tool_calls: only with tools"]


def test_turns_are_taken_only_where_the_model_wants_it() -> None:
    body: Any = copy.deepcopy(GOOD)
    body["messages"].append({"role": "user", "content": "And this."})
    assert check_request(body) == []
    assert check_request(body, alternates=True) == ["messages.7: a second message of user in a row"]


def test_a_service_may_take_more_fields() -> None:
    body = changed(changed(GOOD, "messages.2.reasoning", "Hm."), "reasoning", {"effort": "high"})
    assert check_request(body, {"reasoning", "messages.*.reasoning"}) == []
    assert check_request(body, {"reasoning"}) == ["body.messages.2.reasoning: unknown field"]
