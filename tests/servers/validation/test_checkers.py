import copy
from typing import Any, cast, get_args, get_type_hints

import pytest

from desktop_agent.core.models.known_model import LEVELS
from desktop_agent.core.protocol.model import JsonObject
from tests.servers.validation.anthropic import COUNTED, FIELDS, check_count_request
from tests.servers.validation.anthropic import KINDS as BLOCKS
from tests.servers.validation.anthropic import check_request as check_messages
from tests.servers.validation.chat import check_request as check_chat
from tests.servers.validation.responses import KINDS, NOT_ON_A_PLAN
from tests.servers.validation.responses import check_request as check_items


def changed(good: JsonObject, path: str, value: object) -> JsonObject:
    """Return a copy with one value changed. The last step of `path` may be new; `None` removes it."""
    body = copy.deepcopy(good)
    *steps, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    place: Any = body  # whatever the path leads through
    for step in steps:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return body


MESSAGES: JsonObject = {
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


def test_a_good_request_passes_messages() -> None:
    assert check_messages(MESSAGES) == []


def test_a_good_request_to_count_passes() -> None:
    body = {name: value for name, value in MESSAGES.items() if name not in ("stream", "max_tokens")}
    assert check_count_request(body) == []
    assert check_count_request(MESSAGES) == ["body.max_tokens: unknown field", "body.stream: unknown field"]


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("temperature", 1.0, "body.temperature: unknown field"),
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
        ("messages.1.content.0.type", "musing", "messages.1.content.0: 'musing' is not a type that may stand here"),
        ("output_config", {"effort": "hard"}, "output_config.effort: 'hard' is none of low, medium"),
    ],
)
def test_a_request_that_makes_no_sense_is_found_messages(path: str, value: object, problem: str) -> None:
    violations = "\n".join(check_messages(changed(MESSAGES, path, value)))
    assert problem in violations


def test_text_before_a_result_is_found() -> None:
    body = copy.deepcopy(MESSAGES)
    blocks = cast("list[JsonObject]", cast("list[JsonObject]", body["messages"])[2]["content"])
    blocks.insert(0, blocks.pop())
    assert check_messages(body) == ["messages.2: tool_result blocks must come first"]


def test_a_fifth_breakpoint_is_found() -> None:
    cached = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    assert check_messages(changed(MESSAGES, "messages.0.content", [cached])) == []
    assert check_messages(changed(MESSAGES, "messages.0.content", [cached, cached])) == [
        "body: 5 blocks with cache_control, 4 at most"
    ]


def test_what_the_api_refuses_of_a_result_with_pictures_is_found() -> None:
    def problems(*blocks: JsonObject, is_error: bool = False) -> list[str]:
        body = copy.deepcopy(MESSAGES)
        result = cast("Any", body)["messages"][2]["content"][0]
        result |= {"content": list(blocks), "is_error": is_error}
        return check_messages(body)

    def image(data: str, media_type: str = "image/png") -> JsonObject:
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}

    text: JsonObject = {"type": "text", "text": "[a.png]"}
    assert problems(text, image("YWJj")) == []
    assert "text only" in problems(text, image("YWJj"), is_error=True)[0]
    assert "not base64" in problems(image("no base64!"))[0]
    assert "exceeds 5 MB" in problems(image("YWJj" * 1_400_000))[0]
    assert "blank" in problems({"type": "text", "text": " "})[0]
    assert "image/bmp" in problems(image("YWJj", "image/bmp"))[0]


CHAT_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}


def chat_call(call_id: str, arguments: str = "{}") -> JsonObject:
    return {"id": call_id, "type": "function", "function": {"name": "read_file", "arguments": arguments}}


CHAT: JsonObject = {
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
        {"role": "assistant", "tool_calls": [chat_call("call_1"), chat_call("call_2", '{"path": "a.py"}')]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
        {"role": "tool", "tool_call_id": "call_2", "content": ""},
        {"role": "assistant", "content": "I read it."},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}, CHAT_PICTURE]},
    ],
}


def test_a_good_request_passes_chat() -> None:
    assert check_chat(CHAT, alternates=True) == []


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("messages", [], "messages: empty"),
        ("reasoning_effort", "hard", "reasoning_effort: 'hard' is none of"),
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
        ("messages.6.content.1.image_url.url", "data:image/bmp;base64,YWJj", "not the address of a picture"),
        ("messages.6.content.1.image_url.url", "data:image/png;base64,no base64!", "the data is not base64"),
        ("tools", [], "tools: empty"),
        ("tools.0.type", "web_search", "tools.0: 'web_search' is not a type that may stand here"),
        ("tools.0.function.name", "n" * 65, "is not a tool's name"),
        ("tools.0.function.parameters.type", "array", "not of type object"),
        ("tools.0.function.strict", True, "strict, and additionalProperties is not false"),
        ("max_tokens", 100, "max_tokens and max_completion_tokens exclude each other"),
    ],
)
def test_a_request_that_makes_no_sense_is_found_chat(path: str, value: object, problem: str) -> None:
    assert problem in "\n".join(check_chat(changed(CHAT, path, value)))


def test_a_conversation_that_ends_with_calls_is_found_chat() -> None:
    body: Any = copy.deepcopy(CHAT)
    del body["messages"][3:]
    assert check_chat(body) == [
        "messages: the last word is the assistant's",
        "messages: the conversation ends with unanswered calls: ['call_1', 'call_2']",
    ]


def test_two_tools_of_one_name_are_found() -> None:
    tool = {"type": "function", "function": {"name": "read_file"}}
    assert check_chat(changed(CHAT, "tools", [tool, tool])) == ["tools: 2 tools are named 'read_file'"]


def test_what_belongs_to_tools_needs_tools() -> None:
    body = changed(changed(CHAT, "tools", None), "parallel_tool_calls", True)
    assert check_chat(body) == ["parallel_tool_calls: only with tools"]


def test_turns_are_taken_only_where_the_model_wants_it() -> None:
    body: Any = copy.deepcopy(CHAT)
    body["messages"].append({"role": "user", "content": "And this."})
    assert check_chat(body) == []
    assert check_chat(body, alternates=True) == ["messages.7: a second message of user in a row"]


def test_a_service_may_take_more_fields() -> None:
    body = changed(changed(CHAT, "messages.2.reasoning", "Hm."), "reasoning", {"effort": "high"})
    assert check_chat(body, {"reasoning", "messages.*.reasoning"}) == []
    assert check_chat(body, {"reasoning"}) == ["body.messages.*.reasoning: unknown field"]


ITEMS_PICTURE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,YWJj"}


def items_call(number: int, arguments: str = "{}") -> JsonObject:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": "read_file",
        "arguments": arguments,
    }


ITEMS: JsonObject = {
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
        items_call(1),
        items_call(2, '{"path": "a.py"}'),
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
        {
            "type": "function_call_output",
            "call_id": "call_2",
            "output": [{"type": "input_text", "text": "ok"}, ITEMS_PICTURE],
        },
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I read it.", "annotations": []}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}, ITEMS_PICTURE]},
    ],
}


def test_a_good_request_passes_items() -> None:
    assert check_items(ITEMS) == []
    assert check_items({"model": "m", "input": "Go.", "stream": True}) == []


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("model", None, "body.model: missing"),
        ("reasoning.effort", "hard", "reasoning.effort: 'hard' is none of"),
        ("input.8.type", "speech", "input.8: 'speech' is not a type that may stand here"),
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
def test_a_request_that_makes_no_sense_is_found_items(path: str, value: object, problem: str) -> None:
    assert problem in "\n".join(check_items(changed(ITEMS, path, value)))


def test_what_the_api_stored_needs_no_seal() -> None:
    body = changed(changed(changed(ITEMS, "store", None), "include", None), "input.1.encrypted_content", None)
    assert check_items(body) == []


def test_reasoning_that_leads_to_nothing_is_found() -> None:
    body: Any = copy.deepcopy(ITEMS)
    del body["input"][2:8]
    assert check_items(body) == ["input.1: reasoning without its required following item"]


def test_the_model_may_write_between_its_calls_but_not_before_their_outputs_are_complete() -> None:
    body: Any = copy.deepcopy(ITEMS)
    said = {"role": "assistant", "content": "And the other."}
    body["input"].insert(4, said)
    assert check_items(body) == []
    body["input"].insert(7, said)
    assert check_items(body) == [
        "input.7: no tool output found for ['call_2']",
        "input.8: no tool call found for function call output with call_id call_2",
    ]


def test_the_assistant_says_nothing_as_input() -> None:
    said = {"role": "assistant", "content": [{"type": "input_text", "text": "Reading."}]}
    assert check_items(changed(ITEMS, "input.2", said)) == [
        "input.2.content: ['input_text'] in a message of the assistant"
    ]


def test_a_conversation_that_ends_with_calls_is_found_items() -> None:
    body: Any = copy.deepcopy(ITEMS)
    del body["input"][5:]
    assert check_items(body) == ["input: the conversation ends with unanswered calls: ['call_1', 'call_2']"]


def test_a_plan_takes_fewer_parameters() -> None:
    on_a_plan = changed(ITEMS, "max_output_tokens", None)
    assert check_items(on_a_plan, is_plan=True) == []
    assert check_items(ITEMS, is_plan=True) == ["max_output_tokens: unsupported parameter"]
    assert check_items({"model": "m", "input": "Go.", "stream": True}, is_plan=True) == [
        "store: must be false",
        "input: must be a list",
    ]
    for name in NOT_ON_A_PLAN:
        assert check_items(on_a_plan | {name: None}, is_plan=True)


def test_what_is_known_here_is_known_to_the_sdks() -> None:
    from anthropic.types import ContentBlockParam, OutputConfigParam
    from anthropic.types.message_count_tokens_params import MessageCountTokensParams
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from openai.types.responses import ResponseInputItemParam
    from openai.types.shared_params import ReasoningEffort

    def kinds(union: object) -> set[object]:
        return {kind for option in get_args(union) for kind in get_args(get_type_hints(option).get("type"))}

    assert kinds(ContentBlockParam) > BLOCKS
    assert kinds(ResponseInputItemParam) > KINDS
    assert MessageCreateParamsStreaming.__annotations__.keys() > FIELDS
    assert MessageCountTokensParams.__annotations__.keys() > COUNTED
    efforts = (get_type_hints(OutputConfigParam)["effort"], ReasoningEffort, ReasoningEffort)
    assert list(LEVELS.values()) == [get_args(get_args(levels)[0]) for levels in efforts]
