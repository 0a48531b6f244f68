"""Writes `resources/models.json` from the `genai-prices` package: `python packaging/tools/model_prices.py`.

Only the vendors that we know are in it. A model has rates when all that it reads and writes has a price per token;
others stand there with their names alone, so that a broader name further down is not taken for theirs. Prices of
batches and searches are left out: we send none.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

import genai_prices
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import (
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    MatchLogic,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    TieredPrices,
)
from msgspec.json import encode

from desktop_agent.core.models.known_model import PricedModel, PriceTable, Rates
from desktop_agent.core.models.vendors import VENDORS

FILE = Path(__file__).parents[2] / "resources" / "models.json"

_COPYRIGHT = "Copyright (c) Pydantic Services Inc. 2025 to present"
_LINE = ",\n"
_FIELDS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
}
_APART = ("output_reasoning_mtok", "requests_kcount", "input_image_mtok", "input_audio_mtok")
"""What has a price of its own, while we count it with other tokens, or not at all."""


def price_document() -> str:
    """Return the file: one line a model, so that a difference of two editions can be read."""
    table = price_table_of_source()
    source, newest = encode(table.source).decode(), encode(table.newest).decode()
    lists = [f'"{vendor}":[\n{_lines(models)}\n]' for vendor, models in table.vendors.items()]
    return f'{{"source":{source},\n"newest":{newest},\n"vendors":{{\n{_LINE.join(lists)}\n}}}}\n'


def price_table_of_source() -> PriceTable:
    """Return what the package has, in our terms."""
    named = dict.fromkeys(vendor.prices for vendor in VENDORS if vendor.prices)
    vendors = {name: tuple(map(_known, source_models(name))) for name in named}
    return PriceTable(
        source=f"genai-prices {genai_prices.__version__}, https://github.com/pydantic/genai-prices, MIT, {_COPYRIGHT}",
        newest=max(
            rates.since
            for models in vendors.values()
            for model in models
            for rates in model.rates
            if rates.since is not None
        ),
        vendors=vendors,
    )


def source_models(name: str) -> Sequence[ModelInfo]:
    """Return a provider's models; of a cloud, which has those of many vendors, only Claude."""
    is_cloud = any(vendor.prices == name and vendor.cloud is not None for vendor in VENDORS) and name != "anthropic"
    return [model for model in source_provider(name).models if not is_cloud or "claude" in model.id]


def source_provider(name: str) -> Provider:
    """Return the provider of the package."""
    return next(provider for provider in get_snapshot().providers if provider.id == name)


def is_priced_by_token(model: ModelInfo) -> bool:
    """Whether all of its prices say what tokens of text cost, in and out."""
    return all(
        prices.input_mtok is not None
        and prices.output_mtok is not None
        and not any(getattr(prices, name) is not None for name in _APART)
        for _, prices in _dated(model)
    )


def _lines(models: Iterable[PricedModel]) -> str:
    return _LINE.join(encode(model).decode() for model in models)


def _known(model: ModelInfo) -> PricedModel:
    dated = _dated(model) if is_priced_by_token(model) else ()
    rates = tuple(rates for since, prices in dated for rates in _levels(since, prices))
    return PricedModel(names=tuple(_patterns(model.match)), rates=rates, context_tokens=model.context_window)


def _dated(model: ModelInfo) -> list[tuple[date | None, ModelPrice]]:
    if isinstance(model.prices, ModelPrice):
        return [(None, model.prices)]
    dated: list[tuple[date | None, ModelPrice]] = []
    for price in model.prices:
        match price.constraint:
            case None:
                dated.append((None, price.prices))
            case StartDateConstraint(start_date=since):
                dated.append((since, price.prices))
            case other:
                raise NotImplementedError(f"{model.id}: {other}")
    days = [since or date.min for since, _ in dated]
    assert days == sorted(set(days)), f"{model.id}: the last one that has begun would not be the newest"
    return dated


def _levels(since: date | None, prices: ModelPrice) -> Iterator[Rates]:
    """Return one set of rates for each size at which one of the prices changes."""
    by_field = {ours: value for theirs, ours in _FIELDS.items() if (value := getattr(prices, theirs)) is not None}
    tiered = [value for value in by_field.values() if isinstance(value, TieredPrices)]
    for above in sorted({0, *(tier.start for value in tiered for tier in value.tiers)}):
        yield Rates(since=since, above=above, **{name: _at(value, above) for name, value in by_field.items()})


def _at(price: Decimal | TieredPrices, above: int) -> float:
    if isinstance(price, Decimal):
        return float(price)
    return float(([price.base] + [tier.price for tier in price.tiers if tier.start <= above and above])[-1])


def _patterns(clause: MatchLogic) -> Iterator[str]:
    match clause:
        case ClauseEquals(equals=name):
            yield name.lower()
        case ClauseStartsWith(starts_with=beginning):
            yield f"{beginning.lower()}*"
        case ClauseContains(contains=part):
            yield f"*{part.lower()}*"
        case ClauseEndsWith(ends_with=end):
            yield f"/{re.escape(end.lower())}$/"
        case ClauseRegex(regex=expression):
            yield f"/{expression}/"
        case ClauseOr(or_=clauses):
            for one in clauses:
                yield from _patterns(one)
        case other:
            raise NotImplementedError(str(other))


if __name__ == "__main__":
    FILE.write_text(price_document(), encoding="utf-8")
