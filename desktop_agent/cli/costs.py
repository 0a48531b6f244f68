"""`desktop-agent costs`: what the sessions cost, by day and model; with `--by`, their usage grouped otherwise."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, timedelta

from desktop_agent.cli.console import Console, table
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import cost_text, duration_text, number_of, shortened
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import JsonObject, Spending, Usage
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.digest import merged
from desktop_agent.core.usage.journal_usage import UsageReader
from desktop_agent.core.usage.report import Durations, Figures, Grouping, UsageReport, records, report_of, total_record

_Column = tuple[str, Callable[[Figures], str]]


def _figures_cost(figures: Figures) -> str:
    if not figures.requests:
        return "$0.00"
    return cost_text(figures.usage.cost_usd, is_partial=figures.usage.is_cost_partial) or "not known"


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({100 * part / whole:.0f} %)" if part else "0"


def _time(seconds: float) -> str:
    return duration_text(seconds) if seconds else "0"


def _percentile(durations: Durations, percent: int) -> str:
    found = durations.percentile_s(percent)
    return duration_text(found) if found is not None else "-"


_COST: tuple[_Column, ...] = (
    ("requests", lambda one: f"{one.requests:,}"),
    ("read", lambda one: f"{one.usage.all_input_tokens:,}"),
    ("written", lambda one: f"{one.usage.output_tokens:,}"),
    ("cost", _figures_cost),
)
_TURNS: tuple[_Column, ...] = (
    ("turns", lambda one: f"{one.turns:,}"),
    ("failed", lambda one: f"{one.failed_turn_count:,}"),
    ("time", lambda one: _time(one.turn_s)),
)
_CALLS: tuple[_Column, ...] = (
    ("calls", lambda one: f"{one.calls:,}"),
    ("failed", lambda one: _share(one.failed_call_count, one.calls)),
)
_COLUMNS: Mapping[Grouping, tuple[_Column, ...]] = {
    "day": (*_COST, *_TURNS, *_CALLS),
    "model": (
        *_COST,
        *_TURNS[:2],
        ("answer P50", lambda one: _percentile(one.answered, 50)),
        ("P95", lambda one: _percentile(one.answered, 95)),
        ("P99", lambda one: _percentile(one.answered, 99)),
    ),
    "tool": (
        *_CALLS,
        ("P50", lambda one: _percentile(one.took, 50)),
        ("P95", lambda one: _percentile(one.took, 95)),
        ("P99", lambda one: _percentile(one.took, 99)),
        ("time", lambda one: _time(one.took.total_s)),
    ),
    "folder": (("sessions", lambda one: f"{one.sessions:,}"), *_COST, *_TURNS, *_CALLS),
}
_HEADINGS: Mapping[Grouping, tuple[str, ...]] = {
    "day": ("day (UTC)",),
    "model": ("provider", "model"),
    "tool": ("tool",),
    "folder": ("folder",),
}


def print_usage(console: Console, report: UsageReport, by: Grouping, span: str) -> None:
    """`span` says which days the report covers."""
    first = report.first.isoformat() if report.first is not None else None
    document: JsonObject = {"from": first, "by": by, "usage": records(report, by), "total": total_record(report.total)}
    console.result(document, _usage_text(report, by, span))


def _usage_text(report: UsageReport, by: Grouping, span: str) -> str:
    rows = report.rows(by)
    if not rows:
        return f"Nothing of {span} is recorded."
    keys, columns = _HEADINGS[by], _COLUMNS[by]
    listed = reversed(rows.items()) if by == "day" else rows.items()
    lines = [
        (*keys, *(heading for heading, _ in columns)),
        *((*key, *(text(figures) for _, text in columns)) for key, figures in listed),
    ]
    return table(lines, right=range(len(keys), len(lines[0])))


_UNKNOWN = "not known"
_MOST_NAME = 48
"""Characters, to leave room for the figures: nothing limits what a provider calls its models."""
_HEADING = ("day (UTC)", "provider", "model", "requests", "read", "written", "from cache", "cost")
_NUMBERS = (3, 4, 5, 6, 7)


def main(args: argparse.Namespace, console: Console) -> int:
    today = SystemClock().now().astimezone(UTC).date()
    try:
        first = today - timedelta(days=args.days - 1)
    except OverflowError:
        raise UsageError(f"There are no {args.days} days to look back.") from None
    folder = str(real_path(args.workspace.expanduser())) if args.workspace is not None else None
    paths = AppPaths.from_environment()
    catalog = Catalog.of(paths)
    if args.by is not None:
        sessions = UsageReader.of(paths, catalog).read()
        wanted = [session for session in sessions if folder in (None, session.workspace)]
        print_usage(console, report_of(wanted, first, today), args.by, _span(args.days))
        return 0
    known = [summary for summary in catalog.summaries() if folder in (None, summary.workspace)]
    spending = merged(one for summary in known for one in summary.spending if one.day >= first)
    total = sum((one.usage for one in spending), Usage())
    document: JsonObject = {"from": first.isoformat(), "costs": [*map(encode, spending)], "total": encode(total)}
    console.result(document, _text(spending, total, args.days))
    return 0


def _text(spending: Sequence[Spending], total: Usage, days: int) -> str:
    span = _span(days)
    if not spending:
        return f"No request of {span} is recorded."
    rows = [_HEADING, *map(_row, reversed(spending))]
    requests = number_of(sum(one.requests for one in spending), "request")
    sum_line = f"{span[0].upper()}{span[1:]}: {requests}, {_cost(total)}."
    if unpriced := total.unpriced_tokens:
        sum_line += f" The price of {number_of(unpriced, 'token')} is not known: the cost is higher."
    return f"{table(rows, right=_NUMBERS)}\n\n{sum_line}"


def _span(days: int) -> str:
    return "today" if days == 1 else f"the last {number_of(days, 'day')}"


def _row(one: Spending) -> tuple[str, ...]:
    usage = one.usage
    share = round(100 * usage.cache_read_tokens / (usage.all_input_tokens or 1))
    return (
        one.day.isoformat(),
        shortened(one.provider, _MOST_NAME),
        shortened(one.model, _MOST_NAME),
        f"{one.requests:,}",
        f"{usage.all_input_tokens:,}",
        f"{usage.output_tokens:,}",
        f"{share} %",
        _cost(usage),
    )


def _cost(usage: Usage) -> str:
    return cost_text(usage.cost_usd, is_partial=usage.is_cost_partial) or _UNKNOWN
