"""Our price table against the calculation of the package that collects prices."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from math import isclose

import pytest
from genai_prices import Usage as SourceUsage
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.models.known_model import Rates, cost_usd, price_table, priced, priced_model
from desktop_agent.core.models.vendors import VENDORS, vendor_of
from desktop_agent.core.protocol.model import ModelRef, Usage
from model_prices import FILE, is_priced_by_token, price_document, source_models, source_provider

DAY = date(2026, 11, 25)
PRICED = sorted({vendor.prices for vendor in VENDORS if vendor.prices})
MODELS = [(name, model) for name in PRICED for model in source_models(name)]
NAMES = sorted({(name, written) for name, model in MODELS for written in (model.id, model.id.upper())})
ENDINGS = (
    "",
    "-latest",
    "-20260806",
    "-20260806:free",
    "-2026-08-06",
    ":free",
    "-mini",
    "-fast",
    "@20260806",
    "-preview",
    ".1",
)
TOKENS = st.one_of(st.integers(0, 3_000_000), st.sampled_from([0, 1, 100_000, 100_001, 199_999, 200_000, 200_001]))


def cost_by_the_source(vendor: str, model: str, day: date, usage: Usage) -> float | None:
    """The cost by the package; None for an unknown model, or one not priced by text tokens alone."""
    found = source_provider(vendor).find_model(model)
    if found is None or not is_priced_by_token(found):
        return None
    counts = SourceUsage(
        input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    at = datetime.combine(day, time(12), UTC)
    return float(calc_price(counts, model, provider_id=vendor, genai_request_timestamp=at).total_price)


def agree(ours: float | None, theirs: float | None) -> bool:
    return ours is theirs is None or (ours is not None and theirs is not None and isclose(ours, theirs, rel_tol=1e-9))


@given(
    named=st.sampled_from(NAMES),
    ending=st.sampled_from(ENDINGS),
    day=st.dates(date(2024, 1, 1), date(2027, 12, 31)),
    usage=st.builds(
        Usage,
        input_tokens=TOKENS,
        output_tokens=TOKENS,
        cache_read_tokens=TOKENS,
        cache_write_tokens=TOKENS,
    ),
)
def test_a_request_costs_what_the_source_of_the_prices_says(
    named: tuple[str, str], ending: str, day: date, usage: Usage
) -> None:
    vendor, model = named[0], named[1] + ending
    ours, theirs = cost_usd(vendor, model, day, usage), cost_by_the_source(vendor, model, day, usage)
    assert agree(ours, theirs), (model, ours, theirs)


def test_every_model_of_the_source_costs_the_same_on_the_days_around_each_change() -> None:
    usage = Usage(input_tokens=150_000, output_tokens=7_000, cache_read_tokens=60_000, cache_write_tokens=2_000)
    changes = {rates.since for models in price_table().vendors.values() for one in models for rates in one.rates}
    days = sorted({DAY, *(since for since in changes if since is not None)})
    costs = [
        (
            vendor,
            model.id,
            day,
            cost_usd(vendor, model.id, day, usage),
            cost_by_the_source(vendor, model.id, day, usage),
        )
        for vendor, model in MODELS
        for day in days[:: 1 if vendor != "openrouter" else 7]
    ]
    assert sum(ours is not None for *_, ours, _ in costs) > 1_000
    assert [case for case in costs if not agree(*case[3:])] == []


def test_what_the_table_does_not_have_is_not_known() -> None:
    usage = Usage(input_tokens=1)
    assert cost_usd("anthropic", "claude-of-tomorrow", DAY, usage) is None
    assert cost_usd("nobody", "claude-opus-5-5", DAY, usage) is None
    assert priced_model("anthropic", "claude-of-tomorrow") is None


def test_a_model_has_the_price_of_its_day_and_its_input() -> None:
    long = Usage(input_tokens=200_001)
    assert cost_usd("anthropic", "claude-opus-4-6", date(2026, 3, 12), long) == pytest.approx(2.00001)
    assert cost_usd("anthropic", "claude-opus-4-6", date(2026, 3, 13), long) == pytest.approx(1.000005)


def test_every_offered_model_of_a_vendor_has_a_price_and_a_context_window() -> None:
    for vendor in VENDORS:
        for model in vendor.models if vendor.prices else ():
            known = priced_model(vendor.prices, model)
            assert known is not None, (vendor.id, model)
            assert known.rates_on(DAY) is not None
            assert known.context_tokens is not None


def test_the_shipped_table_is_what_the_source_makes() -> None:
    assert FILE.read_text(encoding="utf-8") == price_document(), "run `python packaging/tools/model_prices.py`"


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


@pytest.mark.parametrize("provider", ["ollama", "lmstudio", "llamacpp"])
@pytest.mark.parametrize("address", [None, "http://localhost:9000/v1", "http://127.0.0.1:11434/v1"])
def test_a_model_on_this_machine_costs_nothing(provider: str, address: str | None) -> None:
    assert priced(USAGE, ModelRef(provider=provider, model="qwen", base_url=address), NOW).cost_usd == 0.0


@pytest.mark.parametrize("address", ["https://ollama.example/v1", "http://[::1"])
def test_what_a_server_elsewhere_costs_is_not_known_although_it_needs_no_account(address: str) -> None:
    assert priced(USAGE, ModelRef(provider="ollama", model="qwen", base_url=address), NOW).cost_usd is None


@pytest.mark.parametrize(
    ("provider", "name", "address", "dollars", "window"),
    [
        ("bedrock", "global.anthropic.claude-sonnet-5-5", "https://bedrock-runtime.amazonaws.com", 2.0, 1_000_000),
        (
            "bedrock",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "https://bedrock-runtime.us-east-1.amazonaws.com",
            3.3,
            200_000,
        ),
        ("vertex", "claude-sonnet-4-5@20250929", "https://us-east5-aiplatform.googleapis.com/v1", 3.0, 200_000),
        ("foundry", "claude-opus-5-5", "https://mine.services.ai.azure.com/anthropic", 4.0, 1_000_000),
        ("aws", "claude-opus-5-5", "https://aws-external-anthropic.eu-west-1.api.aws", 4.0, 1_000_000),
    ],
)
def test_a_cloud_has_its_own_names_and_prices(
    provider: str, name: str, address: str, dollars: float, window: int
) -> None:
    model, usage = ModelRef(provider=provider, model=name), Usage(input_tokens=100_000)
    assert priced(usage, model, NOW, address=address).cost_usd == pytest.approx(dollars / 10)
    assert priced(usage, model, NOW, address="https://gateway.example").cost_usd is None
    known = priced_model(vendor_of(provider).prices, name)
    assert known is not None
    assert known.context_tokens == window


@pytest.mark.parametrize("provider", ["demo", "a provider that is gone"])
def test_a_provider_without_a_vendor_has_no_prices(provider: str) -> None:
    assert priced(USAGE, ModelRef(provider=provider, model="claude-opus-5-5"), NOW) == USAGE


def test_the_day_of_a_price_is_that_of_utc() -> None:
    model = ModelRef(provider="anthropic", model="claude-opus-4-6")
    long = Usage(input_tokens=300_000)
    evening = datetime(2026, 3, 12, 20, tzinfo=timezone(timedelta(hours=-5)))
    assert priced(long, model, evening).cost_usd == pytest.approx(1.5), "the price of 13 March"
    assert priced(long, model, evening - timedelta(hours=2)).cost_usd == pytest.approx(3.0)
