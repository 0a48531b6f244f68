"""What a request costs: our table against the calculation of those who collect the prices."""

from datetime import UTC, date, datetime, time
from math import isclose

import pytest
from genai_prices import Usage as SourceUsage
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.models.prices import cost_usd, price_table, priced_model
from desktop_agent.core.models.vendors import VENDORS
from desktop_agent.core.protocol.model import Usage
from model_prices import FILE, is_priced_by_token, price_document, source_provider

DAY = date(2026, 11, 25)
PRICED = sorted({vendor.prices for vendor in VENDORS if vendor.prices})
MODELS = [(name, model) for name in PRICED for model in source_provider(name).models]
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
    """What the package says; None where it has no model, or one that is not priced by tokens of text alone."""
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
    """Whether both know it and come to the same, or neither knows it."""
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
