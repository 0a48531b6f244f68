import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import openai
import pytest
from openai import BaseModel
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import (
    ParsedResponse,
    ResponseErrorEvent,
    ResponseFailedEvent,
    ResponseFunctionToolCall,
    ResponseIncompleteEvent,
    ResponseReasoningItem,
)

from tests.servers import fault
from tests.servers.dialects.chat import CHAT, OPENROUTER, ChatDialect
from tests.servers.dialects.dialect import Ask, Dialect
from tests.servers.dialects.responses import RESPONSES, ResponsesDialect
from tests.servers.model_server import ModelServer
from tests.servers.script import Answer, Refusal, redacted_thinking, reply, text, thinking, tool_use
from tests.servers.staging import body


@asynccontextmanager
async def asking(*answers: Answer, dialect: Dialect) -> AsyncGenerator[openai.AsyncOpenAI]:
    async with (
        ModelServer(*answers, dialect=dialect) as server,
        openai.AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        yield client
        assert server.violations == []


def body_of(error: openai.APIError) -> dict[str, object]:
    assert isinstance(error.body, dict)
    return cast("dict[str, object]", error.body)


LOOKING = reply(
    thinking("Let me see.", signature="sig"),
    text("Größe is read."),
    tool_use("read_file", path="a.py", limit=3),
    tool_use("list_files"),
    input_tokens=10,
    cache_read=5,
    cache_write=2,
    thinking_tokens=4,
)


async def chunks_of(client: openai.AsyncOpenAI, *, asks_for_usage: bool = True) -> list[ChatCompletionChunk]:
    options = {"stream_options": {"include_usage": True}} if asks_for_usage else {}
    stream = await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Hello."}], stream=True, **cast("Any", options)
    )
    return [chunk async for chunk in stream]


def content_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def extras_of(chunks: list[ChatCompletionChunk], field: str) -> list[Any]:
    extras = (choice.delta.model_extra or {} for chunk in chunks for choice in chunk.choices)
    return [extra[field] for extra in extras if field in extra]


def calls_of(chunks: list[ChatCompletionChunk]) -> list[tuple[str, str, object]]:
    calls: dict[int, list[str]] = {}
    parts = [part for chunk in chunks for choice in chunk.choices for part in choice.delta.tool_calls or ()]
    for part in parts:
        assert part.function is not None
        given = cast("int | None", part.index)
        starts = part.id is not None and (given is None or given not in calls)
        index = given if given is not None else len(calls) - (not starts)
        call = calls.setdefault(index, [part.id or "", part.function.name or "", ""])
        call[2] += part.function.arguments or ""
    return [(call_id, name, json.loads(arguments)) for call_id, name, arguments in calls.values()]


async def test_text_thinking_calls_and_usage_arrive() -> None:
    async with asking(LOOKING, dialect=CHAT) as client:
        chunks = await chunks_of(client)
    assert content_of(chunks) == "Größe is read."
    assert "".join(extras_of(chunks, "reasoning_content")) == "Let me see."
    assert calls_of(chunks) == [
        ("call_0001_0", "read_file", {"path": "a.py", "limit": 3}),
        ("call_0001_1", "list_files", {}),
    ]
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason] == [
        "tool_calls"
    ]
    usage = chunks[-1].usage
    assert usage is not None
    assert usage.prompt_tokens_details is not None
    assert usage.completion_tokens_details is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (17, 20, 37)
    assert usage.prompt_tokens_details.cached_tokens == 5
    assert usage.completion_tokens_details.reasoning_tokens == 4
    assert chunks[-1].choices == []


async def test_openrouter_sends_signatures_costs_and_comments() -> None:
    answer = reply(thinking("Hm.", signature="sig"), redacted_thinking("abc"), text("Hi."), cost=0.25)
    async with asking(answer, dialect=OPENROUTER) as client:
        chunks = await chunks_of(client)
    details = [detail for found in extras_of(chunks, "reasoning_details") for detail in found]
    assert [(detail["type"], detail["index"]) for detail in details] == [
        ("reasoning.text", 0),
        ("reasoning.text", 0),
        ("reasoning.encrypted", 1),
    ]
    assert [detail.get("signature", detail.get("data")) for detail in details] == [None, "sig", "abc"]
    assert extras_of(chunks, "reasoning") == ["Hm."]
    usage = chunks[-1].usage
    assert usage is not None
    assert usage.model_extra == {"cost": 0.25}
    assert body(answer, OPENROUTER, Ask(1, {})).count(b": OPENROUTER PROCESSING\n\n") == len(chunks) + 1


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason"),
    [("end_turn", "stop"), ("max_tokens", "length"), ("refusal", "content_filter"), ("odd", "odd"), (None, None)],
)
async def test_every_reason_to_stop_has_its_word(stop_reason: str | None, finish_reason: str | None) -> None:
    async with asking(reply(text("Hi."), stop_reason=stop_reason), dialect=CHAT) as client:
        chunks = await chunks_of(client, asks_for_usage=False)
    assert chunks[-1].choices[0].finish_reason == finish_reason


@pytest.mark.parametrize(("dialect", "code"), [(CHAT, "server_is_overloaded"), (OPENROUTER, 503)])
async def test_an_error_in_the_stream_ends_it(dialect: ChatDialect, code: object) -> None:
    async with asking(reply(text("Hi."), fault.error_after(events=2)), dialect=dialect) as client:
        with pytest.raises(openai.APIError, match="Overloaded") as error:
            await chunks_of(client)
    assert body_of(error.value)["code"] == code


@pytest.mark.parametrize(
    ("refusal", "status"),
    [(fault.no_credit(), 402), (fault.too_long(), 400), (fault.overloaded(), 503), (fault.rate_limited(), 429)],
)
async def test_openrouter_numbers_its_errors(refusal: Refusal, status: int) -> None:
    async with asking(refusal, dialect=OPENROUTER) as client:
        with pytest.raises(openai.APIStatusError) as error:
            await chunks_of(client)
    assert (error.value.status_code, body_of(error.value)["code"]) == (status, status)


async def ask(client: openai.AsyncOpenAI, dialect: Dialect) -> None:
    if dialect is CHAT:
        await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi."}], stream=True)
    else:
        await client.responses.create(model="m", input="Hi.", stream=True)


@pytest.mark.parametrize("dialect", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("refusal", "kind", "status", "code"),
    [
        (fault.unauthorized(), openai.AuthenticationError, 401, "invalid_api_key"),
        (fault.not_found("gpt-0"), openai.NotFoundError, 404, "model_not_found"),
        (fault.rate_limited(retry_after="2"), openai.RateLimitError, 429, "rate_limit_exceeded"),
        (fault.no_credit(), openai.RateLimitError, 429, "insufficient_quota"),
        (fault.too_long(), openai.BadRequestError, 400, "context_length_exceeded"),
        (fault.server_error(), openai.InternalServerError, 500, None),
        (fault.overloaded(), openai.InternalServerError, 503, "server_is_overloaded"),
        (fault.status(418, "brand_new_error", "no", code="teapot"), openai.APIStatusError, 418, "teapot"),
    ],
)
async def test_a_refusal_is_spelled_as_openai_does(
    dialect: Dialect, refusal: Refusal, kind: type[openai.APIStatusError], status: int, code: str | None
) -> None:
    async with asking(refusal, dialect=dialect) as client:
        with pytest.raises(kind) as error:
            await ask(client, dialect)
    assert (error.value.status_code, error.value.code, error.value.request_id) == (status, code, "req_0001")
    assert body_of(error.value).keys() == {"message", "type", "param", "code"}
    assert error.value.response.headers.get("retry-after") == refusal.headers.get("retry-after")


@pytest.mark.parametrize("dialect", [CHAT, RESPONSES])
async def test_models_can_be_listed(dialect: Dialect) -> None:
    async with asking(dialect=dialect) as client:
        assert [model.id async for model in client.models.list()] == ["gpt-test-large", "gpt-test-small"]


async def test_a_path_that_is_not_there_is_told_from_a_model_that_is_not_there() -> None:
    async with asking(dialect=CHAT) as client:
        with pytest.raises(openai.NotFoundError) as error:
            await client.embeddings.create(model="m", input="x")
    assert (error.value.code, error.value.type) == (None, "invalid_request_error")


async def test_a_body_of_one_service_is_sent_as_it_is() -> None:
    answer = fault.exactly(400, {"error": {"code": 400, "message": "too long", "n_ctx": 4096}})
    async with asking(answer, dialect=CHAT) as client:
        with pytest.raises(openai.BadRequestError) as error:
            await ask(client, CHAT)
    assert body_of(error.value) == {"code": 400, "message": "too long", "n_ctx": 4096}


SEALED: dict[str, Any] = {"store": False, "include": ["reasoning.encrypted_content"]}


async def response_of(client: openai.AsyncOpenAI, **options: object) -> ParsedResponse[None]:
    async with client.responses.stream(model="m", input="Hello.", **cast("Any", options)) as stream:
        return await stream.get_final_response()


async def events_of(client: openai.AsyncOpenAI) -> list[Any]:
    stream = await client.responses.create(model="m", input="Hello.", stream=True)
    return [event async for event in stream]


async def test_text_thinking_calls_and_usage_arrive_in_a_response() -> None:
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
