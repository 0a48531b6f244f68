"""Figures in words: counts, costs, times, shares, kinds of errors."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import cost_text, duration_text, money, named
from desktop_agent.core.protocol.model import Usage
from desktop_agent.core.usage.report import Durations, Figures, Key
from desktop_agent.ui.widgets.context_meter import counted
from desktop_agent.ui.wording.short_path import short_path

NOTHING = "–"
"""Where there is no figure."""
_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def say(text: str) -> str:
    """Return a text of the page in the language of the user."""
    return QCoreApplication.translate("Usage", text)


def short_count(number: float) -> str:
    """Return a number for an axis: `900`, `1.5 k`, `20 M`."""
    for size, unit in _UNITS:
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def money_ticks(ticks: Sequence[float]) -> Callable[[float], str]:
    """Return how an axis of these amounts writes each of them: all in dollars, or all with their cents."""
    is_whole = all(tick == int(tick) for tick in ticks)
    return lambda usd: f"${usd:,.0f}" if is_whole else money(usd) if usd else "$0"


def share(part: float, whole: float) -> str:
    """Return `13 %`, and never 0 % for what is more than nothing."""
    percent = 100 * part / whole if whole else 0.0
    return f"{percent:.1f} %" if 0 < percent < 1 else f"{percent:.0f} %"


def cost(usage: Usage, requests: int) -> str:
    """Return what requests cost; `not known`, and never $0, where that is so."""
    if not requests:
        return NOTHING
    return cost_text(usage.cost_usd, is_partial=usage.is_cost_partial) or say("not known")


def tokens(number: int) -> str:
    """Return a number of tokens as people read it."""
    return counted(number) if number else NOTHING


def time(seconds: float) -> str:
    """Return a time; a dash for none."""
    return duration_text(seconds) if seconds else NOTHING


def percentile(durations: Durations, percent: int) -> str:
    """Return the time that so many of a hundred do not exceed; a dash without any."""
    found = durations.percentile_s(percent)
    return duration_text(found) if found is not None else NOTHING


def failed(part: int, whole: int) -> str:
    """Return `4 (13 %)`; a dash where nothing was tried."""
    return (f"{counted(part)} ({share(part, whole)})" if part else "0") if whole else NOTHING


def errors(figures: Figures) -> str:
    """Return the kinds of a tool's errors: `2 not found, 1 not allowed`; the most frequent first."""
    kinds = sorted(figures.failed_calls.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{counted(count)} {_error(kind)}" for kind, count in kinds)


def model_name(key: Key) -> str:
    """Return what a model of a provider is called."""
    provider, model = key
    return named(f"{provider}/{model}") if provider else say("not recorded")


def folder_name(key: Key) -> str:
    """Return a folder as people write it."""
    return short_path(key[0]) if key[0] else say("not recorded")


def tool_name(key: Key) -> str:
    """Return a tool's name, nothing of it invisible."""
    return named(key[0])


def _error(kind: str) -> str:
    match kind:
        case "validation":
            return say("wrong arguments")
        case "not_found":
            return say("not found")
        case "permission":
            return say("not allowed")
        case "fatal":
            return say("fatal")
        case _:
            return say("other")
