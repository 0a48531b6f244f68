"""What is known of a model decides about its requests: in each wire format, what it cannot take is not sent."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.catalogue import ModelCatalogue
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.prices import Rates
from desktop_agent.core.protocol.codec import object_in
from desktop_agent.core.protocol.model import (
    JsonObject,
    ModelRef,
    ModelRequest,
)
from desktop_agent.core.providers.auth.credential import KeyCredential
from desktop_agent.core.providers.catalog import account_provider
from desktop_agent.core.providers.http_provider import HttpProvider
from desktop_agent.core.providers.provider import Completion, whole_answer
from tests.core.providers.http.conftest import KEY, Spoken
from tests.harness import FrozenClock
from tests.servers import fault
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text

PICTURE = Digest("a" * 64)


class Knowing:
    """Builds providers at a server that know what a test says of its model."""

    def __init__(self, folder: Path, spoken: Spoken, server: ModelServer) -> None:
        self._folder = folder
        self._account = Account(provider=spoken.vendor, name="here", address=server.url)

    def provider(self, model: str, **said: object) -> HttpProvider:
        known = replace(KnownModel(provider=self._account.provider, name=model), **said)
        catalogue = ModelCatalogue(self._folder, _never, clock=FrozenClock(), stated=lambda: (known,))
        ref = ModelRef(provider=self._account.provider, model=model, account="here")
        return account_provider(self._account, KeyCredential(KEY), model=ref, models=catalogue)


async def _never(account: Account) -> tuple[()]:
    raise AssertionError(f"{account} was asked over the network")


@pytest.fixture
def knowing(tmp_path: Path, spoken: Spoken, server: ModelServer) -> Knowing:
    return Knowing(tmp_path / "models", spoken, server)


async def answered(provider: HttpProvider, request: ModelRequest) -> Completion:
    try:
        last = [piece async for piece in provider.stream(request)][-1]
    finally:
        await provider.aclose()
    assert isinstance(last, Completion)
    return last


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
"""Where a vendor's format has the level; elsewhere it is `reasoning_effort`."""


async def test_a_level_of_effort_that_is_refused_is_left_out_and_the_answer_says_so_once(
    spoken: Spoken, knowing: Knowing, server: ModelServer, model_request: ModelRequest
) -> None:
    provider, request = knowing.provider(model_request.model), replace(model_request, effort="high")
    error: JsonObject = {"message": "Unsupported", "param": FIELDS.get(spoken.vendor, "reasoning_effort")}
    refused = fault.exactly(400, {"error": {**error, "type": "invalid_request_error", "code": "unsupported_parameter"}})
    if spoken.vendor == "anthropic":  # its errors name no field: the user reads why
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
