"""The properties of a model: how much it reads and writes, what it can do, what it costs. Unknown ones are `None`.

Levels of effort are those of the vendors' SDKs in November 2026.
"""

import re
from collections.abc import Collection, Mapping

from msgspec import Struct
from msgspec.structs import asdict, replace

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.models.prices import Rates
from desktop_agent.core.models.vendors import WireName, vendor_of


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


_ONLY_EMBEDS = re.compile(r"embed|(?:^|/)(?:all-minilm|bge-|paraphrase-)", re.IGNORECASE)


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

_LEVEL = re.compile(r"[a-z][a-z0-9_-]{0,19}")


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
