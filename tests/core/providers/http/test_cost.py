"""What an answer cost comes with it: as the vendor reports it, by the table of prices, or not at all."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.providers.auth.credential import KeyCredential
from desktop_agent.core.providers.catalog import account_provider
from desktop_agent.core.providers.http_provider import HttpProvider
from desktop_agent.core.providers.provider import Completion
from tests.core.providers.http.conftest import KEY
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Dialect
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text

MODEL = "claude-sonnet-4-5"


class ThatDay:
    """A clock that has stopped in the autumn of 2026."""

    def now(self) -> datetime:
        return datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("a provider never waits")


async def cost_of(provider: HttpProvider, request: ModelRequest) -> float | None:
    try:
        last = [piece async for piece in provider.stream(request)][-1]
    finally:
        await provider.aclose()
    assert isinstance(last, Completion)
    return last.usage.cost_usd


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
        provider = account_provider(account, KeyCredential(KEY), model=model, clock=ThatDay())
        assert await cost_of(provider, model_request) == cost


async def test_at_the_vendor_s_own_address_the_table_of_prices_says_it(
    model_request: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server takes the place of the vendor's address, as a name server would have it."""
    async with ModelServer(reply(text("Hi."), input_tokens=1_000_000, output_tokens=1_000_000)) as server:
        vendor = replace(vendor_of("anthropic"), address=server.url)
        monkeypatch.setattr("desktop_agent.core.models.prices.known_vendor", {"anthropic": vendor}.get)
        account = Account(provider="anthropic", name="here", address=server.url)
        model = ModelRef(provider="anthropic", model=MODEL)
        provider = account_provider(account, KeyCredential(KEY), model=model, clock=ThatDay())
        assert await cost_of(provider, replace(model_request, model=MODEL)) == pytest.approx(6 + 22.5)


async def test_a_subscription_has_paid_already(model_request: ModelRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ModelServer(reply(text("Hi."))) as server:
        vendor = replace(vendor_of("anthropic"), address=server.url)
        monkeypatch.setattr("desktop_agent.core.models.prices.known_vendor", {"anthropic": vendor}.get)
        account = Account(provider="anthropic", name="here", address=server.url, kind="oauth")
        model = ModelRef(provider="anthropic", model=MODEL)
        provider = account_provider(account, KeyCredential(KEY), model=model, clock=ThatDay())
        assert await cost_of(provider, model_request) == 0.0
