"""Caches of providers, the costs of answers, and facts about models, in each wire format."""

import json
from collections.abc import Set
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.account import Account, AccountKind, usual_account
from desktop_agent.core.models.known_model import KnownModel, Rates
from desktop_agent.core.models.model_catalog import ModelCatalog
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.protocol.codec import object_in
from desktop_agent.core.protocol.model import (
    AssistantMessage,
    JsonObject,
    ModelRef,
    ModelRequest,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers.anthropic import AnthropicFormat
from desktop_agent.core.providers.auth.credential import KeyCredential
from desktop_agent.core.providers.http_provider import ApiEndpoint, HttpProvider
from desktop_agent.core.providers.provider import Completion, whole_answer
from desktop_agent.core.providers.provider_catalog import account_provider, wire_format_of
from desktop_agent.core.providers.responses import ResponsesFormat
from desktop_agent.core.providers.wire_format import EncodedPictures, WireFormat
from tests.core.providers.http.conftest import KEY, Spoken
from tests.harness import FrozenClock
from tests.servers import fault
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import MISSED_TOKENS, Answer, Refusal, Whole, reply, text

KEPT = {"type": "ephemeral"}


class Asked(NamedTuple):
    completions: list[Completion]
    sent: list[JsonObject]


async def asked(wire: WireFormat, dialect: Dialect, request: ModelRequest, *answers: Answer) -> Asked:
    completions: list[Completion] = []
    async with ModelServer(*answers, dialect=dialect, key=KEY) as server:
        account = Account(provider="anthropic", name="here", address=server.url)
        provider = HttpProvider(wire, ApiEndpoint(account=account), KeyCredential(KEY))
        try:
            while len(server.messages) < len(answers):
                completions.append(await whole_answer(provider, request))
        finally:
            await provider.aclose()
        assert server.violations == []
        return Asked(completions, [exchange.fields for exchange in server.messages])


@pytest.mark.parametrize(
    ("wire", "dialect", "missed", "expected"),
    [
        (AnthropicFormat(), ANTHROPIC, "model_changed", "model"),
        (AnthropicFormat(), ANTHROPIC, "system_changed", "system"),
        (AnthropicFormat(), ANTHROPIC, "tools_changed", "tools"),
        (AnthropicFormat(), ANTHROPIC, "messages_changed", "messages"),
        (AnthropicFormat(), ANTHROPIC, "previous_message_not_found", None),
        (AnthropicFormat(), ANTHROPIC, "unavailable", None),
        (AnthropicFormat(), ANTHROPIC, "pending", None),
        (AnthropicFormat(), ANTHROPIC, "", None),
        (ResponsesFormat(), RESPONSES, "model_changed", "model"),
        (ResponsesFormat(), RESPONSES, "tools_changed", "tools"),
        (ResponsesFormat(), RESPONSES, "input_changed", "messages"),
        (ResponsesFormat(), RESPONSES, "context_compacted", "compaction"),
        (ResponsesFormat(), RESPONSES, "reasoning_effort_changed", "options"),
        (ResponsesFormat(), RESPONSES, "something_new", "unknown"),
        (ResponsesFormat(), RESPONSES, "previous_message_not_found", None),
        (ResponsesFormat(), RESPONSES, "unavailable", None),
        (ResponsesFormat(), RESPONSES, "", None),
    ],
)
async def test_why_the_cache_was_missed_is_what_the_provider_says(
    model_request: ModelRequest, wire: WireFormat, dialect: Dialect, missed: str, expected: str | None
) -> None:
    request = replace(model_request, follows="msg_0000", conversation="c")
    [completion] = (await asked(wire, dialect, request, reply(text("Hi."), missed=missed))).completions
    told = completion.cache_miss
    assert (told.reason if told else None) == expected
    assert told is None or told.tokens == MISSED_TOKENS


async def test_the_first_request_of_a_conversation_asks_for_later_and_one_beside_it_does_not(
    model_request: ModelRequest,
) -> None:
    first = await asked(AnthropicFormat(), ANTHROPIC, replace(model_request, follows=""), reply(text("Hi.")))
    assert first.sent[0]["diagnostics"] == {"previous_message_id": None}
    aside = await asked(AnthropicFormat(), ANTHROPIC, model_request, reply(text("Hi.")))
    assert "diagnostics" not in aside.sent[0]


@pytest.mark.parametrize(
    ("wire", "dialect", "refusal"),
    [
        (
            AnthropicFormat(),
            ANTHROPIC,
            Refusal(400, "invalid_request_error", "diagnostics: Extra inputs are not permitted"),
        ),
        *(
            (wire, dialect, Whole(400, {"error": {"message": "No.", "type": "invalid_request_error", "param": name}}))
            for wire, dialect, name in (
                (ResponsesFormat(), RESPONSES, "prompt_cache_options"),
                (ResponsesFormat(), RESPONSES, "prompt_cache_options.comparison_response_id"),
                (ResponsesFormat(), RESPONSES, "prompt_cache_key"),
                (wire_format_of(usual_account("openai-chat")), CHAT, "prompt_cache_key"),
            )
        ),
    ],
)
async def test_a_model_that_does_not_know_the_field_is_asked_without_it_from_then_on(
    model_request: ModelRequest, wire: WireFormat, dialect: Dialect, refusal: Answer
) -> None:
    request = replace(model_request, follows="msg_0000", conversation="c")
    completions, sent = await asked(wire, dialect, request, refusal, reply(text("Hi.")), reply(text("Again.")))
    assert len(completions) == 2
    assert len(sent[0]) == len(sent[1]) + 1
    assert sent[1].keys() == sent[2].keys()


@pytest.mark.parametrize(
    ("vendor", "address", "fields"),
    [
        ("anthropic", "", {"diagnostics"}),
        ("anthropic", "https://gateway.example", set[str]()),
        ("openai", "", {"prompt_cache_key", "prompt_cache_options"}),
        ("openai", "https://gateway.example/v1", set[str]()),
        ("openai-chat", "", {"prompt_cache_key"}),
        ("xai", "", set[str]()),
        ("openrouter", "", set[str]()),
        ("ollama", "", set[str]()),
    ],
)
def test_only_who_documents_the_fields_gets_them(
    model_request: ModelRequest, vendor: str, address: str, fields: Set[str]
) -> None:
    wire = wire_format_of(replace(usual_account(vendor), address=address))
    body = json.loads(wire.encode(replace(model_request, follows="m", conversation="c"), EncodedPictures()))
    assert {"diagnostics", "prompt_cache_key", "prompt_cache_options"} & body.keys() == fields


async def test_a_router_is_told_what_to_keep_for_a_model_that_keeps_only_what_is_marked(
    model_request: ModelRequest,
) -> None:
    said = AssistantMessage(content=(TextBlock(text="Looking."), ToolUseBlock(id="c1", name="read_file", arguments={})))
    request = replace(
        model_request,
        model="anthropic/claude-sonnet-5.5",
        system="Be careful.",
        messages=(
            UserMessage(content=(TextBlock(text="Read it."),)),
            said,
            UserMessage(content=(ToolResultBlock(call_id="c1", content="text"),)),
        ),
        stable_messages=1,
        pinned="Be brief.",
    )
    wire = wire_format_of(usual_account("openrouter"))
    [sent] = (await asked(wire, OPENROUTER, request, reply(text("Hi.")))).sent
    messages = cast("list[JsonObject]", sent["messages"])
    assert [message["content"] for message in messages] == [
        [{"type": "text", "text": "Be careful.", "cache_control": KEPT}],
        [{"type": "text", "text": "Read it.", "cache_control": KEPT}],
        "Looking.",
        [{"type": "text", "text": "text", "cache_control": KEPT}],
        "Be brief.",
    ]
    [sent] = (await asked(wire, OPENROUTER, replace(request, model="openai/gpt-6.1"), reply(text("Hi.")))).sent
    assert "cache_control" not in str(sent)


MODEL = "claude-sonnet-4-5"


async def answered(provider: HttpProvider, request: ModelRequest) -> Completion:
    async with aclosing(provider):
        return await whole_answer(provider, request)


@pytest.mark.parametrize(
    ("vendor", "dialect", "cost"),
    [
        ("openrouter", OPENROUTER, 0.25),
        ("anthropic", ANTHROPIC, None),
        ("ollama", CHAT, 0.0),
        ("openai-chat", CHAT, None),
    ],
)
async def test_a_cost_is_believed_of_those_who_report_it_and_not_known_of_a_gateway(
    model_request: ModelRequest, vendor: str, dialect: Dialect, cost: float | None
) -> None:
    async with ModelServer(reply(text("Hi."), cost=0.25), dialect=dialect) as server:
        account = Account(provider=vendor, name="here", address=server.url)
        model = ModelRef(provider=vendor, model=MODEL, base_url=server.url)
        provider = account_provider(account, KeyCredential(KEY), model=model, clock=FrozenClock())
        assert (await answered(provider, model_request)).usage.cost_usd == cost


@pytest.mark.parametrize(("kind", "cost"), [("key", 6 + 22.5), ("oauth", 0.0)], ids=["by the table", "subscribed"])
async def test_at_the_vendor_s_own_address_the_cost_is_known(
    model_request: ModelRequest, monkeypatch: pytest.MonkeyPatch, kind: AccountKind, cost: float
) -> None:
    """The test's server answers at the vendor's address."""
    async with ModelServer(reply(text("Hi."), input_tokens=1_000_000, output_tokens=1_000_000)) as server:
        vendor = replace(vendor_of("anthropic"), address=server.url)
        monkeypatch.setattr("desktop_agent.core.models.known_model.known_vendor", {"anthropic": vendor}.get)
        account = Account(provider="anthropic", name="here", address=server.url, kind=kind)
        model = ModelRef(provider="anthropic", model=MODEL)
        provider = account_provider(account, KeyCredential(KEY), model=model, clock=FrozenClock())
        done = await answered(provider, replace(model_request, model=MODEL))
        assert done.usage.cost_usd == pytest.approx(cost)


class Knowing:
    def __init__(self, folder: Path, spoken: Spoken, server: ModelServer) -> None:
        self._folder = folder
        self._account = Account(provider=spoken.vendor, name="here", address=server.url)

    def provider(self, model: str, **said: object) -> HttpProvider:
        known = replace(KnownModel(provider=self._account.provider, name=model), **said)
        catalog = ModelCatalog(self._folder, _never, clock=FrozenClock(), stated=lambda: (known,))
        ref = ModelRef(provider=self._account.provider, model=model, account="here")
        return account_provider(self._account, KeyCredential(KEY), model=ref, models=catalog)


async def _never(account: Account) -> tuple[()]:
    raise AssertionError(f"{account} was asked over the network")


@pytest.fixture
def knowing(tmp_path: Path, spoken: Spoken, server: ModelServer) -> Knowing:
    return Knowing(tmp_path / "models", spoken, server)


async def test_a_price_that_the_user_states_holds_at_any_address(
    knowing: Knowing, server: ModelServer, model_request: ModelRequest
) -> None:
    server.will(reply(text("Hi."), input_tokens=1_000_000, output_tokens=1_000_000))
    price = Rates(input=2.0, output=5.0)
    done = await answered(knowing.provider(model_request.model, price=price), model_request)
    assert done.usage.cost_usd == pytest.approx(7.0)


def effort_in(body: JsonObject) -> object:
    own, inside = body.get("reasoning_effort"), {**object_in(body, "output_config"), **object_in(body, "reasoning")}
    return own or inside.get("effort")


@pytest.mark.parametrize(
    ("said", "wanted", "sent"),
    [
        ({}, "", None),
        ({}, "high", "high"),
        ({"efforts": ("low", "high")}, "high", "high"),
        ({"efforts": ("low", "high")}, "max", None),
        ({"efforts": ()}, "high", None),
        ({"thinks": False}, "high", None),
    ],
)
async def test_a_level_of_effort_is_sent_to_a_model_that_may_take_it(
    knowing: Knowing,
    server: ModelServer,
    model_request: ModelRequest,
    said: dict[str, object],
    wanted: str,
    sent: str | None,
) -> None:
    server.will(reply(text("Hi.")))
    await answered(knowing.provider(model_request.model, **said), replace(model_request, effort=wanted))
    (exchange,) = server.messages
    assert effort_in(exchange.fields) == sent


FIELDS = {"openai": "reasoning.effort", "openrouter": "reasoning"}
"""The field of the effort; elsewhere it is `reasoning_effort`."""


async def test_a_level_of_effort_that_is_refused_is_left_out_and_the_answer_says_so_once(
    spoken: Spoken, knowing: Knowing, server: ModelServer, model_request: ModelRequest
) -> None:
    provider, request = knowing.provider(model_request.model), replace(model_request, effort="high")
    error: JsonObject = {"message": "Unsupported", "param": FIELDS.get(spoken.vendor, "reasoning_effort")}
    refused = fault.exactly(400, {"error": {**error, "type": "invalid_request_error", "code": "unsupported_parameter"}})
    if spoken.vendor == "anthropic":  # its errors name no field: the user reads the reason
        server.will(refused)
        with pytest.raises(ProviderError, match="refused as invalid"):
            await answered(provider, request)
        return
    server.will(refused, fault.overloaded(), reply(text("One.")), reply(text("Two.")))
    with pytest.raises(ProviderError, match="overloaded"):
        await whole_answer(provider, request)
    answers = [await whole_answer(provider, request) for _ in range(2)]
    await provider.aclose()
    assert [answer.refused_effort for answer in answers] == ["high", ""], "also when the first try failed"
    assert [effort_in(exchange.fields) for exchange in server.messages] == ["high", None, None, None]


async def test_a_window_that_is_known_is_not_asked_for(knowing: Knowing, server: ModelServer) -> None:
    provider = knowing.provider("mine", context_tokens=40_960)
    assert await provider.context_window("mine") == 40_960
    await provider.aclose()
    assert server.exchanges == []
