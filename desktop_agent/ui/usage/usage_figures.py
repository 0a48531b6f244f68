"""Figures as text, and the data of plots and axes. Plain values, computed in a thread."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import cost_text, duration_text, money, named
from desktop_agent.core.protocol.model import ModelRef, Usage
from desktop_agent.core.usage.report import Durations, Figures, Key
from desktop_agent.ui.wording import counted, short_path

NOTHING = "–"
_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def say(text: str) -> str:
    return QCoreApplication.translate("Usage", text)


def short_count(number: float) -> str:
    for size, unit in _UNITS:
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def money_ticks(ticks: Sequence[float]) -> Callable[[float], str]:
    """Return a formatter for an axis with these amounts: whole dollars if all ticks are whole, otherwise with cents."""
    is_whole = all(tick == int(tick) for tick in ticks)
    return lambda usd: f"${usd:,.0f}" if is_whole else money(usd) if usd else "$0"


def share(part: float, whole: float) -> str:
    """Return a share as `13 %`. A share above zero never becomes `0 %`."""
    percent = 100 * part / whole if whole else 0.0
    return f"{percent:.1f} %" if 0 < percent < 1 else f"{percent:.0f} %"


def cost(usage: Usage, requests: int) -> str:
    """Return the cost of requests. An unknown cost becomes `not known`, never $0."""
    if not requests:
        return NOTHING
    return cost_text(usage.cost_usd, is_partial=usage.is_cost_partial) or say("not known")


def tokens(number: int) -> str:
    return counted(number) if number else NOTHING


def time(seconds: float) -> str:
    return duration_text(seconds) if seconds else NOTHING


def percentile(durations: Durations, percent: int) -> str:
    found = durations.percentile_s(percent)
    return duration_text(found) if found is not None else NOTHING


def failed(part: int, whole: int) -> str:
    return (f"{counted(part)} ({share(part, whole)})" if part else "0") if whole else NOTHING


def errors(figures: Figures) -> str:
    kinds = sorted(figures.failed_calls.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{counted(count)} {_error(kind)}" for kind, count in kinds)


def model_name(key: Key) -> str:
    provider, model = key
    return named(ModelRef(provider=provider, model=model).shown) if provider else say("not recorded")


def folder_name(key: Key) -> str:
    return short_path(key[0]) if key[0] else say("not recorded")


def tool_name(key: Key) -> str:
    return named(key[0])


def _error(kind: str) -> str:
    kinds = {
        "validation": say("wrong arguments"),
        "not_found": say("not found"),
        "permission": say("not allowed"),
        "fatal": say("fatal"),
    }
    return kinds.get(kind) or say("other")


_STEPS = (1, 2, 2.5, 5)
_COUNTS = range(2, 6)
_TIMES_S = (0.001, 0.01, 0.1, 1, 10, 60, 600, 3_600, 36_000, 360_000)


class Scale(NamedTuple):
    ticks: tuple[float, ...]
    is_logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 (the start) to 1 (the end)."""
        first, last = self.ticks[0], self.ticks[-1]
        if self.is_logarithmic:
            value = max(value, first)
            return min(1.0, math.log(value / first) / math.log(last / first))
        return min(1.0, max(0.0, (value - first) / (last - first)))


def scale_to(greatest: float, *, least_step: float = 0.0) -> Scale:
    if greatest <= 0:
        return Scale((0.0, least_step or 1.0))
    power = 10.0 ** math.floor(math.log10(greatest))
    steps = [max(one * size * power, least_step) for size in (0.1, 1.0) for one in _STEPS]
    axes = [(count * step, count, step) for step in steps for count in [math.ceil(greatest / step - 1e-9) or 1]]
    _, count, step = min([axis for axis in axes if axis[1] in _COUNTS] or axes)
    return Scale(tuple(round(step * number, 12) for number in range(count + 1)))


def time_scale(least_s: float, greatest_s: float) -> Scale:
    """Return an axis of round times. It is logarithmic, because some tools take milliseconds and others minutes."""
    first = max((number for number, time in enumerate(_TIMES_S) if time <= least_s), default=0)
    last = next((number for number, time in enumerate(_TIMES_S) if time >= greatest_s), len(_TIMES_S) - 1)
    return Scale(_TIMES_S[min(first, len(_TIMES_S) - 2) : max(last, first + 1) + 1], is_logarithmic=True)


class Series(Struct, frozen=True, kw_only=True):
    name: str
    colour: str
    total: str


class PlotColumn(Struct, frozen=True, kw_only=True):
    tick: str
    name: str
    parts: tuple[float, ...]
    texts: tuple[str, ...]
    total: str
    unknown: str = ""


class ColumnData(Struct, frozen=True, kw_only=True):
    series: tuple[Series, ...]
    columns: tuple[PlotColumn, ...]
    scale: Scale
    tick_text: Callable[[float], str]
    total: str
    unknown: str = ""


class PlotBar(Struct, frozen=True, kw_only=True):
    """One row of a bar plot: a bar from zero to `value`, or a range from `value` to `end`."""

    name: str
    value: float | None
    end: float | None = None
    text: str
    detail: str


class BarData(Struct, frozen=True, kw_only=True):
    bars: tuple[PlotBar, ...]
    scale: Scale
    tick_text: Callable[[float], str]
    colour: str = "accent"
    note: str = ""
    nothing: str = ""
