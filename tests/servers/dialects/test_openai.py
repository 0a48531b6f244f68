"""What both formats of OpenAI answer besides messages: errors by their status, the list of models."""

import openai
import pytest

from tests.servers import fault
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.official_client import asking, body_of
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import Refusal, reply, text


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


async def test_a_wrong_key_is_refused_and_no_key_only_where_none_is_asked_for() -> None:
    for server, is_welcome in (
        (ModelServer(reply(text("Hi.")), dialect=CHAT, key="right"), False),
        (ModelServer(reply(text("Hi.")), dialect=CHAT, asks_for_key=False), True),
    ):
        async with server, openai.AsyncOpenAI(api_key="wrong", base_url=server.url, max_retries=0) as client:
            if is_welcome:
                await ask(client, CHAT)
            else:
                with pytest.raises(openai.AuthenticationError):
                    await ask(client, CHAT)
