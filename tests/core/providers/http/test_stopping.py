"""Why an answer stopped, where a vendor says more than the others do."""

import pytest

from desktop_agent.core.protocol.model import ModelRequest, StopReason
from desktop_agent.core.providers.provider import Completion
from desktop_agent.core.providers.vendor_provider import keyed_provider
from tests.core.providers.http.conftest import KEY
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import Reply, reply, text


async def completed(vendor: str, dialect: Dialect, request: ModelRequest, answer: Reply) -> Completion:
    async with ModelServer(answer, dialect=dialect, key=KEY) as server:
        provider = keyed_provider(vendor, KEY, address=server.url)
        try:
            last = [piece async for piece in provider.stream(request)][-1]
        finally:
            await provider.aclose()
    assert isinstance(last, Completion)
    return last


@pytest.mark.parametrize(
    ("vendor", "dialect", "sent", "told"),
    [
        ("anthropic", ANTHROPIC, "pause_turn", "pause_turn"),
        ("anthropic", ANTHROPIC, "stop_sequence", "stop_sequence"),
        ("anthropic", ANTHROPIC, "model_context_window_exceeded", "model_context_window_exceeded"),
        ("anthropic", ANTHROPIC, "compaction", "other"),
        ("openai", RESPONSES, "content_filter", "refusal"),
        ("openai", RESPONSES, "max_messages", "other"),
        ("openai", RESPONSES, "steered", "other"),
        ("openai-chat", CHAT, "content_filter", "refusal"),
        ("openai-chat", CHAT, "length", "max_tokens"),
    ],
)
async def test_a_reason_of_one_vendor_is_told_in_the_words_of_all(
    model_request: ModelRequest, vendor: str, dialect: Dialect, sent: str, told: StopReason
) -> None:
    completion = await completed(vendor, dialect, model_request, reply(text("Hm."), stop_reason=sent))
    assert completion.stop_reason == told


@pytest.mark.parametrize(
    ("explanation", "told"),
    [
        ("cyber: It could help an attacker.", "cyber: It could help an attacker."),
        ("general_harms", "general harms"),
        ("", ""),
    ],
)
async def test_why_the_model_declined_is_told_as_far_as_it_is_said(
    model_request: ModelRequest, explanation: str, told: str
) -> None:
    answer = reply(text("I can't."), stop_reason="refusal", explanation=explanation)
    completion = await completed("anthropic", ANTHROPIC, model_request, answer)
    assert (completion.stop_reason, completion.explanation) == ("refusal", told)
