"""What background commands change is put on record while they run, each as the work of the call that started it."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import TypeVar

from desktop_agent.core.base.errors import StorageError, ToolError
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.capture.safety import SafetyReport
from desktop_agent.core.capture.stat_capture import StatCapture
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import FileChange, Uncaptured
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.execution.found_changes import ChangeFinder
from desktop_agent.core.tools.execution.watched_jobs import WatchedJob, WatchedJobs

T = TypeVar("T")


class JobWatch:
    """Looks at the background commands of one session."""

    def __init__(self, jobs: WatchedJobs, finder: ChangeFinder, capture: StatCapture, log: EventLog) -> None:
        self._jobs = jobs
        self._finder = finder
        self._capture = capture
        self._log = log
        self.looking = asyncio.Lock()
        """Held by who looks at the folder or writes in it, so that no job is given what a call is writing."""
        self.is_command_running = False
        """Whether a command runs whose own look, when it ends, separates its changes from theirs."""

    async def begin(self, job_id: str, job: WatchedJob) -> bool:
        """Watch a job from its snapshot on; False when it is none, or has ended already. Under the lock."""
        if not job_id or self._jobs.has_ended(job_id):
            return False
        event = ev.ChangesPrepared(
            turn=job.turn,
            call_id=job.call_id,
            purpose="apply",
            changes=(),
            snapshot=job.snapshot.number,
            is_background=True,
        )
        await self._log.record(event)
        self._jobs.add(job_id, job)
        return True

    async def look(self) -> None:
        """Record what background commands have changed so far, each as the work of the call that started it.

        Does nothing while another command runs: its own look, when it ends, separates them.
        """
        if self._jobs:
            async with self.looking:
                await to_its_end(self.look_now(), "look at jobs")

    async def end(self, job_id: str) -> None:
        """Record what a background command has changed to its end. A full disk is reported with the next record."""
        async with self.looking:
            self._jobs.end(job_id)
            with suppress(StorageError):
                await self.look_now()

    def is_watching(self, call_id: CallId) -> bool:
        """Whether the background command of this call is looked after, so that its end will be recorded."""
        return self._jobs.is_watched(call_id)

    @property
    def is_watching_any(self) -> bool:
        """Whether any background command is looked after."""
        return bool(self._jobs)

    async def conclude(self, turn: int, call_id: CallId, snapshot: Snapshot) -> None:
        """Record what the background command of a killed process changed after the last look at it."""
        async with self.looking:
            self._jobs.add(call_id, WatchedJob(turn, call_id, snapshot, has_ended=True))
            await to_its_end(self.look_now(), f"conclude {call_id}")

    async def look_now(self) -> None:
        """Look at the jobs, if no other command runs. Under the lock."""
        if not self._jobs or self.is_command_running:
            return
        snapshot = self._jobs.all[0].snapshot
        found = await asyncio.to_thread(self._finder.collect, 0, "", snapshot, SafetyReport())
        await self.record(found.by_call, found.lost)  # a repository that one made is among the lost
        await self.advance(snapshot)

    async def record(self, found: Mapping[CallId, tuple[FileChange, ...]], lost: tuple[Uncaptured, ...]) -> None:
        """Put on record what the jobs changed; `lost` is said of the youngest."""
        for job in reversed(self._jobs.all):
            changes = found.get(job.call_id, ())
            job.paths.update(change.path for change in changes)
            if changes or lost or job.has_ended:
                event = ev.ChangesRecorded(
                    turn=job.turn,
                    call_id=job.call_id,
                    changes=changes,
                    uncaptured=lost,
                    is_last_look=job.has_ended,
                )
                await self._log.record(event)
            lost = ()

    async def advance(self, to: Snapshot) -> None:
        """Go on from what was just recorded, and let go of the jobs that have ended."""
        if self._jobs:
            snapshots = [job.snapshot for job in self._jobs.all]
            await asyncio.to_thread(self._capture.advance, snapshots, to)
        for job in self._jobs.all:
            if job.has_ended:
                await asyncio.to_thread(self._capture.release, job.snapshot)
        self._jobs.forget_ended()


async def to_its_end(work: Coroutine[object, object, T], name: str) -> T:
    """Await `work` like `unhurried`, but let a full disk be heard of also when we are cancelled.

    Otherwise the call would be answered, and its turn ended, while files are still being written.
    """
    task = asyncio.create_task(work, name=name)
    try:
        return await unhurried(task)
    except asyncio.CancelledError:
        with suppress(ToolError):  # the call is answered as stopped
            task.result()
        raise
