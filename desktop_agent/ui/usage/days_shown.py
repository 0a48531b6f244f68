"""The plots over time of a report: days, or weeks and months where there are many days, with a part for each model."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import date, timedelta

from msgspec import Struct
from PySide6.QtCore import QDate, QLocale

from desktop_agent.core.protocol.model import Spending, Usage
from desktop_agent.core.usage.report import UsageReport
from desktop_agent.ui.usage.figure_words import cost, model_name, money_ticks, say, short_count, tokens
from desktop_agent.ui.usage.plot_data import ColumnData, PlotColumn, Series
from desktop_agent.ui.usage.scales import scale_to
from desktop_agent.ui.widgets.context_meter import counted

COLOURS = ("accent", "syntax_function", "syntax_number", "syntax_keyword", "syntax_string")
"""Roles of the palette for the models with the most tokens, in this order; all others share `OTHER`."""
OTHER = "faint"
_MOST_COLUMNS = 100
_MOST_WEEKS = 105


class Span(Struct, frozen=True):
    """The days of one column: from `first` to `last`, both in it."""

    first: date
    last: date


def spans(first: date, last: date) -> tuple[Span, ...]:
    """Return the days from `first` to `last`; weeks from Monday where these are too many, then months."""
    days = (last - first).days + 1
    if days <= _MOST_COLUMNS:
        return tuple(Span(day, day) for day in (first + timedelta(days=number) for number in range(days)))
    is_weekly = days <= 7 * _MOST_WEEKS
    found: list[Span] = []
    while first <= last:
        following = first + timedelta(days=7 - first.weekday()) if is_weekly else _next_month(first)
        found.append(Span(first, min(last, following - timedelta(days=1))))
        first = following
    return tuple(found)


def columns_of(report: UsageReport) -> tuple[ColumnData, ColumnData]:
    """Return the costs and the tokens of a report over time, stacked by model."""
    first = report.first or min((date.fromisoformat(day) for (day,) in report.days), default=report.last)
    last = max([report.last, *(date.fromisoformat(day) for (day,) in report.days)])
    parts = _Parts(report, spans(max(first, last - timedelta(days=_LONGEST_DAYS)), last))
    return parts.costs(), parts.tokens()


_NOTHING = Usage()
_LONGEST_DAYS = 20 * 366
"""A journal with a date of long ago does not make a plot of centuries."""


class _Parts:
    """The use of each model in each span."""

    def __init__(self, report: UsageReport, spans_: Sequence[Span]) -> None:
        asked = [key for key, figures in report.models.items() if figures.requests]
        self._named = asked if len(asked) <= len(COLOURS) + 1 else asked[: len(COLOURS)]
        """Those that have a series of their own."""
        names = [model_name(key) for key in self._named]
        if len(self._named) < len(asked):
            names.append(say("other models"))
        self._names = names
        self._total = report.total
        self._spans = spans_
        self._firsts = [span.first for span in spans_]
        self._parts = [[_NOTHING] * len(names) for _ in spans_]
        self._sums = [_NOTHING] * len(names)
        for spent in report.spending:
            self._add(spent)

    def costs(self) -> ColumnData:
        """Return what each span cost."""
        usages = [sum(parts, Usage()) for parts in self._parts]
        return self._columns(
            _dollars,
            lambda usage: cost(usage, usage.context_tokens),
            money_ticks,
            total=cost(self._total.usage, self._total.requests),
            lacks=[_unknown(usage) for usage in usages],
            unknown=_unknown(self._total.usage),
        )

    def tokens(self) -> ColumnData:
        """Return how many tokens each span took, read and written."""
        total = say("{0} tokens").format(counted(self._total.usage.context_tokens))
        lacks = [""] * len(self._spans)
        return self._columns(
            _tokens,
            lambda usage: tokens(_tokens(usage)),
            lambda ticks: short_count,
            total=total,
            lacks=lacks,
            least_step=1.0,
        )

    def _add(self, spent: Spending) -> None:
        number = bisect_right(self._firsts, spent.day) - 1
        if number >= 0:
            key = (spent.provider, spent.model)
            series = self._named.index(key) if key in self._named else len(self._named)
            self._parts[number][series] += spent.usage
            self._sums[series] += spent.usage

    def _columns(
        self,
        value: Callable[[Usage], float],
        text: Callable[[Usage], str],
        tick_texts: Callable[[Sequence[float]], Callable[[float], str]],
        *,
        total: str,
        lacks: Sequence[str],
        unknown: str = "",
        least_step: float = 0.0,
    ) -> ColumnData:
        colours = [*COLOURS, OTHER]
        greatest = max((sum(map(value, parts)) for parts in self._parts), default=0.0)
        scale = scale_to(greatest, least_step=least_step)
        return ColumnData(
            series=tuple(
                Series(name=name, colour=colour, total=text(usage))
                for name, colour, usage in zip(self._names, colours, self._sums, strict=False)
            ),
            columns=tuple(
                PlotColumn(
                    tick=_tick(span),
                    name=_name(span),
                    parts=tuple(map(value, parts)),
                    texts=tuple(map(text, parts)),
                    total=text(sum(parts, Usage())) if any(map(_tokens, parts)) else say("no requests"),
                    unknown=lack,
                )
                for span, parts, lack in zip(self._spans, self._parts, lacks, strict=True)
            ),
            scale=scale,
            tick_text=tick_texts(scale.ticks),
            total=total,
            unknown=unknown,
        )


def _tokens(usage: Usage) -> int:
    return usage.context_tokens


def _dollars(usage: Usage) -> float:
    return usage.cost_usd or 0.0


def _unknown(usage: Usage) -> str:
    """Say how many tokens have no price; nothing when all have one."""
    number = usage.context_tokens if usage.cost_usd is None else usage.unpriced_tokens
    return say("{0} tokens").format(counted(number)) if number else ""


def _next_month(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _tick(span: Span) -> str:
    days = (span.last - span.first).days
    return _written(span.first, say("d MMM") if days < 8 else say("MMM yyyy"))


def _name(span: Span) -> str:
    if span.first == span.last:
        return _written(span.first, say("ddd d MMM yyyy"))
    return f"{_written(span.first, say('d MMM'))} – {_written(span.last, say('d MMM yyyy'))}"


def _written(day: date, form: str) -> str:
    return QLocale().toString(QDate(day.year, day.month, day.day), form)
