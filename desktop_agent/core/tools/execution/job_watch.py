"""Records what background commands and servers change while no call waits for them (`writers`)."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import StorageError, ToolError
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.capture.capture import Snapshot, StatCapture
from desktop_agent.core.capture.safety import SafetyReport
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import FileChange, Uncaptured
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.system.processes.process_tree import Activity
from desktop_agent.core.tools.execution.recording import ChangeFinder
from desktop_agent.core.tools.execution.writers import Maker, RunningServer, WatchedJob, Writers

SEE_EVERY_S = 0.25
"""In seconds. Attribution of changes by file times is no more precise."""
_LEAST_PAUSE_S = 1.0
_SHARE = 20
"""Looks for which only a server's writing is the reason may take one part in this many of the time."""

_MOST_PAUSES = 10
"""How often programs with an open file are resumed and paused again. Some always keep a file open."""
_RUNS_ON_S = 0.003

T = TypeVar("T")


class JobWatch:
    def __init__(self, writers: Writers, finder: ChangeFinder, capture: StatCapture, log: EventLog) -> None:
        self._writers = writers
        self._finder = finder
        self._capture = capture
        self._log = log
        self._clock = SystemClock()
        self._watching: asyncio.Task[None] | None = None
        self.looking = asyncio.Lock()
        """Held while the folder is captured or written to, so that no change is attributed to the wrong writer."""
        self.is_command_running = False
        """Whether a command runs that is itself followed by a look."""
        self.activity_of: Callable[[str], Activity | None] = lambda _: None
        self.servers: Callable[[], Iterable[RunningServer]] = tuple
        self.ended_ns: int | None = None
        """When the last process of a killed application ended, by the clock of files; None if unknown."""
        self.forget_end: Callable[[], object] = lambda: None
        """Called when `ended_ns` is not needed any more. Blocks."""
        self.see_to_end: Callable[[], Awaitable[object]] | None = None
        """Awaited when something may write late, so that its end is recorded even if this process is killed."""

    async def begin(self, job_id: str, job: WatchedJob) -> bool:
        """Return False if the job is unknown or has ended. The caller holds the lock."""
        if not job_id or self._writers.has_ended(job_id):
            return False
        await self._log.record(_begun(Maker(job.turn, job.call_id, job.author), job.snapshot))
        job.activity = self.activity_of(job_id)
        self._writers.jobs[job_id] = job
        self._ensure_watching()
        return True

    def note_turn(self, turn: int) -> None:
        self._writers.turn = turn
        self._writers.note_servers(self.servers())
        if self._writers.has_servers:
            self._ensure_watching()

    def note_call(self, server: str, call_id: CallId) -> None:
        """Attribute the server's later changes to this call of the newest turn."""
        if server:
            self._writers.note_call(server, self._writers.turn, call_id)

    async def look(self) -> None:
        """Record what the programs changed. Does nothing while a command runs, which records the changes itself."""
        if self._writers:
            async with self.looking:
                await to_its_end(self.look_now(), "look at what writes late")

    async def end(self, job_id: str) -> None:
        async with self.looking:
            self._writers.end(job_id)
            with suppress(StorageError):
                await self.look_now()

    async def aclose(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
        async with self.looking:
            if (snapshot := self._writers.snapshot) is not None:
                with suppress(StorageError):
                    await self.look_now()
                    turn = self._writers.turn
                    await self._log.record(ev.ChangesRecorded(turn=turn, call_id="", changes=(), is_last_look=True))
                self._writers.snapshot = None
                await asyncio.to_thread(self._capture.release, snapshot)

    def is_watching(self, call_id: CallId) -> bool:
        if not call_id:
            return self._writers.snapshot is not None
        return any(job.call_id == call_id for job in self._writers.jobs.values())

    @property
    def is_watching_any(self) -> bool:
        return bool(self._writers) or self._writers.has_servers

    async def conclude(self, left: Iterable[ev.ChangesPrepared], paths: Mapping[CallId, Collection[str]]) -> None:
        """Record what the background commands and servers of a killed process changed after the last look.

        They ended with that process, so later changes are the user's. For files in `paths`, the author is unknown.
        """
        async with self.looking:
            for one in left:
                job = WatchedJob(
                    turn=one.turn,
                    call_id=one.call_id,
                    snapshot=Snapshot(one.snapshot or 0),
                    author=one.author,
                    paths=set(paths.get(one.call_id, ())),
                    ended_ns=self.ended_ns,
                    has_ended=True,
                )
                self._writers.jobs[one.call_id] = job
            await to_its_end(self.look_now(), "conclude what a killed process left")
            await asyncio.to_thread(self.forget_end)

    async def look_now(self, *, is_forced: bool = False) -> None:
        """Do nothing while a command runs. `is_forced` includes idle servers. The caller holds the lock."""
        if not self._writers or self.is_command_running:
            return
        self._writers.note_servers(self.servers())
        if not (is_forced or self._writers.jobs or self._writers.have_servers_run()):
            return
        snapshot = next((job.snapshot for job in self._writers.jobs.values()), self._writers.snapshot)
        assert snapshot is not None
        found = await asyncio.to_thread(self._finder.collect, self._writers.turn, "", snapshot, SafetyReport())
        await self.record(found.by_maker, found.lost)  # a repository that a program made is in `lost`
        await self.advance(snapshot)

    @asynccontextmanager
    async def undisturbed(self) -> AsyncGenerator[None]:
        """Pause the watched programs, and record what they wrote until then.

        Otherwise, their writes between the reading and the writing of a file would count as the user's, or be lost.
        """
        async with self.looking:
            paused = self._writers.activities
            try:
                await asyncio.to_thread(_pause, paused, str(self._writers.root))
                await self.look_now()
                yield
                await self.look_now(is_forced=True)
            finally:
                await unhurried(asyncio.to_thread(_resume, paused))

    async def record(self, found: Mapping[Maker, tuple[FileChange, ...]], lost: tuple[Uncaptured, ...]) -> None:
        """Record each maker's changes. `lost`, what could not be captured, is recorded with the newest job."""
        left = dict(found)
        for job in reversed(tuple(self._writers.jobs.values())):
            changes = left.pop(job.maker, ())
            job.paths.update(change.path for change in changes)
            if changes or lost or job.has_ended:
                event = ev.ChangesRecorded(
                    turn=job.turn, call_id=job.call_id, changes=changes, uncaptured=lost, is_last_look=job.has_ended
                )
                await self._log.record(event)
            lost = ()
        if lost and not left:
            await self._log.record(ev.ChangesRecorded(turn=self._writers.turn, call_id="", changes=(), uncaptured=lost))
        for maker, changes in left.items():
            event = ev.ChangesRecorded(turn=maker.turn, call_id=maker.call_id, changes=changes, uncaptured=lost)
            await self._log.record(event)
            lost = ()

    async def advance(self, to: Snapshot, *, is_bracketed: bool = False) -> None:
        """From now on, compare with the snapshot `to`, and drop ended jobs. `is_bracketed`: a call made the changes."""
        jobs = tuple(self._writers.jobs.values())
        snapshots = [job.snapshot for job in jobs]
        if self._writers.snapshot is not None:
            snapshots.append(self._writers.snapshot)
        if snapshots:
            await asyncio.to_thread(self._capture.advance, snapshots, to)
        for job in jobs:
            if job.has_ended:
                await asyncio.to_thread(self._capture.release, job.snapshot)
        await asyncio.to_thread(self._writers.skip if is_bracketed else self._writers.end_look)

    async def keep(self, snapshot: Snapshot) -> bool:
        """Keep and record a call's snapshot, to find what servers change later. False if that is not needed."""
        if not self._writers.has_servers or self._writers.snapshot is not None:
            return False
        if self.see_to_end is not None:
            await self.see_to_end()
        await self._log.record(_begun(Maker(self._writers.turn, "", "unknown"), snapshot))
        self._writers.snapshot = snapshot
        return True

    def _ensure_watching(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch_programs(), name="who writes late")

    async def _watch_programs(self) -> None:
        pause_s, is_due = _LEAST_PAUSE_S, False
        looked_s = self._clock.monotonic()
        while self._writers.jobs or self._writers.has_servers:
            await self._clock.sleep(SEE_EVERY_S)
            self._writers.note_servers(self.servers())
            ran = [activity for activity in self._writers.activities if not activity.is_idle()]
            if ran:
                await asyncio.to_thread(_look_at, ran)
            if self.is_command_running or self._writers.snapshot is None:
                continue
            is_due = is_due or self._writers.is_server_among(ran)
            begun_s = self._clock.monotonic()
            if not is_due or (ran and begun_s - looked_s < _LEAST_PAUSE_S) or begun_s - looked_s < pause_s:
                continue
            is_due = False
            with suppress(StorageError):
                await self.look()
            looked_s = self._clock.monotonic()
            pause_s = max(_LEAST_PAUSE_S, _SHARE * (looked_s - begun_s))


def _begun(maker: Maker, snapshot: Snapshot) -> ev.ChangesPrepared:
    return ev.ChangesPrepared(
        turn=maker.turn,
        call_id=maker.call_id,
        purpose="apply",
        changes=(),
        snapshot=snapshot.number,
        is_background=True,
        author=maker.author,
    )


def _pause(activities: Collection[Activity], root: str) -> None:
    for is_last in (*(False for _ in range(_MOST_PAUSES)), True):
        for activity in activities:
            activity.pause()
        if is_last or not any(activity.is_writing_in(root) for activity in activities):
            return
        _resume(activities)
        time.sleep(_RUNS_ON_S)  # noqa: TID251 - for programs, which know no clock of ours


def _resume(activities: Iterable[Activity]) -> None:
    for activity in activities:
        activity.resume()


def _look_at(activities: Iterable[Activity]) -> None:
    for activity in activities:
        activity.look()


async def to_its_end(work: Coroutine[object, object, T], name: str) -> T:
    """Await `work` like `unhurried`. Errors such as a full disk are reported even when cancelled."""
    task = asyncio.create_task(work, name=name)
    try:
        return await unhurried(task)
    except asyncio.CancelledError:
        with suppress(ToolError):  # the call is answered as stopped
            task.result()
        raise
