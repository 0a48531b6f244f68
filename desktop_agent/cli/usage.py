"""What `desktop-agent costs --by` prints: the use of all sessions by day, model, tool or folder."""

from collections.abc import Callable, Mapping

from desktop_agent.cli.console import Console, table
from desktop_agent.core.base.plain_text import cost_text, duration_text
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.usage.report import Durations, Figures, Grouping, UsageReport, records, total_record

_Column = tuple[str, Callable[[Figures], str]]


def _cost(figures: Figures) -> str:
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
    ("cost", _cost),
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
    """Print a report by one thing; `span` says which days it is about."""
    first = report.first.isoformat() if report.first is not None else None
    document: JsonObject = {"from": first, "by": by, "usage": records(report, by), "total": total_record(report.total)}
    console.result(document, _text(report, by, span))


def _text(report: UsageReport, by: Grouping, span: str) -> str:
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
