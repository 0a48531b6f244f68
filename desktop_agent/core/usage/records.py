"""The rows of a report as flat records, for programs: JSON objects, and CSV for spreadsheets.

What is not known is null in JSON and empty in CSV, never 0. Durations are in seconds, costs in US dollars.
"""

import csv
import io
from collections.abc import Iterable

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.usage.durations import Durations
from desktop_agent.core.usage.report import Figures, Grouping, Key, UsageReport

_NAMES: dict[Grouping, tuple[str, ...]] = {
    "day": ("day",),
    "model": ("provider", "model"),
    "tool": ("tool",),
    "folder": ("folder",),
}
_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def records(report: UsageReport, by: Grouping) -> list[JsonObject]:
    """Return a record for each row, in the order of the report."""
    return [_record(by, key, figures) for key, figures in report.rows(by).items()]


def csv_text(rows: Iterable[JsonObject]) -> str:
    """Return records as CSV with a heading (RFC 4180); nothing for none.

    A name that a spreadsheet would take for a formula, because a model or a server made it up, gets a `'` before it.
    """
    listed = list(rows)
    if not listed:
        return ""
    written = io.StringIO()
    writer = csv.DictWriter(written, fieldnames=list(listed[0]))
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in listed)
    return written.getvalue()


def total_record(figures: Figures) -> JsonObject:
    """Return what all of it comes to."""
    return {**_spent(figures), **_turns(figures), **_calls(figures), "sessions": figures.sessions}


def _record(by: Grouping, key: Key, figures: Figures) -> JsonObject:
    head: JsonObject = dict(zip(_NAMES[by], key, strict=True))
    match by:
        case "day":
            return {**head, **_spent(figures), **_turns(figures), **_calls(figures)}
        case "model":
            return {**head, **_spent(figures), **_turns(figures), **_percentiles("answer_", figures.answered)}
        case "tool":
            failed: JsonObject = {f"failed_{kind}": figures.failed_calls.get(kind, 0) for kind in _ERRORS}
            return {**head, **_calls(figures), **failed, **_percentiles("", figures.took)}
        case "folder":
            return {**head, "sessions": figures.sessions, **_spent(figures), **_turns(figures), **_calls(figures)}


_ERRORS = ("validation", "not_found", "permission", "recoverable", "fatal")
"""The kinds of errors of calls, from what the model got wrong to what went wrong."""


def _spent(figures: Figures) -> JsonObject:
    usage = figures.usage
    return {
        "requests": figures.requests,
        "input_tokens": usage.input_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd if figures.requests else 0.0,
        "unpriced_tokens": usage.context_tokens if usage.cost_usd is None else usage.unpriced_tokens,
    }


def _turns(figures: Figures) -> JsonObject:
    return {"turns": figures.turns, "failed_turns": figures.failed_turn_count, "turn_s": figures.turn_s}


def _calls(figures: Figures) -> JsonObject:
    return {"calls": figures.calls, "failed_calls": figures.failed_call_count, "tool_s": figures.took.total_s}


def _percentiles(prefix: str, durations: Durations) -> JsonObject:
    return {f"{prefix}p{percent}_s": durations.percentile_s(percent) for percent in (50, 95, 99)}


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_STARTS_A_FORMULA) else value
