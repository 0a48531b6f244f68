"""OpenAI's own client reads what both dialects send: events of the right shape, and refusals."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import openai
import pytest
from openai import BaseModel
from openai.types.responses import ResponseErrorEvent, ResponseFailedEvent, ResponseIncompleteEvent

from tests.servers import fault
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Ask, Dialect
from tests.servers.dialects.responses import RESPONSES, ResponsesDialect
from tests.servers.model_server import ModelServer
from tests.servers.script import Answer, Refusal, redacted_thinking, reply, text, thinking, tool_use
from tests.servers.staging import body

LOOKING = reply(
    thinking("Let me see.", signature="sig"),
    redacted_thinking("abc"),
    text("Größe is read."),
    tool_use("read_file", path="a.py", limit=3),
    tool_use("list_files"),
    cache_read=5,
    cache_write=2,
    thinking_tokens=4,
)


@asynccontextmanager
async def asking(*answers: Answer, dialect: Dialect) -> AsyncGenerator[openai.AsyncOpenAI]:
    async with (
        ModelServer(*answers, dialect=dialect) as server,
        openai.AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        yield client
        assert server.violations == []


async def events_of(client: openai.AsyncOpenAI, dialect: Dialect) -> list[Any]:
    if isinstance(dialect, ResponsesDialect):
        sealed: Any = ["reasoning.encrypted_content"]
        stream: Any = await client.responses.create(model="m", input="Hi.", stream=True, store=False, include=sealed)
    else:
        stream = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "Hi."}],
            stream=True,
            stream_options={"include_usage": True},
        )
    return [event async for event in stream]


def unknown_fields(found: object) -> set[str]:
    if isinstance(found, BaseModel):
        inside = unknown_fields([getattr(found, name) for name in type(found).model_fields])
        return inside | (found.model_extra or {}).keys()
    parts = cast("list[object]", found) if isinstance(found, list) else []
    return {name for part in parts for name in unknown_fields(part)}


def body_of(error: openai.APIError) -> dict[str, object]:
    return cast("dict[str, object]", error.body)


@pytest.mark.parametrize("dialect", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    "answer", [LOOKING, *(reply(text("Half of"), stop_reason=why) for why in ("max_tokens", "refusal", "end_turn"))]
)
async def test_every_event_has_the_shape_of_its_type(dialect: Dialect, answer: Answer) -> None:
    async with asking(answer, dialect=dialect) as client:
        events = await events_of(client, dialect)
    for event in events:
        shape = cast("type[BaseModel]", type(event))
        assert shape.model_validate(event.to_dict(), strict=True) == event
    assert unknown_fields(events) <= {"reasoning_content", "cache_write_tokens", "store"}
    if dialect is RESPONSES:
        assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_openrouter_sends_its_cost_and_comments_that_no_client_sees() -> None:
    answer = reply(text("Hi."), cost=0.25)
    async with asking(answer, dialect=OPENROUTER) as client:
        chunks = await events_of(client, OPENROUTER)
    assert chunks[-1].usage.model_extra == {"cost": 0.25}
    assert body(answer, OPENROUTER, Ask(1, {})).count(b": OPENROUTER PROCESSING\n\n") == len(chunks) + 1


@pytest.mark.parametrize(
    ("dialect", "code"), [(CHAT, "server_is_overloaded"), (OPENROUTER, 503), (RESPONSES, "server_is_overloaded")]
)
async def test_an_error_in_the_stream_ends_it(dialect: Dialect, code: object) -> None:
    async with asking(reply(text("Hi."), fault.error_after(events=2)), dialect=dialect) as client:
        if dialect is RESPONSES:
            error = (await events_of(client, dialect))[-1]
            assert isinstance(error, ResponseErrorEvent)
            assert error.code == code
        else:
            with pytest.raises(openai.APIError, match="Overloaded") as raised:
                await events_of(client, dialect)
            assert body_of(raised.value)["code"] == code


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (reply(text("Half of"), stop_reason="max_tokens"), ResponseIncompleteEvent),
        (reply(text("Half of"), stop_reason="failed"), ResponseFailedEvent),
        (reply(text("Hi."), fault.error_after(events=4)), ResponseFailedEvent),
    ],
)
async def test_a_response_that_does_not_come_to_its_end_says_why(
    answer: Answer, kind: type[ResponseIncompleteEvent | ResponseFailedEvent]
) -> None:
    dialect = ResponsesDialect(fails_with="response.failed")
    async with asking(answer, dialect=dialect) as client:
        last = (await events_of(client, dialect))[-1]
    assert isinstance(last, kind)
    assert last.response.error or last.response.incomplete_details


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
            await events_of(client, dialect)
    assert (error.value.status_code, error.value.code, error.value.request_id) == (status, code, "req_0001")
    assert body_of(error.value).keys() == {"message", "type", "param", "code"}
    assert error.value.response.headers.get("retry-after") == refusal.headers.get("retry-after")


@pytest.mark.parametrize(
    ("refusal", "status"),
    [(fault.no_credit(), 402), (fault.too_long(), 400), (fault.overloaded(), 503), (fault.rate_limited(), 429)],
)
async def test_openrouter_numbers_its_errors(refusal: Refusal, status: int) -> None:
    async with asking(refusal, dialect=OPENROUTER) as client:
        with pytest.raises(openai.APIStatusError) as error:
            await events_of(client, OPENROUTER)
    assert (error.value.status_code, body_of(error.value)["code"]) == (status, status)
