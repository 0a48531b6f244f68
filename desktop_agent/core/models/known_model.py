"""The properties of a model: how much it reads and writes, what it can do, what it costs. Unknown ones are `None`.

Levels of effort are those of the vendors' SDKs in November 2026. `packaging/tools/model_prices.py` writes the prices.
"""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.json import decode
from msgspec.structs import asdict, replace

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.web_address import address_of, is_loopback
from desktop_agent.core.models.vendors import Vendor, WireName, known_vendor, vendor_of
from desktop_agent.core.protocol.model import ModelRef, Usage

PRICE_FILE = "models.json"
_PER_DOLLARS = 1_000_000
_COMPACT_DATE = regex(r"(?<=-)(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


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


class ListedModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    label: str = ""
    context_tokens: int | None = None
    output_tokens: int | None = None
    takes_images: bool | None = None
    takes_tools: bool | None = None
    thinks: bool | None = None
    efforts: tuple[str, ...] | None = None
    """The levels of effort that can be requested, lowest first; empty if none can."""
    price: Rates | None = None
    """The present price of a request of usual size, in US dollars per million tokens."""


class KnownModel(ListedModel, frozen=True, kw_only=True, omit_defaults=True):
    provider: str

    @property
    def shown(self) -> str:
        return self.label or self.name

    @property
    def takes_effort(self) -> bool | None:
        """Whether a level of effort can be requested; `None` if unknown."""
        if self.efforts is not None:
            return bool(self.efforts)
        return False if self.thinks is False else None


def completed(known: KnownModel, by: ListedModel | None) -> KnownModel:
    if by is None:
        return known
    more = {name: value for name, value in asdict(by).items() if name != "name" and _is_said(value)}
    return replace(known, **{name: value for name, value in more.items() if not _is_said(getattr(known, name))})


def found(name: str, among: Collection[str]) -> str | None:
    """Return the entry of `among` that `name` means: a name without a date means the newest with one."""
    return name if name in among else next((known for known in among if known.startswith(f"{name}-2")), None)


def only_embeds(name: str) -> bool:
    """Whether a model of this name only makes embeddings of text: https://ollama.com/search?c=embedding."""
    return _ONLY_EMBEDS.search(name) is not None


_ONLY_EMBEDS = regex(r"embed|(?:^|/)(?:all-minilm|bge-|paraphrase-)", re.IGNORECASE)


def _is_said(value: object) -> bool:
    return value is not None and value != ""


OWN = "default"
"""What users write to request no level, so that the model decides."""

_OPENAI = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
LEVELS: Mapping[WireName, tuple[str, ...]] = {
    "anthropic": ("low", "medium", "high", "xhigh", "max"),
    "openai-responses": _OPENAI,
    "openai-chat": _OPENAI,
}
"""Every level that a format has a word for, lowest first."""

_LEVEL = regex(r"[a-z][a-z0-9_-]{0,19}")


def is_level(text: str) -> bool:
    return bool(_LEVEL.fullmatch(text))


def levels_of(model: KnownModel) -> tuple[str, ...]:
    """Return the levels that can be requested; if they are unknown, all levels of the wire format."""
    if model.takes_effort is False:
        return ()
    return model.efforts or LEVELS[vendor_of(model.provider).wire]


def effort_meant(text: str, model: KnownModel) -> str:
    """Return the level that the text means; empty for the model's own. Raises `UsageError`, which names the levels."""
    level = text.strip().lower()
    levels = levels_of(model)
    if level in ("", OWN):
        return ""
    if not levels:
        raise UsageError(f"{model.shown} has no effort levels.", hint=f"Only {OWN} is possible.")
    if level not in levels:
        known = ", ".join((OWN, *levels))
        raise UsageError(f"{model.shown} does not support the effort {level!r}.", hint=f"Available: {known}.")
    return level


UNKNOWN = "unknown"

_UNITS = ((1_000_000, "M"), (1_000, "k"))


def size_words(tokens: int | None) -> str:
    if tokens is None:
        return UNKNOWN
    for unit, sign in _UNITS:
        if tokens >= unit * 0.9995:
            return f"{tokens / unit:.3g}{sign}"
    return str(tokens)


def price_words(price: Rates | None) -> str:
    """Return the price of a million tokens, input and output: `$3 / $15`, or `free`."""
    if price is None:
        return UNKNOWN
    if price.input == price.output == 0:
        return "free"
    return f"{rate_words(price.input)} / {rate_words(price.output)}"


def rate_words(dollars: float) -> str:
    whole = f"{dollars:.4f}".rstrip("0").rstrip(".")
    return f"${dollars:.2f}" if len(whole.partition(".")[2]) == 1 else f"${whole}"


def ability_words(model: KnownModel) -> str:
    abilities = {"images": model.takes_images, "tools": model.takes_tools, "thinking": model.thinks}
    if all(can is None for can in abilities.values()):
        return UNKNOWN
    said = [name if can else f"no {name}" for name, can in abilities.items() if can is not None]
    open_ = [name for name, can in abilities.items() if can is None]
    return ", ".join(said) + (f"; {', '.join(open_)}: {UNKNOWN}" if open_ else "")


def effort_words(model: KnownModel) -> str:
    match model.takes_effort:
        case None:
            return UNKNOWN
        case False:
            return "none"
        case True:
            return ", ".join(model.efforts or ())
