"""The figures of a report as tables: for every grouping its columns, in words and in an order to sort by."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import Struct

from desktop_agent.core.usage.report import Durations, Figures, Grouping, Key, UsageReport
from desktop_agent.ui.usage import figure_words as words
from desktop_agent.ui.usage.figure_words import say
from desktop_agent.ui.widgets.context_meter import counted


class TableCell(NamedTuple):
    """One figure."""

    text: str
    order: float | str
    """What to sort by: it is of one kind in each column."""


class Table(NamedTuple):
    """Rows of figures; the first column says what each is about."""

    headings: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    texts: tuple[int, ...] = (0,)
    """The columns that are text, not numbers."""


class _Column(Struct, frozen=True):
    heading: str
    text: Callable[[Figures], str]
    order: Callable[[Figures], float]


def table_of(report: UsageReport, by: Grouping) -> Table:
    """Return the table of one grouping; the newest day first, else in the order of the report."""
    rows = report.rows(by)
    name, heading = _names()[by]
    columns = _columns()[by]
    listed = reversed(rows.items()) if by == "day" else rows.items()
    return Table(
        (heading, *(column.heading for column in columns)),
        tuple(
            (TableCell(name(key), name(key)), *(TableCell(one.text(figures), one.order(figures)) for one in columns))
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
    cost = _Column(say("Cost"), lambda one: words.cost(one.usage, one.requests), _cost_order)
    spent = (
        cost,
        _Column(
            say("Tokens read"),
            lambda one: words.tokens(one.usage.all_input_tokens),
            lambda one: one.usage.all_input_tokens,
        ),
        _Column(say("Written"), lambda one: words.tokens(one.usage.output_tokens), lambda one: one.usage.output_tokens),
    )
    requests = _Column(say("Requests"), lambda one: counted(one.requests), lambda one: one.requests)
    turns = (
        _Column(say("Turns"), lambda one: counted(one.turns), lambda one: one.turns),
        _Column(
            say("Failed turns"),
            lambda one: words.failed(one.failed_turn_count, one.turns),
            lambda one: one.failed_turn_count,
        ),
    )
    turn_time = _Column(say("Time"), lambda one: words.time(one.turn_s), lambda one: one.turn_s)
    calls = (
        _Column(say("Calls"), lambda one: counted(one.calls), lambda one: one.calls),
        _Column(
            say("Failed calls"),
            lambda one: words.failed(one.failed_call_count, one.calls),
            lambda one: one.failed_call_count,
        ),
    )
    sessions = _Column(say("Sessions"), lambda one: counted(one.sessions), lambda one: one.sessions)
    kinds = _Column(say("Errors"), words.errors, lambda one: one.failed_call_count)
    tool_time = _Column(say("Time in all"), lambda one: words.time(one.took.total_s), lambda one: one.took.total_s)
    return {
        "day": (*spent, requests, turn_time, *turns, *calls),
        "model": (*spent, requests, *_percentiles(lambda one: one.answered), *turns),
        "tool": (calls[0], *_percentiles(lambda one: one.took), tool_time, calls[1], kinds),
        "folder": (sessions, *spent, turn_time, *turns, *calls),
    }


def _percentiles(durations: Callable[[Figures], Durations]) -> tuple[_Column, ...]:
    def column(percent: int) -> _Column:
        return _Column(
            f"P{percent}",
            lambda one: words.percentile(durations(one), percent),
            lambda one: durations(one).percentile_s(percent) or 0.0,
        )

    return tuple(column(percent) for percent in (50, 95, 99))


def _cost_order(figures: Figures) -> float:
    """What is not known comes below what is nothing."""
    known = figures.usage.cost_usd
    return -1.0 if known is None else known
