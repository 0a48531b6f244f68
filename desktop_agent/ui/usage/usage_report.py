"""Converts a report into the plots, tables and text of the usage page. Runs in a thread."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple, TypeVar

from msgspec import Struct
from PySide6.QtCore import QDate, QLocale

from desktop_agent.core.base.plain_text import cost_text, duration_text, money
from desktop_agent.core.protocol.model import Usage
from desktop_agent.core.usage.report import GROUPINGS, Durations, Figures, Grouping, Key, UsageReport
from desktop_agent.ui.usage import usage_figures as words
from desktop_agent.ui.usage.usage_figures import (
    BarData,
    ColumnData,
    PlotBar,
    PlotColumn,
    Scale,
    Series,
    cost,
    model_name,
    money_ticks,
    say,
    scale_to,
    short_count,
    time_scale,
    tokens,
)
from desktop_agent.ui.wording import counted

COLOURS = ("accent", "syntax_function", "syntax_number", "syntax_keyword", "syntax_string")
"""The palette roles of the models with the most tokens, in this order. All other models share `OTHER`."""
OTHER = "faint"
_MOST_COLUMNS = 100
_MOST_WEEKS = 105

Span = tuple[date, date]
"""The days of one column, from the first to the last inclusive."""


def spans(first: date, last: date) -> tuple[Span, ...]:
    days = (last - first).days + 1
    if days <= _MOST_COLUMNS:
        return tuple((day, day) for day in (first + timedelta(days=number) for number in range(days)))
    is_weekly = days <= 7 * _MOST_WEEKS
    found: list[Span] = []
    while first <= last:
        following = (
            first + timedelta(days=7 - first.weekday())
            if is_weekly
            else date(first.year + first.month // 12, first.month % 12 + 1, 1)
        )
        found.append((first, min(last, following - timedelta(days=1))))
        first = following
    return tuple(found)


_LONGEST_DAYS = 20 * 366
"""The longest time that a plot shows, in days, so that a journal with an ancient date makes no plot of centuries."""


def columns_of(report: UsageReport) -> tuple[ColumnData, ColumnData]:
    first = report.first or min((date.fromisoformat(day) for (day,) in report.days), default=report.last)
    last = max([report.last, *(date.fromisoformat(day) for (day,) in report.days)])
    columns = spans(max(first, last - timedelta(days=_LONGEST_DAYS)), last)
    asked = [key for key, figures in report.models.items() if figures.requests]
    named = asked if len(asked) <= len(COLOURS) + 1 else asked[: len(COLOURS)]
    names = [*map(model_name, named), *([say("other models")] if len(named) < len(asked) else [])]
    used = [[Usage()] * len(names) for _ in columns]
    sums = [Usage()] * len(names)
    firsts = [span[0] for span in columns]
    for spent in report.spending:
        number = bisect_right(firsts, spent.day) - 1
        if number >= 0:
            key = (spent.provider, spent.model)
            series = named.index(key) if key in named else len(named)
            used[number][series] += spent.usage
            sums[series] += spent.usage

    def plot(
        value: Callable[[Usage], float],
        text: Callable[[Usage], str],
        total: str,
        unknown: Callable[[Usage], str],
        *,
        least_step: float = 0.0,
    ) -> ColumnData:
        greatest = max((sum(map(value, parts)) for parts in used), default=0.0)
        scale = scale_to(greatest, least_step=least_step)
        return ColumnData(
            series=tuple(
                Series(name=name, colour=colour, total=text(usage))
                for name, colour, usage in zip(names, [*COLOURS, OTHER], sums, strict=False)
            ),
            columns=tuple(
                PlotColumn(
                    tick=_tick(span),
                    name=_name(span),
                    parts=tuple(map(value, parts)),
                    texts=tuple(map(text, parts)),
                    total=text(sum(parts, Usage())) if any(map(_tokens, parts)) else say("no requests"),
                    unknown=unknown(sum(parts, Usage())),
                )
                for span, parts in zip(columns, used, strict=True)
            ),
            scale=scale,
            tick_text=short_count if least_step else money_ticks(scale.ticks),
            total=total,
            unknown=unknown(report.total.usage),
        )

    whole = report.total
    in_all = say("{0} tokens").format(counted(whole.usage.context_tokens))
    return (
        plot(
            lambda usage: usage.cost_usd or 0.0,
            lambda usage: cost(usage, usage.context_tokens),
            cost(whole.usage, whole.requests),
            _unknown,
        ),
        plot(_tokens, lambda usage: tokens(_tokens(usage)), in_all, lambda usage: "", least_step=1.0),
    )


def _tokens(usage: Usage) -> int:
    return usage.context_tokens


def _unknown(usage: Usage) -> str:
    return say("{0} tokens").format(counted(number)) if (number := _unpriced(usage)) else ""


def _unpriced(usage: Usage) -> int:
    return usage.context_tokens if usage.cost_usd is None else usage.unpriced_tokens


def _tick(span: Span) -> str:
    first, last = span
    return _written(first, say("d MMM") if (last - first).days < 8 else say("MMM yyyy"))


def _name(span: Span) -> str:
    first, last = span
    if first == last:
        return _written(first, say("ddd d MMM yyyy"))
    return f"{_written(first, say('d MMM'))} – {_written(last, say('d MMM yyyy'))}"


def _written(day: date, form: str) -> str:
    return QLocale().toString(QDate(day.year, day.month, day.day), form)


MOST_BARS = 8
_UNITS = {3_600: "h", 60: "min", 1: "s"}

Name = Callable[[Key], str]


def times_of(
    rows: Mapping[Key, Figures], name: Name, durations: Callable[[Figures], Durations], *, nothing: str
) -> BarData:
    """Show each row's durations from P50 to P95, those with the most total time first."""
    timed = [(key, durations(figures)) for key, figures in rows.items() if durations(figures).count]
    timed.sort(key=lambda item: -item[1].total_s)
    shown = [_range(name(key), one) for key, one in timed[:MOST_BARS]]
    ends = [one for bar in shown for one in (bar.value, bar.end) if one is not None]
    scale = time_scale(min(ends, default=0.001), max(ends, default=1.0))
    return _bars(shown, scale, _time_tick, nothing, count=len(timed), note=say("● P50, ○ P95"))


def errors_of(rows: Mapping[Key, Figures]) -> BarData:
    wrong = [(key, figures) for key, figures in rows.items() if figures.failed_call_count]
    wrong.sort(key=lambda item: (-item[1].failed_call_count, item[0]))
    shown: list[PlotBar] = []
    for key, figures in wrong[:MOST_BARS]:
        failed, calls = figures.failed_call_count, figures.calls
        said = counted(failed), counted(calls), words.share(failed, calls)
        detail = say("{0} of {1} ({2}): {3}").format(*said, words.errors(figures))
        text = say("{0} of {1}, {2}").format(*said)
        shown.append(PlotBar(name=words.tool_name(key), value=failed, text=text, detail=detail))
    scale, nothing = scale_to(_greatest(shown), least_step=1.0), say("No call failed.")
    return _bars(shown, scale, words.short_count, nothing, count=len(wrong), colour="danger_text")


def costs_of(rows: Mapping[Key, Figures], name: Name) -> BarData:
    asked = [(key, figures) for key, figures in rows.items() if figures.requests]
    asked.sort(key=lambda item: -_cost_order(item[1]))
    shown: list[PlotBar] = []
    for key, figures in asked[:MOST_BARS]:
        usage = figures.usage
        numbers = map(counted, (usage.all_input_tokens, usage.output_tokens, figures.requests))
        detail = say("{0}; {1} tokens read, {2} written, {3} requests").format(_cost_said(figures), *numbers)
        text = words.cost(usage, figures.requests)
        shown.append(PlotBar(name=name(key), value=usage.cost_usd, text=text, detail=detail))
    scale = scale_to(_greatest(shown))
    nothing = say("No request is recorded.")
    return _bars(shown, scale, words.money_ticks(scale.ticks), nothing, count=len(asked))


def turns_of(rows: Mapping[Key, Figures], name: Name) -> BarData:
    timed = sorted(((key, one) for key, one in rows.items() if one.turn_s), key=lambda item: -item[1].turn_s)
    shown: list[PlotBar] = []
    for key, figures in timed[:MOST_BARS]:
        time, turns = duration_text(figures.turn_s), (counted(figures.turns), counted(figures.failed_turn_count))
        detail = say("{0} in {1} turns, {2} of them failed").format(time, *turns)
        shown.append(PlotBar(name=name(key), value=figures.turn_s, text=time, detail=detail))
    unit = next(size for size in _UNITS if _greatest(shown) >= size or size == 1)
    scale = scale_to(_greatest(shown) / unit)
    scale = scale._replace(ticks=tuple(tick * unit for tick in scale.ticks))
    nothing = say("No turn is recorded.")
    return _bars(shown, scale, lambda value: f"{value / unit:g} {_UNITS[unit]}", nothing, count=len(timed))


def _greatest(bars: Sequence[PlotBar]) -> float:
    return max((bar.value or 0.0 for bar in bars), default=0.0)


def _bars(
    bars: Sequence[PlotBar],
    scale: Scale,
    tick_text: Callable[[float], str],
    nothing: str,
    *,
    count: int,
    note: str = "",
    colour: str = "accent",
) -> BarData:
    """`count` is the number of rows in the table, some without a bar."""
    more = say("{0} more in the table").format(counted(count - MOST_BARS)) if count > MOST_BARS else ""
    said = " · ".join(filter(None, (note, more)))
    return BarData(bars=tuple(bars), scale=scale, tick_text=tick_text, colour=colour, note=said, nothing=nothing)


def _range(name: str, durations: Durations) -> PlotBar:
    half, most, nearly_all = (durations.percentile_s(percent) or 0.0 for percent in (50, 95, 99))
    return PlotBar(
        name=name,
        value=half,
        end=most,
        text=f"{duration_text(half)} – {duration_text(most)}" if half != most else duration_text(half),
        detail=say("P50 {0}, P95 {1}, P99 {2}, {3} in all, {4} times").format(
            *map(duration_text, (half, most, nearly_all, durations.total_s)), counted(durations.count)
        ),
    )


def _cost_said(figures: Figures) -> str:
    usage = figures.usage
    if usage.cost_usd is None:
        return say("cost not known")
    if usage.unpriced_tokens:
        known = money(usage.cost_usd, is_least=True)
        return say("{0}, {1} tokens without a price").format(known, counted(usage.unpriced_tokens))
    return money(usage.cost_usd)


def _time_tick(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:g} ms"
    unit = next(size for size in _UNITS if seconds >= size)
    return f"{seconds / unit:g} {_UNITS[unit]}"


class Table(NamedTuple):
    headings: tuple[str, ...]
    rows: tuple[tuple[tuple[str, float | str], ...], ...]
    """The text of each cell, and the value by which its column is sorted."""
    texts: tuple[int, ...] = (0,)
    """The indices of the columns with text, not numbers."""


Number = TypeVar("Number", int, float)


class _Column(Struct, frozen=True):
    heading: str
    text: Callable[[Figures], str]
    order: Callable[[Figures], float]


def table_of(report: UsageReport, by: Grouping) -> Table:
    rows = report.rows(by)
    name, heading = _names()[by]
    columns = _columns()[by]
    listed = reversed(rows.items()) if by == "day" else rows.items()
    return Table(
        (heading, *(column.heading for column in columns)),
        tuple(
            ((name(key), name(key)), *((one.text(figures), one.order(figures)) for one in columns))
            for key, figures in listed
        ),
        (0, len(columns)) if by == "tool" else (0,),
    )


def _names() -> Mapping[Grouping, tuple[Callable[[Key], str], str]]:
    return {
        "day": (lambda key: key[0], say("Day (UTC)")),
        "model": (words.model_name, say("Model")),
        "tool": (words.tool_name, say("Tool")),
        "folder": (words.folder_name, say("Folder")),
    }


def _columns() -> Mapping[Grouping, tuple[_Column, ...]]:
    spent = (
        _Column(say("Cost"), lambda one: words.cost(one.usage, one.requests), _cost_order),
        _figure(say("Tokens read"), lambda one: one.usage.all_input_tokens, words.tokens),
        _figure(say("Written"), lambda one: one.usage.output_tokens, words.tokens),
    )
    requests = _figure(say("Requests"), lambda one: one.requests, counted)
    failed_turns = _Column(
        say("Failed turns"),
        lambda one: words.failed(one.failed_turn_count, one.turns),
        lambda one: one.failed_turn_count,
    )
    turns = (_figure(say("Turns"), lambda one: one.turns, counted), failed_turns)
    turn_time = _figure(say("Time"), lambda one: one.turn_s, words.time)
    failed_calls = _Column(
        say("Failed calls"),
        lambda one: words.failed(one.failed_call_count, one.calls),
        lambda one: one.failed_call_count,
    )
    calls = (_figure(say("Calls"), lambda one: one.calls, counted), failed_calls)
    sessions = _figure(say("Sessions"), lambda one: one.sessions, counted)
    kinds = _Column(say("Errors"), words.errors, lambda one: one.failed_call_count)
    tool_time = _figure(say("Total time"), lambda one: one.took.total_s, words.time)
    return {
        "day": (*spent, requests, turn_time, *turns, *calls),
        "model": (*spent, requests, *_percentiles(lambda one: one.answered), *turns),
        "tool": (calls[0], *_percentiles(lambda one: one.took), tool_time, calls[1], kinds),
        "folder": (sessions, *spent, turn_time, *turns, *calls),
    }


def _figure(heading: str, figure: Callable[[Figures], Number], text: Callable[[Number], str]) -> _Column:
    return _Column(heading, lambda one: text(figure(one)), figure)


def _percentiles(durations: Callable[[Figures], Durations]) -> tuple[_Column, ...]:
    def column(percent: int) -> _Column:
        return _Column(
            f"P{percent}",
            lambda one: words.percentile(durations(one), percent),
            lambda one: durations(one).percentile_s(percent) or 0.0,
        )

    return tuple(column(percent) for percent in (50, 95, 99))


def _cost_order(figures: Figures) -> float:
    known = figures.usage.cost_usd
    return -1.0 if known is None else known


class Shown(Struct, frozen=True, kw_only=True):
    report: UsageReport
    totals: tuple[tuple[str, str], ...]
    warning: str
    """What is not known about the cost; empty if everything is known."""
    plots: dict[Grouping, tuple[ColumnData, ColumnData] | tuple[BarData, BarData]]
    tables: dict[Grouping, Table]

    @property
    def is_empty(self) -> bool:
        return not self.report.days


def shown_of(report: UsageReport) -> Shown:
    """Slow: call this in a thread."""
    models, tools, folders = report.models, report.tools, report.folders
    no_answer, no_call = say("No answer is recorded."), say("No call is recorded.")
    unpriced = _unpriced(report.total.usage)
    text = say("The price of {0} tokens is not known: the cost is higher.")
    return Shown(
        report=report,
        totals=_totals(report),
        warning=(text.format(counted(unpriced)) if unpriced else ""),
        plots={
            "day": columns_of(report),
            "model": (
                times_of(models, words.model_name, lambda one: one.answered, nothing=no_answer),
                costs_of(models, words.model_name),
            ),
            "tool": (times_of(tools, words.tool_name, lambda one: one.took, nothing=no_call), errors_of(tools)),
            "folder": (costs_of(folders, words.folder_name), turns_of(folders, words.folder_name)),
        },
        tables={by: table_of(report, by) for by in GROUPINGS},
    )


def _totals(report: UsageReport) -> tuple[tuple[str, str], ...]:
    total, usage = report.total, report.total.usage
    cost = cost_text(usage.cost_usd, is_partial=usage.is_cost_partial) if total.requests else "$0.00"
    written = say("tokens, {0} written").format(words.short_count(usage.output_tokens))
    failed_turns = say("{0} turns, {1} failed").format(counted(total.turns), counted(total.failed_turn_count))
    calls = say("tool calls")
    if total.calls:
        share = words.share(total.failed_call_count, total.calls)
        calls = say("tool calls, {0} failed ({1})").format(counted(total.failed_call_count), share)
    return (
        (cost or say("not known"), say("for {0} requests").format(counted(total.requests))),
        (words.short_count(usage.context_tokens), written),
        (duration_text(total.turn_s) if total.turn_s else "0 s", say("in {0}").format(failed_turns)),
        (counted(total.calls), calls),
    )
