"""What a session spent, by day and model: sums over the requests of its journal."""

from collections.abc import Iterable
from datetime import date
from typing import TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.model import DayAllowance, SessionSummary, Spending, SpendingQuestion, Usage
from desktop_agent.core.protocol.model.usage import COST_DIGITS
from desktop_agent.core.store.journal.journal_mark import moment_of
from desktop_agent.core.store.journal.line_heads import Reported

_Key = tuple[bytes, str, str]
"""The day as its date in bytes, the provider, the model; these are empty where nothing tells who answered."""


class SpendingSums:
    """The sums so far, after those that a summary knows."""

    def __init__(self, known: SessionSummary | None) -> None:
        self._before = known.usage if known is not None else Usage()
        self._known = known.spending if known is not None else ()
        self._sums: dict[_Key, _Sum] = {}

    def add(self, at: bytes, reported: Reported) -> None:
        """Count a request of a moment, as its line writes it."""
        day = at[:10] if at.endswith(b"Z") else moment_of(at.decode()).date().isoformat().encode()
        model, usage = reported.model, reported.usage
        key = (day, model.provider, model.model) if model is not None else (day, "", "")
        if (one := self._sums.get(key)) is None:
            self._sums[key] = one = _Sum()
        # In place, and not as `Usage` adds: there are many requests in many journals.
        one.requests += 1
        one.input += usage.input_tokens
        one.output += usage.output_tokens
        one.read += usage.cache_read_tokens
        one.written += usage.cache_write_tokens
        one.searches += usage.web_searches
        if usage.cost_usd is not None:
            one.priced += 1
            one.cost_usd += usage.cost_usd
            one.unpriced += usage.unpriced_tokens
        else:
            one.unpriced += usage.context_tokens

    def pay_elsewhere(self) -> None:
        """What was counted so far is a copy: another session paid for it."""
        self._before = self.total().paid_elsewhere()
        self._known = ()
        self._sums.clear()

    def total(self) -> Usage:
        """The sum of all."""
        return sum((one.usage() for one in self._sums.values()), self._before)

    def by_day_and_model(self) -> tuple[Spending, ...]:
        """What is known of each model, by day.

        A request whose model is not recorded is left out: it is older than prices, or was paid elsewhere.
        """
        new = [
            Spending(
                day=moment_of(day.decode()).date(),
                provider=provider,
                model=model,
                requests=one.requests,
                usage=one.usage(),
            )
            for (day, provider, model), one in self._sums.items()
            if provider
        ]
        return merged([*self._known, *new])


def merged(spending: Iterable[Spending]) -> tuple[Spending, ...]:
    """Return one for each day and model, by day, then by provider and model."""
    sums: dict[tuple[date, str, str], Spending] = {}
    for one in spending:
        key = (one.day, one.provider, one.model)
        if (sum_of := sums.get(key)) is None:
            sums[key] = one
        else:
            sums[key] = replace(one, requests=sum_of.requests + one.requests, usage=sum_of.usage + one.usage)
    return tuple(sums[key] for key in sorted(sums))


def usage_on(day: date, sessions: Iterable[SessionSummary]) -> Usage:
    """Return what sessions took on a day in UTC."""
    return sum((one.usage for session in sessions for one in session.spending if one.day == day), Usage())


def until_usd_on(day: date, sessions: Iterable[SessionSummary]) -> float:
    """Return how much the user let all sessions spend on a day, in whichever they were asked; 0 when in none."""
    allowed = (session.allowance for session in sessions)
    return max((one.until_usd for one in allowed if one is not None and one.day == day), default=0.0)


class DayAllowances:
    """What the user allowed for a day, in the lines of one journal after those that a summary knows."""

    def __init__(self, known: SessionSummary | None) -> None:
        self.given = known.allowance if known is not None else None
        self.asked = known.asked_allowance if known is not None else None

    def ask(self, line: bytes) -> None:
        """Fold in an `approval_requested`."""
        if _ASKS_FOR_A_DAY not in line:
            return  # as nearly all of them, whose diffs are long
        asked = _read(line, _ASKED)
        question = asked.request.spending if asked is not None else None
        if asked is not None and question is not None and question.limit == "day_usd":
            call_id = asked.request.call_id
            self.asked = DayAllowance(day=question.day, until_usd=question.until_usd, call_id=call_id)

    def answer(self, line: bytes) -> None:
        """Fold in an `approval_resolved`."""
        if self.asked is None or (answer := _read(line, _ANSWERED)) is None or answer.call_id != self.asked.call_id:
            return
        if answer.decision.outcome == "allowed":
            self.given = replace(self.asked, call_id="")
        self.asked = None

    def end_turn(self) -> None:
        """No question outlives its turn."""
        self.asked = None

    def clear(self) -> None:
        """What was allowed so far is a copy: it was allowed in another session."""
        self.given = self.asked = None


class _AskedRequest(Struct, frozen=True):
    call_id: str
    spending: SpendingQuestion | None = None


class _Asked(Struct, frozen=True):
    """What an `approval_requested` says of spending."""

    request: _AskedRequest


class _Decision(Struct, frozen=True):
    outcome: str


class _Answered(Struct, frozen=True):
    """What an `approval_resolved` says."""

    call_id: str
    decision: _Decision


_ASKED, _ANSWERED = Decoder(learned(_Asked)), Decoder(learned(_Answered))
_ASKS_FOR_A_DAY = b"day_usd"
_Line = TypeVar("_Line", _Asked, _Answered)


def _read(line: bytes, decoder: Decoder[_Line]) -> _Line | None:
    try:
        return decoder.decode(line)
    except (DecodeError, RecursionError):
        return None


class _Sum:
    """One sum."""

    __slots__ = ("cost_usd", "input", "output", "priced", "read", "requests", "searches", "unpriced", "written")

    def __init__(self) -> None:
        self.requests = self.priced = self.unpriced = 0
        self.input = self.output = self.read = self.written = self.searches = 0
        self.cost_usd = 0.0

    def usage(self) -> Usage:
        """Return it as everybody reads it."""
        return Usage(
            input_tokens=self.input,
            output_tokens=self.output,
            cache_read_tokens=self.read,
            cache_write_tokens=self.written,
            web_searches=self.searches,
            cost_usd=round(self.cost_usd, COST_DIGITS) if self.priced else None,
            unpriced_tokens=self.unpriced if self.priced else 0,
        )
