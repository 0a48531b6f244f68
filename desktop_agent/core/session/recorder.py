"""The only way to record an event: numbered, written to the journal, folded, and only then sent to the front end.

Records keep the order of their `record` calls. A record is completed even if its caller is cancelled.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.store.journal.journal import Journal

Sink = Callable[[ev.Event], None]
"""Receives events for a front end. Called on the event loop's thread; must not block or raise."""

_LATER = (
    ev.TurnStarted,
    ev.UsageReported,
    ev.ToolCallFinished,
    ev.Notice,
    ev.ReviewMarked,
    ev.GuidanceLoaded,
    ev.CommandRun,
)
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
