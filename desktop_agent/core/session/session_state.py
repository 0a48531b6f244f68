"""Everything a session knows about itself: the folds of its journal."""

from datetime import UTC, date, datetime

from msgspec import Struct, field

from desktop_agent.core.context.history import History
from desktop_agent.core.context.history_fold import HistoryFold
from desktop_agent.core.policy.offers import rules_of
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Allowed, Rule, SpendingQuestion, Usage
from desktop_agent.core.store.unfinished import Unfinished
from desktop_agent.core.tools.read_log import ReadLog
from desktop_agent.core.transcript import Transcript


class SpendingState(Struct):
    """How much this session has spent and may spend, without the cost of copied turns of a fork."""

    by_day: dict[date, Usage] = field(default_factory=dict[date, Usage])
    """By the day in UTC, as vendors count days."""
    session_until_usd: float = 0.0
    """How much the user allowed this session to spend in all; 0 if never asked."""
    day_until: tuple[date, float] | None = None
    """The last day on which the user was asked, and how much all sessions may spend on that day."""

    @property
    def total_usd(self) -> float:
        return sum(self.by_day.values(), Usage()).cost_usd or 0.0

    def usage_on(self, day: date) -> Usage:
        return self.by_day.get(day, Usage())

    def until_usd_on(self, day: date) -> float:
        return self.day_until[1] if self.day_until is not None and self.day_until[0] == day else 0.0

    def apply(self, event: ev.Event) -> None:
        match event:
            case ev.UsageReported(at=at, usage=usage):
                day = day_of(at)
                self.by_day[day] = self.usage_on(day) + usage
            case ev.SessionForked():
                self.by_day.clear()
                self.session_until_usd, self.day_until = 0.0, None
            case _:
                pass

    def allow_more(self, question: SpendingQuestion) -> None:
        if question.limit == "session_usd":
            self.session_until_usd = question.until_usd
        else:
            self.day_until = (question.day, question.until_usd)


def day_of(moment: datetime) -> date:
    """Return the day in UTC. A time without a zone counts as UTC."""
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC).date()


class SessionState(Struct):
    transcript: Transcript = field(default_factory=Transcript)
    history: History = field(default_factory=History)
    unfinished: Unfinished = field(default_factory=Unfinished)
    reads: ReadLog = field(default_factory=ReadLog)
    spending: SpendingState = field(default_factory=SpendingState)
    rules: dict[str, Rule] = field(default_factory=dict[str, Rule])

    def clear(self) -> None:
        empty, whole = Transcript(), self.transcript  # which others hold, too
        whole.turns, whole.changed, whole.context, whole.shown = empty.turns, empty.changed, empty.context, empty.shown
        self.history.fold = HistoryFold()
        self.reads.seen.clear()

    def apply(self, event: ev.Event) -> None:
        asked = self.transcript.turns.waiting.get(event.call_id) if isinstance(event, ev.ApprovalResolved) else None
        self.transcript.apply(event)
        self.history.fold.apply(event)
        self.unfinished.apply(event)
        self.reads.apply(event)
        self.spending.apply(event)
        match event:
            case ev.ApprovalResolved(decision=Allowed()) if asked is not None and asked.spending is not None:
                self.spending.allow_more(asked.spending)
            case ev.ApprovalResolved(decision=Allowed() as answer) if asked is not None:
                made = rules_of(asked, answer, now=event.at, workspace=self.transcript.session.workspace)
                self.rules |= {rule.id: rule for rule in made if rule.scope == "session"}
            case ev.RuleRevoked(rule_id=rule_id):
                self.rules.pop(rule_id, None)
            case ev.SessionForked():
                self.rules.clear()  # decided for the session that this is a copy of, not for this one
            case _:
                pass
