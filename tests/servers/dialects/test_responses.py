"""OpenAI's client reads what the server says in Responses."""

from typing import Any, cast

import openai
import pytest
from openai import BaseModel
from openai.types.responses import (
    ParsedResponse,
    ResponseErrorEvent,
    ResponseFailedEvent,
    ResponseFunctionToolCall,
    ResponseIncompleteEvent,
    ResponseReasoningItem,
)

from tests.servers import fault
from tests.servers.dialects.official_client import asking
from tests.servers.dialects.responses import RESPONSES, ResponsesDialect
from tests.servers.script import redacted_thinking, reply, text, thinking, tool_use

SEALED: dict[str, Any] = {"store": False, "include": ["reasoning.encrypted_content"]}


async def response_of(client: openai.AsyncOpenAI, **options: object) -> ParsedResponse[None]:
    async with client.responses.stream(model="m", input="Hello.", **cast("Any", options)) as stream:
        return await stream.get_final_response()


async def events_of(client: openai.AsyncOpenAI) -> list[Any]:
    stream = await client.responses.create(model="m", input="Hello.", stream=True)
    return [event async for event in stream]


async def test_text_thinking_calls_and_usage_arrive() -> None:
    answer = reply(
        thinking("Let me see.", signature="sig"),
        text("Größe is read."),
        tool_use("read_file", path="a.py").with_id("call_x"),
        tool_use("list_files"),
        cache_read=5,
        thinking_tokens=4,
    )
    async with asking(answer, dialect=RESPONSES) as client:
        response = await response_of(client, **SEALED)
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]
    assert response.output_text == "Größe is read."
    reasoning, _, *calls = response.output
    assert isinstance(reasoning, ResponseReasoningItem)
    assert (reasoning.summary[0].text, reasoning.encrypted_content) == ("Let me see.", "sig")
    assert [(call.call_id, call.arguments) for call in calls if isinstance(call, ResponseFunctionToolCall)] == [
        ("call_x", '{"path": "a.py"}'),
        ("call_0001_3", "{}"),
    ]
    usage = response.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (15, 20, 35)
    assert usage.input_tokens_details.cached_tokens == 5
    assert usage.output_tokens_details.reasoning_tokens == 4


async def test_every_event_has_the_shape_of_its_type_and_the_next_number() -> None:
    answer = reply(thinking("Hm.", signature="sig"), text("Hi."), tool_use("read_file", path="a.py"))
    async with asking(answer, dialect=RESPONSES) as client:
        events = await events_of(client)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    for event in events:
        shape = cast("type[BaseModel]", type(event))
        assert shape.model_validate(event.to_dict(), strict=True) == event
        assert not event.model_extra


async def test_reasoning_is_sealed_only_for_those_who_ask() -> None:
    answer = reply(redacted_thinking("abc"), text("Hi."))
    async with asking(answer, answer, dialect=RESPONSES) as client:
        items = [(await response_of(client, **options)).output[0] for options in (SEALED, {})]
    assert [item.encrypted_content for item in items if isinstance(item, ResponseReasoningItem)] == ["abc", None]


async def test_a_refusal_is_a_part_of_the_message() -> None:
    async with asking(reply(text("I will not."), stop_reason="refusal"), dialect=RESPONSES) as client:
        response = await response_of(client)
    assert [part.to_dict() for item in response.output if item.type == "message" for part in item.content] == [
        {"type": "refusal", "refusal": "I will not."}
    ]


@pytest.mark.parametrize(
    ("stop_reason", "reason"), [("max_tokens", "max_output_tokens"), ("content_filter", "content_filter")]
)
async def test_a_response_that_is_cut_says_why(stop_reason: str, reason: str) -> None:
    async with asking(reply(text("Half of"), stop_reason=stop_reason), dialect=RESPONSES) as client:
        last = (await events_of(client))[-1]
    assert isinstance(last, ResponseIncompleteEvent)
    assert last.response.incomplete_details is not None
    assert last.response.incomplete_details.reason == reason
    assert [item.status for item in last.response.output if item.type == "message"] == ["incomplete"]


async def test_a_response_can_fail() -> None:
    async with asking(reply(text("Half of"), stop_reason="failed"), dialect=RESPONSES) as client:
        last = (await events_of(client))[-1]
    assert isinstance(last, ResponseFailedEvent)
    assert last.response.error is not None
    assert last.response.error.code == "server_error"


async def test_an_error_in_the_stream_is_an_event_of_either_kind() -> None:
    answer = reply(text("Hi."), fault.error_after(events=4, type="rate_limit_error", message="Slow down."))
    async with asking(answer, dialect=RESPONSES) as client:
        error = (await events_of(client))[-1]
    assert isinstance(error, ResponseErrorEvent)
    assert (error.code, error.message, error.sequence_number) == ("rate_limit_exceeded", "Slow down.", 4)

    async with asking(answer, dialect=ResponsesDialect(fails_with="response.failed")) as client:
        failed = (await events_of(client))[-1]
    assert isinstance(failed, ResponseFailedEvent)
    assert failed.response.error is not None
    assert failed.response.error.code == "rate_limit_exceeded"
