"""`desktop-agent costs`: the cost of sessions, by day and model; with `--by`, their usage grouped otherwise."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, timedelta
from typing import TypeVar

from desktop_agent.cli.console import Console, table
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import cost_text, duration_text, number_of, shortened
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import JsonObject, Spending, Usage
from desktop_agent.core.store.digest import merged
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.usage.journal_usage import UsageReader
from desktop_agent.core.usage.report import Durations, Figures, Grouping, UsageReport, records, report_of, total_record

T = TypeVar("T")

_Column = tuple[str, Callable[[Figures], str]]
_SpendingColumn = tuple[str, Callable[[Figures | Spending], str]]
_MOST_NAME = 48


def _cost(usage: Usage) -> str:
    return cost_text(usage.cost_usd, is_partial=usage.is_cost_partial) or "not known"


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({100 * part / whole:.0f} %)" if part else "0"


def _cached(usage: Usage) -> str:
    return f"{round(100 * usage.cache_read_tokens / (usage.all_input_tokens or 1))} %"


def _time(seconds: float) -> str:
    return duration_text(seconds) if seconds else "0"


def _percentile(durations: Durations, percent: int) -> str:
    found = durations.percentile_s(percent)
    return duration_text(found) if found is not None else "-"


_TOKENS: tuple[_SpendingColumn, ...] = (
    ("requests", lambda one: f"{one.requests:,}"),
    ("read", lambda one: f"{one.usage.all_input_tokens:,}"),
    ("written", lambda one: f"{one.usage.output_tokens:,}"),
)
_PRICE: _SpendingColumn = ("cost", lambda one: _cost(one.usage) if one.requests else "$0.00")
_SPENDING: tuple[_SpendingColumn, ...] = (*_TOKENS, ("from cache", lambda one: _cached(one.usage)), _PRICE)
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
    "day": (*_TOKENS, _PRICE, *_TURNS, *_CALLS),
    "model": (
        *_TOKENS,
        _PRICE,
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
    "folder": (("sessions", lambda one: f"{one.sessions:,}"), *_TOKENS, _PRICE, *_TURNS, *_CALLS),
}
_HEADINGS: Mapping[Grouping, tuple[str, ...]] = {
    "day": ("day (UTC)",),
    "model": ("provider", "model"),
    "tool": ("tool",),
    "folder": ("folder",),
}


def main(args: argparse.Namespace, console: Console) -> None:
    today = SystemClock().now().astimezone(UTC).date()
    try:
        first = today - timedelta(days=args.days - 1)
    except OverflowError:
        raise UsageError(f"There are no {args.days} days to look back.") from None
    folder = str(real_path(args.workspace.expanduser())) if args.workspace is not None else None
    span = "today" if args.days == 1 else f"the last {number_of(args.days, 'day')}"
    paths = AppPaths.from_environment()
    catalog = SessionCatalog.of(paths)
    document: JsonObject = {"from": first.isoformat()}
    if args.by is not None:
        sessions = [one for one in UsageReader.of(paths, catalog).read() if folder in (None, one.workspace)]
        report = report_of(sessions, first, today)
        document |= {"by": args.by, "usage": records(report, args.by), "total": total_record(report.total)}
        console.result(document, _usage_text(report, args.by, span))
    else:
        known = [summary for summary in catalog.summaries() if folder in (None, summary.workspace)]
        spending = merged(one for summary in known for one in summary.spending if one.day >= first)
        total = sum((one.usage for one in spending), Usage())
        document |= {"costs": [*map(encode, spending)], "total": encode(total)}
        console.result(document, _spending_text(spending, total, span))


def _usage_text(report: UsageReport, by: Grouping, span: str) -> str:
    rows = report.rows(by)
    if not rows:
        return f"Nothing of {span} is recorded."
    return _table(_HEADINGS[by], _COLUMNS[by], reversed(rows.items()) if by == "day" else rows.items())


def _spending_text(spending: Sequence[Spending], total: Usage, span: str) -> str:
    if not spending:
        return f"No request of {span} is recorded."
    rows = [
        ((one.day.isoformat(), shortened(one.provider, _MOST_NAME), shortened(one.model, _MOST_NAME)), one)
        for one in reversed(spending)
    ]
    shown = _table(("day (UTC)", "provider", "model"), _SPENDING, rows)
    requests = number_of(sum(one.requests for one in spending), "request")
    sum_line = f"{span[0].upper()}{span[1:]}: {requests}, {_cost(total)}."
    if unpriced := total.unpriced_tokens:
        sum_line += f" The price of {number_of(unpriced, 'token')} is not known: the cost is higher."
    return f"{shown}\n\n{sum_line}"


def _table(
    keys: Sequence[str], columns: Sequence[tuple[str, Callable[[T], str]]], rows: Iterable[tuple[Sequence[str], T]]
) -> str:
    lines = [
        (*keys, *(heading for heading, _ in columns)),
        *((*key, *(text(one) for _, text in columns)) for key, one in rows),
    ]
    return table(lines, right=range(len(keys), len(lines[0])))
