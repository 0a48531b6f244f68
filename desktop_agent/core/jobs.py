"""Background commands: jobs that outlive the tool call that started them, but never the application.

A session owns one `Jobs`. Closing it ends every job's whole process tree.

A job's output (both streams, as written) goes to a log file of its own. A log that grows beyond its limit is moved
aside to `<log>.1`, replacing what was there, so that a job that prints for ever keeps its newest output and the disk.
"""

import asyncio
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from desktop_agent.core.clock import Clock
from desktop_agent.core.model import Job, JobState
from desktop_agent.core.process import Command, ProcessRunner
from desktop_agent.core.process_child import ChildProcess, unhurried
from desktop_agent.core.process_output import BackgroundWriter, continuation_bytes, create_private, write_all

if TYPE_CHECKING:
    from io import FileIO

LOG_LIMIT_BYTES = 16 * 1024 * 1024
"""When a log is moved aside. A job takes at most twice this, and one read, on disk."""

TAIL_BYTES = 8 * 1024


class Jobs:
    """The background commands of one session, oldest first. Ended ones stay listed."""

    def __init__(self, processes: ProcessRunner, clock: Clock, *, folder: Path) -> None:
        """Keep logs in `folder`, which is created when the first job starts."""
        self._processes = processes
        self._clock = clock
        self._folder = folder
        self._jobs: dict[str, Job] = {}
        self._running: dict[str, _Running] = {}

    async def start(self, command: Command, *, shown: str, timeout_s: float | None = None) -> Job:
        """Start `command`, which people read as `shown`. It runs until it ends, is stopped, or `timeout_s` passes.

        Raises `OSError` when it, or its log, cannot be started.
        """
        now = self._clock.now()
        job_id = f"job-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        log = _Log(self._folder / f"{job_id}.log")
        await asyncio.to_thread(log.open)
        writer = BackgroundWriter(log.write)
        try:
            child = await self._processes.start(command, writer.feed)
        except BaseException:
            await unhurried(asyncio.to_thread(log.discard))
            raise
        job = Job(id=job_id, command=shown, cwd=command.cwd, pid=child.pid, log=log.path, started_at=now)
        self._jobs[job_id] = job
        running = self._running[job_id] = _Running(child, log, writer)
        running.life = asyncio.create_task(self._see_to_its_end(job_id, running, timeout_s))
        return job

    def list(self) -> tuple[Job, ...]:
        """Return every job of the session, in the order they were started."""
        return tuple(self._jobs.values())

    def get(self, job_id: str) -> Job | None:
        """Return the job, or None when there is none of that id."""
        return self._jobs.get(job_id)

    async def tail(self, job_id: str, max_bytes: int = TAIL_BYTES) -> str:
        """Return the end of what the job has printed. Raises `KeyError` for an unknown id."""
        job = self._jobs[job_id]
        if running := self._running.get(job_id):
            await running.writer.flush()
        return await asyncio.to_thread(_read_tail, job.log, max_bytes)

    async def wait(self, job_id: str) -> Job:
        """Return the job once nothing of it runs any more. Raises `KeyError` for an unknown id."""
        if (running := self._running.get(job_id)) and running.life:
            await asyncio.wait({running.life})
        return self._jobs[job_id]

    async def stop(self, job_id: str) -> Job:
        """End the job's process tree if it still runs; return when it is gone. Raises `KeyError` for an unknown id."""
        if running := self._running.get(job_id):
            running.is_stopped = True
            running.child.ask_to_end()
        return await unhurried(self.wait(job_id))

    async def aclose(self) -> None:
        """End every job, and return when they are gone."""
        await unhurried(asyncio.gather(*map(self.stop, self._running)))

    async def _see_to_its_end(self, job_id: str, running: "_Running", timeout_s: float | None) -> None:
        has_ended = await running.child.wait(timeout_s) or running.child.has_exited
        state: JobState = "stopped" if running.is_stopped else "exited" if has_ended else "timed_out"
        end = await running.child.end()
        await running.writer.flush()
        await asyncio.to_thread(running.log.close)
        job = self._jobs[job_id]
        self._jobs[job_id] = replace(job, state=state, exit_code=end.exit_code, ended_at=self._clock.now())
        del self._running[job_id]


@dataclass(slots=True)
class _Running:
    """What a job needs while it runs."""

    child: ChildProcess
    log: "_Log"
    writer: BackgroundWriter
    life: "asyncio.Task[None] | None" = None
    is_stopped: bool = False


class _Log:
    """A log file that starts over when it is full. Its methods block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None
        self._size = 0

    def open(self) -> None:
        """Create it, private to the person."""
        self._file = create_private(self.path)
        self._size = 0

    def write(self, chunks: Sequence[bytes]) -> None:
        """Append `chunks`."""
        for chunk in chunks:
            if self._size + len(chunk) > LOG_LIMIT_BYTES:
                self.close()
                self.path.replace(self.path.with_name(f"{self.path.name}.1"))
                self.open()
            assert self._file is not None
            write_all(self._file, chunk)
            self._size += len(chunk)

    def close(self) -> None:
        """Close it."""
        if self._file is not None:
            self._file.close()

    def discard(self) -> None:
        """Close and remove it."""
        self.close()
        self.path.unlink(missing_ok=True)


def _read_tail(log: Path, max_bytes: int) -> str:
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - max_bytes))
        data = file.read(max_bytes)
    return data[continuation_bytes(data) :].decode("utf-8", "replace")
