"""The use of all sessions since a day, added up by day, model, tool and folder."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from typing import Literal

from msgspec import Struct, field

from desktop_agent.core.protocol.model import Spending, Usage
from desktop_agent.core.usage.durations import Durations, DurationSum
from desktop_agent.core.usage.uses import ModelUse, SessionFigures, ToolUse

Grouping = Literal["day", "model", "tool", "folder"]
GROUPINGS: tuple[Grouping, ...] = ("day", "model", "tool", "folder")

FAILED_ENDS = frozenset(
    {"tool_error", "fatal_tool_error", "provider_error", "storage_error", "workspace_error", "internal_error"}
)
"""Ends of turns that are errors; a limit or a stop is none."""

Key = tuple[str, ...]
"""What a row is about: the day, the provider and the model, the tool, or the folder."""


class Figures(Struct, frozen=True, kw_only=True):
    """What was used. What a row cannot know is 0: a tool has no tokens, a model no calls."""

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    failed_turns: dict[str, int] = field(default_factory=dict[str, int])
    """By the reason why they ended."""
    turn_s: float = 0.0
    answered: Durations = field(default_factory=Durations)
    calls: int = 0
    failed_calls: dict[str, int] = field(default_factory=dict[str, int])
    """By the kind of error."""
    took: Durations = field(default_factory=Durations)
    """The calls."""
    sessions: int = 0
    """How many have a part in it."""

    @property
    def failed_turn_count(self) -> int:
        """How many turns ended with an error."""
        return sum(self.failed_turns.values())

    @property
    def failed_call_count(self) -> int:
        """How many calls failed."""
        return sum(self.failed_calls.values())


class UsageReport(Struct, frozen=True, kw_only=True):
    """All figures of a period, each group in the order in which people read it."""

    first: date | None
    """None: from the beginning."""
    last: date
    total: Figures
    spending: tuple[Spending, ...]
    """By day, then by model."""
    days: dict[Key, Figures]
    """Those with any use, the oldest first."""
    models: dict[Key, Figures]
    """The most tokens first."""
    tools: dict[Key, Figures]
    """The most time first."""
    folders: dict[Key, Figures]
    """The most tokens first."""

    def rows(self, by: Grouping) -> dict[Key, Figures]:
        """The figures of one grouping, by what each row is about."""
        return {"day": self.days, "model": self.models, "tool": self.tools, "folder": self.folders}[by]


def report_of(sessions: Iterable[SessionFigures], first: date | None, last: date) -> UsageReport:
    """Add up what these sessions used from the day `first` on; `last` is the day of the report. Both are in UTC."""
    sums = _Sums(first, last)
    for session in sessions:
        sums.add(session)
    return sums.report()


class _Sums:
    """The sums so far."""

    def __init__(self, first: date | None, last: date) -> None:
        self._first, self._last = first, last
        self._total = _Sum()
        self._spending = defaultdict[tuple[date, str, str], _Sum](_Sum)
        self._days = defaultdict[Key, _Sum](_Sum)
        self._models = defaultdict[Key, _Sum](_Sum)
        self._tools = defaultdict[Key, _Sum](_Sum)
        self._folders = defaultdict[Key, _Sum](_Sum)

    def add(self, session: SessionFigures) -> None:
        """Count a session, wherever it has a part."""
        parts: set[int] = set()
        for spent in session.spending:
            if self._is_wanted(spent.day):
                own = self._spending[(spent.day, spent.provider, spent.model)]
                own.spend(spent)
                for one in self._shared(spent.day, session, self._model(spent)):
                    one.spend(spent)
                    self._count(one, parts)
        for model in session.models:
            if self._is_wanted(model.day):
                for one in self._shared(model.day, session, self._model(model)):
                    one.use_model(model)
                    self._count(one, parts)
        for tool in session.tools:
            if self._is_wanted(tool.day):
                for one in self._shared(tool.day, session, self._tools[(tool.tool,)]):
                    one.use_tool(tool)
                    self._count(one, parts)

    def report(self) -> UsageReport:
        """Return what they come to."""
        spending = (
            Spending(day=day, provider=provider, model=model, requests=one.requests, usage=one.usage)
            for (day, provider, model), one in sorted(self._spending.items(), key=lambda item: item[0])
        )
        return UsageReport(
            first=self._first,
            last=self._last,
            total=self._total.figures(),
            spending=tuple(spending),
            days={key: one.figures() for key, one in sorted(self._days.items())},
            models=_sorted(self._models, _tokens),
            tools=_sorted(self._tools, lambda one: one.took.total_s),
            folders=_sorted(self._folders, _tokens),
        )

    def _is_wanted(self, day: date) -> bool:
        return self._first is None or day >= self._first

    def _model(self, of: Spending | ModelUse) -> "_Sum":
        return self._models[(of.provider, of.model)]

    def _shared(self, day: date, session: SessionFigures, own: "_Sum") -> "tuple[_Sum, ...]":
        """Return every sum that something of a session on a day belongs to, its own among them."""
        by_day = self._days[(day.isoformat(),)]
        return self._total, by_day, self._folders[(session.workspace,)], own

    def _count(self, one: "_Sum", parts: set[int]) -> None:
        if id(one) not in parts:
            parts.add(id(one))
            one.sessions += 1


class _Sum:
    """Figures that are still being added up, in place."""

    def __init__(self) -> None:
        self.requests = self.turns = self.calls = self.sessions = 0
        self.usage = Usage()
        self.turn_s = 0.0
        self._failed_turns: dict[str, int] = {}
        self._failed_calls: dict[str, int] = {}
        self._answered, self._took = DurationSum(), DurationSum()

    def spend(self, spent: Spending) -> None:
        self.requests += spent.requests
        self.usage += spent.usage

    def use_model(self, use: ModelUse) -> None:
        self.turns += use.turns
        self.turn_s += use.turn_s
        self._answered.add_all(use.answered)
        _add(self._failed_turns, {reason: count for reason, count in use.ends.items() if reason in FAILED_ENDS})

    def use_tool(self, use: ToolUse) -> None:
        self.calls += use.calls
        self._took.add_all(use.took)
        _add(self._failed_calls, use.failed)

    def figures(self) -> Figures:
        """Return them."""
        return Figures(
            requests=self.requests,
            usage=self.usage,
            turns=self.turns,
            failed_turns=self._failed_turns,
            turn_s=round(self.turn_s, 3),
            answered=self._answered.durations(),
            calls=self.calls,
            failed_calls=self._failed_calls,
            took=self._took.durations(),
            sessions=self.sessions,
        )


def _add(sums: dict[str, int], counts: dict[str, int]) -> None:
    for kind, count in counts.items():
        sums[kind] = sums.get(kind, 0) + count


def _tokens(one: Figures) -> float:
    return one.usage.context_tokens


def _sorted(sums: dict[Key, _Sum], size: Callable[[Figures], float]) -> dict[Key, Figures]:
    """Return the figures, the largest first."""
    found = [(key, one.figures()) for key, one in sums.items()]
    return dict(sorted(found, key=lambda item: (-size(item[1]), item[0])))
