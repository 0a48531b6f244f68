"""Which prices hold for a request."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from msgspec.structs import replace

from desktop_agent.core.models.prices import Rates, cost_usd
from desktop_agent.core.models.pricing import priced
from desktop_agent.core.protocol.model import ModelRef, Usage

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
USAGE = Usage(input_tokens=100_000, output_tokens=10_000, cache_read_tokens=50_000, cache_write_tokens=1_000)
OPUS = ModelRef(provider="anthropic", model="claude-opus-5-5")


@pytest.mark.parametrize("address", [None, "", "https://api.anthropic.com", "https://API.anthropic.com/v1/"])
def test_the_prices_of_a_vendor_hold_at_its_own_address(address: str | None) -> None:
    expected = cost_usd("anthropic", "claude-opus-5-5", NOW.date(), USAGE)
    assert expected == pytest.approx(0.4 + 0.2 + 0.01 + 0.005)
    assert priced(USAGE, replace(OPUS, base_url=address), NOW) == replace(USAGE, cost_usd=expected)


@pytest.mark.parametrize(
    "address", ["https://gateway.example/anthropic", "http://127.0.0.1:4000", "http://api.anthropic.com", "no address"]
)
def test_what_a_gateway_charges_is_not_known(address: str) -> None:
    assert priced(USAGE, replace(OPUS, base_url=address), NOW) == USAGE


def test_an_account_may_send_requests_elsewhere() -> None:
    assert priced(USAGE, OPUS, NOW, address="https://gateway.example") == USAGE
    assert priced(USAGE, OPUS, NOW, address="https://api.anthropic.com").cost_usd is not None


def test_what_the_vendor_reports_is_kept() -> None:
    reported = replace(USAGE, cost_usd=0.07)
    assert priced(reported, OPUS, NOW) == reported
    assert (
        priced(reported, ModelRef(provider="openrouter", model="a/b", base_url="https://proxy.example"), NOW)
        == reported
    )


@pytest.mark.parametrize(
    ("provider", "model", "each"),
    [("anthropic", "claude-opus-5-5", 0.01), ("openai", "gpt-5.4-mini", 0.01), ("xai", "grok-4.5", None)],
)
def test_a_search_of_the_provider_costs_what_it_charges_and_where_that_is_not_known_nothing_is(
    provider: str, model: str, each: float | None
) -> None:
    asked = ModelRef(provider=provider, model=model)
    without = priced(USAGE, asked, NOW).cost_usd
    assert without is not None
    searched = priced(replace(USAGE, web_searches=3), asked, NOW).cost_usd
    assert searched == (None if each is None else pytest.approx(without + 3 * each))


@pytest.mark.parametrize(
    ("provider", "address", "each"),
    [("anthropic", None, 0.01), ("xai", None, None), ("anthropic", "https://gateway.example", None)],
)
def test_a_stated_price_is_of_tokens_and_a_search_costs_what_it_does_besides(
    provider: str, address: str | None, each: float | None
) -> None:
    asked = ModelRef(provider=provider, model="any", base_url=address)
    stated = Rates(input=1.0, output=10.0, cache_read=0.0, cache_write=0.0)
    assert priced(USAGE, asked, NOW, stated=stated).cost_usd == pytest.approx(0.2)
    searched = priced(replace(USAGE, web_searches=3), asked, NOW, stated=stated).cost_usd
    assert searched == (None if each is None else pytest.approx(0.2 + 3 * each)), "what is not known is not left out"


def test_a_subscription_covers_a_model_also_where_the_user_says_what_it_costs_by_key() -> None:
    asked = ModelRef(provider="openai", model="gpt-6-astra")
    assert priced(USAGE, asked, NOW, is_prepaid=True, stated=Rates(input=1.0, output=1.0)).cost_usd == 0.0


@pytest.mark.parametrize("provider", ["ollama", "lmstudio", "llamacpp"])
@pytest.mark.parametrize("address", [None, "http://localhost:9000/v1", "http://127.0.0.1:11434/v1"])
def test_a_model_on_this_machine_costs_nothing(provider: str, address: str | None) -> None:
    assert priced(USAGE, ModelRef(provider=provider, model="qwen", base_url=address), NOW).cost_usd == 0.0


@pytest.mark.parametrize("address", ["https://ollama.example/v1", "http://[::1"])
def test_what_a_server_elsewhere_costs_is_not_known_although_it_needs_no_account(address: str) -> None:
    assert priced(USAGE, ModelRef(provider="ollama", model="qwen", base_url=address), NOW).cost_usd is None


def test_what_a_subscription_covers_costs_nothing_more() -> None:
    assert priced(USAGE, OPUS, NOW, is_prepaid=True).cost_usd == 0.0
    elsewhere = replace(OPUS, base_url="https://gateway.example")
    assert priced(USAGE, elsewhere, NOW, is_prepaid=True).cost_usd is None


@pytest.mark.parametrize("provider", ["demo", "a provider that is gone"])
def test_a_provider_without_a_vendor_has_no_prices(provider: str) -> None:
    assert priced(USAGE, ModelRef(provider=provider, model="claude-opus-5-5"), NOW) == USAGE


def test_the_day_of_a_price_is_that_of_utc() -> None:
    model = ModelRef(provider="anthropic", model="claude-opus-4-6")
    long = Usage(input_tokens=300_000)
    evening = datetime(2026, 3, 12, 20, tzinfo=timezone(timedelta(hours=-5)))
    assert priced(long, model, evening).cost_usd == pytest.approx(1.5), "the price of 13 March"
    assert priced(long, model, evening - timedelta(hours=2)).cost_usd == pytest.approx(3.0)
