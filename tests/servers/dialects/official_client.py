"""OpenAI's own client, as a judge of whether the servers speak its formats."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import openai

from tests.servers.dialects.dialect import Dialect
from tests.servers.model_server import ModelServer
from tests.servers.script import Answer


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
