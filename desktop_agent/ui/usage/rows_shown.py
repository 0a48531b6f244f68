"""The plots of a report with a row for each thing: the times and errors of tools, the costs of models and folders."""

from collections.abc import Callable, Mapping

from desktop_agent.core.base.plain_text import duration_text, money
from desktop_agent.core.usage.report import Durations, Figures, Key
from desktop_agent.ui.usage import figure_words as words
from desktop_agent.ui.usage.figure_words import say
from desktop_agent.ui.usage.plot_data import BarData, PlotBar
from desktop_agent.ui.usage.scales import scale_to, time_scale
from desktop_agent.ui.widgets.context_meter import counted

MOST_BARS = 8
"""All others are in the table."""

Name = Callable[[Key], str]


def times_of(
    rows: Mapping[Key, Figures], name: Name, durations: Callable[[Figures], Durations], *, nothing: str
) -> BarData:
    """Return P50 to P95 of each, those that took the most time in all first."""
    timed = [(key, durations(figures)) for key, figures in rows.items() if durations(figures).count]
    timed.sort(key=lambda item: -item[1].total_s)
    shown = [_range(name(key), one) for key, one in timed[:MOST_BARS]]
    ends = [one for bar in shown for one in (bar.value, bar.end) if one is not None]
    note = say("● P50, ○ P95")
    return BarData(
        bars=tuple(shown),
        scale=time_scale(min(ends, default=0.001), max(ends, default=1.0)),
        tick_text=_time_tick,
        note=_noted(note, len(timed)),
        nothing=nothing,
    )


def errors_of(rows: Mapping[Key, Figures]) -> BarData:
    """Return how many calls of each tool failed, and which share of its calls, the most first."""
    wrong = [(key, figures) for key, figures in rows.items() if figures.failed_call_count]
    wrong.sort(key=lambda item: (-item[1].failed_call_count, item[0]))
    shown: list[PlotBar] = []
    for key, figures in wrong[:MOST_BARS]:
        failed, calls = figures.failed_call_count, figures.calls
        said = counted(failed), counted(calls), words.share(failed, calls)
        detail = say("{0} of {1} ({2}): {3}").format(*said, words.errors(figures))
        text = say("{0} of {1}, {2}").format(*said)
        shown.append(PlotBar(name=words.tool_name(key), value=failed, text=text, detail=detail))
    return BarData(
        bars=tuple(shown),
        scale=scale_to(max((bar.value or 0.0 for bar in shown), default=0.0), least_step=1.0),
        tick_text=words.short_count,
        colour="danger_text",
        note=_noted("", len(wrong)),
        nothing=say("No call failed."),
    )


def costs_of(rows: Mapping[Key, Figures], name: Name) -> BarData:
    """Return what each cost, the most expensive first; then those of which that is not known."""
    asked = [(key, figures) for key, figures in rows.items() if figures.requests]
    asked.sort(key=lambda item: -_cost_order(item[1]))
    shown = [
        PlotBar(
            name=name(key),
            value=figures.usage.cost_usd,
            text=words.cost(figures.usage, figures.requests),
            detail=say("{0}; {1} tokens read, {2} written, {3} requests").format(
                _cost_said(figures),
                counted(figures.usage.all_input_tokens),
                counted(figures.usage.output_tokens),
                counted(figures.requests),
            ),
        )
        for key, figures in asked[:MOST_BARS]
    ]
    scale = scale_to(max((bar.value or 0.0 for bar in shown), default=0.0))
    return BarData(
        bars=tuple(shown),
        scale=scale,
        tick_text=words.money_ticks(scale.ticks),
        note=_noted("", len(asked)),
        nothing=say("No request is recorded."),
    )


def turns_of(rows: Mapping[Key, Figures], name: Name) -> BarData:
    """Return how long the turns of each took in all, the longest first."""
    timed = sorted(((key, one) for key, one in rows.items() if one.turn_s), key=lambda item: -item[1].turn_s)
    shown = [
        PlotBar(
            name=name(key),
            value=figures.turn_s,
            text=duration_text(figures.turn_s),
            detail=say("{0} in {1} turns, {2} of them failed").format(
                duration_text(figures.turn_s), counted(figures.turns), counted(figures.failed_turn_count)
            ),
        )
        for key, figures in timed[:MOST_BARS]
    ]
    greatest = max((bar.value or 0.0 for bar in shown), default=0.0)
    unit = next(size for size in (3_600, 60, 1) if greatest >= size or size == 1)
    scale = scale_to(greatest / unit)
    return BarData(
        bars=tuple(shown),
        scale=scale._replace(ticks=tuple(tick * unit for tick in scale.ticks)),
        tick_text=lambda value: f"{value / unit:g} {'h' if unit == 3_600 else 'min' if unit == 60 else 's'}",
        note=_noted("", len(timed)),
        nothing=say("No turn is recorded."),
    )


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


def _cost_order(figures: Figures) -> float:
    known = figures.usage.cost_usd
    return -1.0 if known is None else known


def _cost_said(figures: Figures) -> str:
    usage = figures.usage
    if usage.cost_usd is None:
        return say("cost not known")
    if usage.unpriced_tokens:
        known = money(usage.cost_usd, is_least=True)
        return say("{0}, {1} tokens without a price").format(known, counted(usage.unpriced_tokens))
    return money(usage.cost_usd)


def _noted(note: str, count: int) -> str:
    more = say("{0} more in the table").format(counted(count - MOST_BARS)) if count > MOST_BARS else ""
    return " · ".join(filter(None, (note, more)))


def _time_tick(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:g} ms"
    unit = next(size for size in (3_600, 60, 1) if seconds >= size)
    return f"{seconds / unit:g} {'h' if unit == 3_600 else 'min' if unit == 60 else 's'}"
