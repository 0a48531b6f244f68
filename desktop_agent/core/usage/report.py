"""The usage of all sessions by day, model, tool and folder, as a report and as flat records for programs."""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Literal, TypeVar

from msgspec import Struct, field

from desktop_agent.core.protocol.model import JsonObject, Spending, Usage

T = TypeVar("T")
MICROSECONDS = 1_000_000


class Durations(Struct):
    """A set of durations. `counts` says how often each rounded duration, in microseconds, occurred."""

    counts: dict[int, int] = field(default_factory=dict[int, int])
    total_s: float = 0.0
    """The exact sum, to a microsecond."""

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def percentile_s(self, percent: int) -> float | None:
        """Return the duration, in seconds, that `percent` of all do not exceed (nearest rank); `None` without any."""
        rank = math.ceil(self.count * percent / 100)
        for micros in sorted(self.counts):
            rank -= self.counts[micros]
            if rank <= 0:
                return micros / MICROSECONDS
        return None

    def add(self, duration_s: float) -> None:
        """Count a duration. Zero means that it was not measured."""
        if duration_s > 0:
            micros = rounded(round(duration_s * MICROSECONDS) or 1)
            self.counts[micros] = self.counts.get(micros, 0) + 1
            self.total_s = round(self.total_s + duration_s, 6)

    def add_all(self, durations: "Durations") -> None:
        _add(self.counts, durations.counts)
        self.total_s = round(self.total_s + durations.total_s, 6)


def rounded(micros: int) -> int:
    return round(micros, 2 - len(str(micros))) if micros >= 100 else micros


class ToolUse(Struct, kw_only=True):
    """The calls of one tool that ended on one day."""

    day: date
    """In UTC, as costs are counted."""
    tool: str
    calls: int = 0
    failed: dict[str, int] = field(default_factory=dict[str, int])
    """By the kind of error."""
    took: Durations = field(default_factory=Durations)
    """Without waits for the user."""


class ModelUse(Struct, kw_only=True):
    """What one model did on one day, apart from its tokens and their cost."""

    day: date
    provider: str
    model: str
    answered: Durations = field(default_factory=Durations)
    """From the request to the arrival, including all tries."""
    turns: int = 0
    ends: dict[str, int] = field(default_factory=dict[str, int])
    turn_s: float = 0.0


class SessionFigures(Struct, frozen=True, kw_only=True):
    workspace: str
    spending: tuple[Spending, ...]
    tools: tuple[ToolUse, ...]
    models: tuple[ModelUse, ...]


Grouping = Literal["day", "model", "tool", "folder"]
GROUPINGS: tuple[Grouping, ...] = ("day", "model", "tool", "folder")

FAILED_ENDS = frozenset(
    {"tool_error", "fatal_tool_error", "provider_error", "storage_error", "workspace_error", "internal_error"}
)

Key = tuple[str, ...]
"""The subject of a row: the day, the provider and the model, the tool, or the folder."""


class Figures(Struct, kw_only=True):
    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    failed_turns: dict[str, int] = field(default_factory=dict[str, int])
    turn_s: float = 0.0
    answered: Durations = field(default_factory=Durations)
    calls: int = 0
    failed_calls: dict[str, int] = field(default_factory=dict[str, int])
    took: Durations = field(default_factory=Durations)
    sessions: int = 0

    @property
    def failed_turn_count(self) -> int:
        return sum(self.failed_turns.values())

    @property
    def failed_call_count(self) -> int:
        return sum(self.failed_calls.values())

    def add(self, use: Spending | ModelUse | ToolUse) -> None:
        match use:
            case Spending():
                self.requests += use.requests
                self.usage += use.usage
            case ModelUse():
                self.turns += use.turns
                self.turn_s += use.turn_s
                self.answered.add_all(use.answered)
                _add(self.failed_turns, {reason: count for reason, count in use.ends.items() if reason in FAILED_ENDS})
            case ToolUse():
                self.calls += use.calls
                self.took.add_all(use.took)
                _add(self.failed_calls, use.failed)


class UsageReport(Struct, frozen=True, kw_only=True):
    first: date | None
    last: date
    total: Figures
    spending: tuple[Spending, ...]
    days: dict[Key, Figures]
    models: dict[Key, Figures]
    tools: dict[Key, Figures]
    folders: dict[Key, Figures]

    def rows(self, by: Grouping) -> dict[Key, Figures]:
        return {"day": self.days, "model": self.models, "tool": self.tools, "folder": self.folders}[by]


def report_of(sessions: Iterable[SessionFigures], first: date | None, last: date) -> UsageReport:
    """Add up the sessions' usage from the day `first` to `last`, the day of the report, in UTC."""
    total = Figures()
    spending, days, models, tools, folders = (defaultdict[Key, Figures](Figures) for _ in range(5))
    for session in sessions:
        counted: set[int] = set()
        for use in (*session.spending, *session.models, *session.tools):
            if first is not None and use.day < first:
                continue
            day = use.day.isoformat()
            if isinstance(use, Spending):
                spending[day, use.provider, use.model].add(use)
            own = tools[(use.tool,)] if isinstance(use, ToolUse) else models[use.provider, use.model]
            for one in (total, days[(day,)], folders[(session.workspace,)], own):
                one.add(use)
                if id(one) not in counted:
                    counted.add(id(one))
                    one.sessions += 1
    return UsageReport(
        first=first,
        last=last,
        total=total,
        spending=tuple(
            Spending(
                day=date.fromisoformat(day), provider=provider, model=model, requests=one.requests, usage=one.usage
            )
            for (day, provider, model), one in sorted(spending.items())
        ),
        days=dict(sorted(days.items())),
        models=_largest_first(models, _tokens),
        tools=_largest_first(tools, lambda one: one.took.total_s),
        folders=_largest_first(folders, _tokens),
    )


def _add(sums: dict[T, int], counts: Mapping[T, int]) -> None:
    for kind, count in counts.items():
        sums[kind] = sums.get(kind, 0) + count


def _tokens(one: Figures) -> float:
    return one.usage.context_tokens


def _largest_first(sums: dict[Key, Figures], size: Callable[[Figures], float]) -> dict[Key, Figures]:
    return dict(sorted(sums.items(), key=lambda item: (-size(item[1]), item[0])))


_KEY_NAMES: dict[Grouping, tuple[str, ...]] = {
    "day": ("day",),
    "model": ("provider", "model"),
    "tool": ("tool",),
    "folder": ("folder",),
}
_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def records(report: UsageReport, by: Grouping) -> list[JsonObject]:
    """Return a flat record for each row. Unknown values are null in JSON and empty in CSV, and never 0."""
    return [_record(by, key, figures) for key, figures in report.rows(by).items()]


def csv_text(rows: Iterable[JsonObject]) -> str:
    """Return records as CSV with a header (RFC 4180). A `'` precedes what a spreadsheet takes for a formula."""
    listed = list(rows)
    if not listed:
        return ""
    written = io.StringIO()
    writer = csv.DictWriter(written, fieldnames=list(listed[0]))
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in listed)
    return written.getvalue()


def total_record(figures: Figures) -> JsonObject:
    return {**_spent(figures), **_turns(figures), **_calls(figures), "sessions": figures.sessions}


def _record(by: Grouping, key: Key, figures: Figures) -> JsonObject:
    head: JsonObject = dict(zip(_KEY_NAMES[by], key, strict=True))
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
    return {"turns": figures.turns, "failed_turns": figures.failed_turn_count, "turn_s": round(figures.turn_s, 3)}


def _calls(figures: Figures) -> JsonObject:
    return {"calls": figures.calls, "failed_calls": figures.failed_call_count, "tool_s": round(figures.took.total_s, 3)}


def _percentiles(prefix: str, durations: Durations) -> JsonObject:
    return {f"{prefix}p{percent}_s": durations.percentile_s(percent) for percent in (50, 95, 99)}


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_STARTS_A_FORMULA) else value
