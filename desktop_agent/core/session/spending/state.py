"""What a session spent, day by day, and how far the user let it go: a fold of its journal."""

from datetime import UTC, date, datetime

from msgspec import Struct, field

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import SpendingQuestion, Usage


class SpendingState(Struct):
    """The sums of one journal. What a fork copied was spent, and allowed, elsewhere."""

    by_day: dict[date, Usage] = field(default_factory=dict[date, Usage])
    """By the day in UTC, as vendors count them."""
    session_until_usd: float = 0.0
    """How much the user let the session spend in all, when it asked; 0 when it never did."""
    day_until: tuple[date, float] | None = None
    """The last day on which it asked, and how much the user let all sessions spend on it."""

    @property
    def total_usd(self) -> float:
        """What the session spent, as far as it is known."""
        return sum(self.by_day.values(), Usage()).cost_usd or 0.0

    def usage_on(self, day: date) -> Usage:
        """What the session took on a day."""
        return self.by_day.get(day, Usage())

    def until_usd_on(self, day: date) -> float:
        """How much the user let all sessions spend on a day; 0 when this one did not ask."""
        return self.day_until[1] if self.day_until is not None and self.day_until[0] == day else 0.0

    def apply(self, event: ev.Event) -> None:
        """Fold one event in."""
        match event:
            case ev.UsageReported(at=at, usage=usage):
                day = day_of(at)
                self.by_day[day] = self.usage_on(day) + usage
            case ev.SessionForked():
                self.by_day.clear()
                self.session_until_usd, self.day_until = 0.0, None
            case _:
                pass

    def go_on(self, question: SpendingQuestion) -> None:
        """Fold in that the user said yes."""
        if question.limit == "session_usd":
            self.session_until_usd = question.until_usd
        else:
            self.day_until = (question.day, question.until_usd)


def day_of(moment: datetime) -> date:
    """Return the day in UTC. A time without a zone, as in a journal that another program wrote, is UTC."""
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC).date()
