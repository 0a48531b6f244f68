"""The checker of Responses finds what the API would refuse, and nothing else."""

import copy
from typing import Any

import pytest

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.validation.changing import changed
from tests.servers.validation.responses import NOT_ON_A_PLAN, check_request

PICTURE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,YWJj"}


def call(number: int, arguments: str = "{}") -> JsonObject:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": "read_file",
        "arguments": arguments,
    }


GOOD: JsonObject = {
    "model": "m",
    "instructions": "Be careful.",
    "max_output_tokens": 100,
    "stream": True,
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "high", "summary": "auto"},
    "tools": [
        {"type": "function", "name": "read_file", "parameters": {"type": "object"}, "strict": False},
        {"type": "web_search"},
    ],
    "input": [
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
        {"type": "message", "role": "assistant", "content": "Reading.", "phase": "commentary"},
        call(1),
        call(2, '{"path": "a.py"}'),
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
        {
            "type": "function_call_output",
            "call_id": "call_2",
            "output": [{"type": "input_text", "text": "ok"}, PICTURE],
        },
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I read it.", "annotations": []}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}, PICTURE]},
    ],
}


def test_a_good_request_passes() -> None:
    assert check_request(GOOD) == []
    assert check_request({"model": "m", "input": "Go.", "stream": True}) == []


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("model", None, "body.model: missing"),
        ("include", ["thinking"], "body.include.0: 'thinking' is none of"),
        ("input.8.type", "speech", "body.input.8.type: 'speech' is not a type that may stand here"),
        ("input", [], "body.input: missing"),
        ("input", " ", "input: text must not be blank"),
        ("input.0", None, "input: begins with reasoning where a message of user belongs"),
        ("input.8", None, "input: the last word is the assistant's"),
        ("input.0.content", "", "input.0.content: text must not be blank"),
        ("input.8.content", [], "input.8.content: empty"),
        ("input.8.content.0.text", " ", "input.8.content.0: text must not be blank"),
        ("input.8.content.1.image_url", "file:///a.png", "not the address of a picture"),
        ("input.6.output.1.image_url", "data:image/png;base64,!", "the data is not base64"),
        ("input.6", None, "input.6: no tool output found for ['call_2']"),
        ("input.6.call_id", "call_1", "input.6: the call 'call_1' is answered twice"),
        ("input.6.call_id", "call_3", "no tool call found for function call output with call_id call_3"),
        ("input.4.call_id", "call_1", "input.4: more than one call 'call_1'"),
        ("input.3.call_id", "c" * 65, "string too long, 65 characters, 64 at most"),
        ("input.3.name", "a.b", "'a.b' is not a tool's name"),
        ("input.3.arguments", "null", "'null' is not an object in JSON"),
        ("input.3.id", "call_1", "input.3.id: 'call_1' is not an id that begins with fc"),
        ("input.7.id", "msg.1", "input.7.id: 'msg.1' is not an id that begins with msg"),
        ("input.4.id", "fc_1", "duplicate item found with id fc_1"),
        ("input.1.encrypted_content", "", "input.1: reasoning was not stored, and has no encrypted_content"),
        ("include", [], "reasoning goes back without asking for reasoning.encrypted_content"),
        ("previous_response_id", "resp_1", "previous_response_id: nothing is stored"),
        ("input.2", {"id": "msg_0"}, "input.2: refers to an item, and nothing is stored"),
        ("tools.0.parameters.type", "array", "not of type object"),
        ("tools.0.strict", True, "strict, and additionalProperties is not false"),
        ("max_output_tokens", 1, "max_output_tokens: 1 is below the minimum of 16"),
    ],
)
def test_a_request_that_makes_no_sense_is_found(path: str, value: object, problem: str) -> None:
    assert problem in "\n".join(check_request(changed(GOOD, path, value)))


def test_what_the_api_stored_needs_no_seal() -> None:
    body = changed(changed(changed(GOOD, "store", None), "include", None), "input.1.encrypted_content", None)
    assert check_request(body) == []


def test_reasoning_that_leads_to_nothing_is_found() -> None:
    body: Any = copy.deepcopy(GOOD)
    del body["input"][2:8]
    assert check_request(body) == ["input.1: reasoning without its required following item"]


def test_the_model_may_write_between_its_calls_but_not_before_their_outputs_are_complete() -> None:
    body: Any = copy.deepcopy(GOOD)
    said = {"role": "assistant", "content": "And the other."}
    body["input"].insert(4, said)
    assert check_request(body) == []
    body["input"].insert(7, said)
    assert check_request(body) == [
        "input.7: no tool output found for ['call_2']",
        "input.8: no tool call found for function call output with call_id call_2",
    ]


def test_the_assistant_says_nothing_as_input() -> None:
    said = {"role": "assistant", "content": [{"type": "input_text", "text": "Reading."}]}
    assert check_request(changed(GOOD, "input.2", said)) == [
        "input.2.content: ['input_text'] in a message of the assistant"
    ]


def test_a_conversation_that_ends_with_calls_is_found() -> None:
    body: Any = copy.deepcopy(GOOD)
    del body["input"][5:]
    assert check_request(body) == ["input: the conversation ends with unanswered calls: ['call_1', 'call_2']"]


def test_a_plan_takes_fewer_parameters() -> None:
    on_a_plan = changed(GOOD, "max_output_tokens", None)
    assert check_request(on_a_plan, is_plan=True) == []
    assert check_request(GOOD, is_plan=True) == ["max_output_tokens: unsupported parameter"]
    assert check_request({"model": "m", "input": "Go.", "stream": True}, is_plan=True) == [
        "store: must be false",
        "input: must be a list",
    ]
    for name in NOT_ON_A_PLAN:
        assert check_request(on_a_plan | {name: None}, is_plan=True)
