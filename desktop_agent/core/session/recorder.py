"""Records the events of a session, and folds them into what the session knows.

This is the only way to record an event: numbered, written to the journal, folded, and only then sent to the front end.
Records keep the order of their `record` calls. A record is completed even if its caller is cancelled.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime
from functools import partial

from msgspec import Struct, field

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.context.history import History
from desktop_agent.core.context.history_fold import HistoryFold
from desktop_agent.core.policy.offers import rules_of
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Allowed, Rule, SpendingQuestion, Usage
from desktop_agent.core.store.journal.journal import Journal
from desktop_agent.core.store.unfinished import Unfinished
from desktop_agent.core.tools.tool import ReadLog
from desktop_agent.core.transcript import Transcript

Sink = Callable[[ev.Event], None]
"""Receives events for a front end. Called on the event loop's thread; must not block or raise."""

_LATER = (
    ev.TurnStarted, ev.UsageReported, ev.ToolCallFinished, ev.Notice, ev.ReviewMarked, ev.GuidanceLoaded,
    ev.CommandRun, ev.HookRan, ev.DiagnosticsFound,
)  # fmt: skip
"""Events that no caller waits to see on disk. They are written together with the next event of another type."""

_captured: ContextVar[list[ev.KnownEvent] | None] = ContextVar("captured", default=None)


@contextmanager
def capture_events() -> Generator[list[ev.KnownEvent]]:
    """Yield a list that collects the events that this task, and the tasks it starts, record from now on.

    Notices go into the list *instead of* the journal, because the caller reports them in other words.
    """
    captured: list[ev.KnownEvent] = []
    token = _captured.set(captured)
    try:
        yield captured
    finally:
        _captured.reset(token)


class Recorder:
    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        last_seq: int,
        folds: Sequence[Callable[[ev.Event], object]],
        sink: Sink,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._seq = last_seq
        self._folds = folds
        self._sink = sink
        self._observer: Sink | None = None
        self._order = asyncio.Lock()
        # A thread of its own: whatever other sessions keep the shared ones busy with, this one's records come through.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._writing: set[asyncio.Task[None]] = set()
        self._is_sealed = False

    async def record(self, event: ev.KnownEvent) -> None:
        """Write `event`, then send it to the front end. Cancelling the caller does not cancel the write."""
        if self._is_sealed:
            return
        captured = _captured.get()
        if captured is not None and isinstance(event, ev.Notice):
            captured.append(event)
            return
        task = asyncio.create_task(self._write(event), name=f"record {event.type}")
        self._writing.add(task)
        task.add_done_callback(self._on_written)
        await asyncio.shield(task)
        if captured is not None:
            captured.append(event)

    def observe(self, observer: Sink | None) -> None:
        """From now on, send every event to `observer` as well, after the front end."""
        self._observer = observer

    def fold_into(self, fold: Callable[[ev.Event], object]) -> None:
        """From now on, give every event to `fold` as well, before the front end."""
        self._folds = (*self._folds, fold)

    def seal(self) -> None:
        """Record nothing from now on, as if the process had been killed."""
        self._is_sealed = True

    def emit(self, event: ev.LiveEvent) -> None:
        for fold in self._folds:
            fold(event)
        self._tell(event)

    def tell_unrecorded(self, event: ev.KnownEvent) -> None:
        """Send the front end an event that cannot be written. No fold receives it."""
        self._tell(event.stamped(0, self._clock.now()))

    async def aclose(self) -> None:
        while self._writing:
            await asyncio.wait(self._writing)
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._journal.close)
        finally:
            self._thread.shutdown(wait=False)

    async def _write(self, event: ev.KnownEvent) -> None:
        async with self._order:
            at = self._clock.now() if event.at == ev.UNSTAMPED else event.at
            stamped = event.stamped(self._seq + 1, at)
            append = partial(self._journal.append, stamped, is_durable=not isinstance(event, _LATER))
            await asyncio.get_running_loop().run_in_executor(self._thread, append)
            self._seq += 1
            for fold in self._folds:
                fold(stamped)
            self._tell(stamped)

    def _tell(self, event: ev.Event) -> None:
        self._sink(event)
        if self._observer is not None:
            self._observer(event)

    def _on_written(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        # A caller that was cancelled no longer asks for the outcome; the next record will meet the same failure.
        if not task.cancelled() and task.exception() is not None and not isinstance(task.exception(), StorageError):
            asyncio.get_running_loop().call_exception_handler(
                {"message": "A record failed unexpectedly.", "exception": task.exception(), "task": task}
            )


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
