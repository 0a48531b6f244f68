"""Reports background commands to the front ends: when one starts or ends, and every moment while one runs."""

import asyncio

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.jobs.background import Jobs
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog

EVERY_S = 2.0
"""How often a running job's memory and last line are looked at."""


class JobReports:
    """Reports the jobs of one session from its first job on."""

    def __init__(self, jobs: Jobs, log: EventLog, clock: Clock) -> None:
        self._jobs = jobs
        self._log = log
        self._clock = clock
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        jobs.on_change = self._on_change

    async def aclose(self) -> None:
        """Stop reporting."""
        self._jobs.on_change = None
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def _on_change(self) -> None:
        self._changed.set()
        if self._task is None:
            self._task = asyncio.create_task(self._report(), name="job reports")

    async def _report(self) -> None:
        while True:
            self._changed.clear()
            jobs = await self._jobs.snapshot()
            self._log.emit(ev.JobsReported(jobs=jobs))
            await self._wait(is_anything_running=any(job.state == "running" for job in jobs))

    async def _wait(self, *, is_anything_running: bool) -> None:
        """Return when a job started or ended, or, while one runs, when it is time to look again."""
        waits: list[asyncio.Task[object]] = [asyncio.create_task(self._changed.wait())]
        if is_anything_running:
            waits.append(asyncio.create_task(self._clock.sleep(EVERY_S)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
