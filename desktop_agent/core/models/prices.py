"""Prices and context windows of models. `packaging/tools/model_prices.py` writes their file."""

import re
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.json import decode
from msgspec.structs import replace

from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.base.web_address import address_of, is_loopback
from desktop_agent.core.models.vendors import Vendor, known_vendor
from desktop_agent.core.protocol.model import ModelRef, Usage

PRICE_FILE = "models.json"
_PER_DOLLARS = 1_000_000
_COMPACT_DATE = re.compile(r"(?<=-)(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


class Rates(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US dollars per million tokens, valid from a day on, for a request with more input than `above` tokens."""

    input: float
    output: float
    cache_read: float | None = None
    """The price of input read from the cache; `None`: the same as other input."""
    cache_write: float | None = None
    """The price of input cached for five minutes; `None`: the same as other input."""
    since: date | None = None
    """The first day of validity; `None` for the time before the first known change of the price."""
    above: int = 0
    """How many tokens of input a request must exceed. The rates then apply to all of its tokens."""


class PricedModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    names: tuple[str, ...]
    """The model's names in requests: `name`, `beginning*`, `*part*` or `/regular expression/`. Case does not matter."""
    rates: tuple[Rates, ...] = ()
    """Sorted by day and then by size of the input; empty if the cost per token is unknown."""
    context_tokens: int | None = None

    def rates_on(self, day: date, input_tokens: int = 0) -> Rates | None:
        """Return the rates on a day (UTC) of a request with `input_tokens` of input in all; `None` if unknown."""
        fitting = [rates for rates in self.rates if not rates.above or rates.above < input_tokens]
        started = [rates.since for rates in fitting if rates.since is None or rates.since <= day]
        since = started[-1] if started else None
        return next((rates for rates in reversed(fitting) if rates.since == since), None)


class PriceTable(Struct, frozen=True, kw_only=True):
    source: str
    newest: date
    vendors: dict[str, tuple[PricedModel, ...]]
    """The models with prices, by `Vendor.prices`. If several match a name, the first one counts."""


@cache
def price_table() -> PriceTable:
    return decode(resource_path(PRICE_FILE).read_bytes(), type=learned(PriceTable))


@lru_cache(maxsize=4096)
def priced_model(vendor: str, model: str) -> PricedModel | None:
    name = model.lower()
    for written in dict.fromkeys((name, _COMPACT_DATE.sub(r"\1-\2-\3", name))):
        if (found := _looked_up(vendor, written)) is not None:
            return found
    return None


def cost_usd(vendor: str, model: str, day: date, usage: Usage) -> float | None:
    known = priced_model(vendor, model)
    all_input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    rates = known.rates_on(day, all_input) if known is not None else None
    return None if rates is None else cost_at(rates, usage)


def cost_at(rates: Rates, usage: Usage) -> float:
    dollars = (
        usage.input_tokens * rates.input
        + usage.cache_read_tokens * _or(rates.cache_read, rates.input)
        + usage.cache_write_tokens * _or(rates.cache_write, rates.input)
        + usage.output_tokens * rates.output
    )
    return dollars / _PER_DOLLARS


class _Names(Struct, frozen=True):
    plain: dict[str, int]
    patterns: tuple[tuple[int, re.Pattern[str]], ...]


@cache
def _names_of(vendor: str) -> _Names:
    plain, patterns = dict[str, int](), list[tuple[int, re.Pattern[str]]]()
    for place, model in enumerate(price_table().vendors.get(vendor, ())):
        for name in model.names:
            if (expression := _expression(name)) is not None:
                patterns.append((place, re.compile(expression)))
            else:
                plain.setdefault(name, place)
    return _Names(plain, tuple(patterns))


def _looked_up(vendor: str, name: str) -> PricedModel | None:
    names, models = _names_of(vendor), price_table().vendors.get(vendor, ())
    first = names.plain.get(name, len(models))
    place = next((place for place, pattern in names.patterns if place < first and pattern.search(name)), first)
    return models[place] if place < len(models) else None


def _or(rate: float | None, usual: float) -> float:
    return usual if rate is None else rate


def _expression(name: str) -> str | None:
    if name.startswith("/"):
        return name[1:-1]
    if name.startswith("*"):
        return re.escape(name[1:-1])
    return f"^{re.escape(name[:-1])}" if name.endswith("*") else None


def priced(
    usage: Usage,
    model: ModelRef,
    now: datetime,
    *,
    address: str | None = None,
    is_prepaid: bool = False,
    stated: Rates | None = None,
) -> Usage:
    """Return the usage of one request with its cost, if that is known.

    A cost that the vendor reports takes precedence, then the `stated` price, then the table, which is valid only at the
    vendor's own address. `address` is where the request went; `is_prepaid`: a subscription covers it.
    """
    if usage.cost_usd is not None:
        return usage
    named = known_vendor(model.provider)
    vendor = named if named is not None and is_own_address(named, address or model.base_url) else None
    if vendor is not None and (is_prepaid or (vendor.is_local and stated is None)):
        return replace(usage, cost_usd=0.0)
    if stated is not None:
        tokens = cost_at(stated, usage)
    elif vendor is not None:
        tokens = cost_usd(vendor.prices, model.model, now.astimezone(UTC).date(), usage)
    else:
        return usage
    search_usd = vendor.search_usd if vendor is not None else None
    searches = usage.web_searches * search_usd if search_usd is not None else None
    if tokens is None or (usage.web_searches and searches is None):
        return usage
    return replace(usage, cost_usd=tokens + (searches or 0.0))


def is_own_address(vendor: Vendor, address: str | None) -> bool:
    """Whether requests to an address reach the vendor itself. For a local vendor, that is this machine."""
    if not address:
        return True
    if vendor.is_local:
        return is_loopback(_host_of(address))
    if vendor.cloud is not None:
        return f".{_host_of(address)}".endswith(f".{vendor.cloud.domain}")
    return address_of(address.lower()) == address_of(vendor.address)


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
