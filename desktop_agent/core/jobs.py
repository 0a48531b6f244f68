"""Background commands: jobs that outlive the tool call that started them, but never the application.

A job's output goes to a log file. A log that exceeds its limit is moved to `<log>.1`, replacing the previous one.
"""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import Job, JobState
from desktop_agent.core.system.processes.child import ChildProcess, first_of, unhurried
from desktop_agent.core.system.processes.output import continuation_bytes, create_private
from desktop_agent.core.system.processes.process_tree import Activity, memory_of
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.system.staged_file import write_all
from desktop_agent.core.terminal.printout import plain_text

LOG_LIMIT_BYTES = 16 * 1024 * 1024


class JobLog:
    """A log file that starts over when it is full. Its methods block."""

    def __init__(self, path: Path, limit_bytes: int = LOG_LIMIT_BYTES) -> None:
        self.path = path
        self._limit_bytes = limit_bytes
        self._file: FileIO | None = None
        self._size = 0

    def open(self) -> None:
        self._file = create_private(self.path)
        self._size = 0

    def write(self, chunk: bytes) -> None:
        """Append `chunk`. On a full disk the output is lost, but the command continues."""
        with suppress(OSError):
            while chunk:
                room = self._limit_bytes - self._size
                if room <= 0:
                    self._start_over()
                    continue
                if self._file is None:
                    return
                write_all(self._file.fileno(), chunk[:room])
                self._size += len(chunk[:room])
                chunk = chunk[room:]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)

    def _start_over(self) -> None:
        self.close()
        self.path.replace(_aside(self.path))
        self.open()


def read_tail(log: Path, max_bytes: int) -> str:
    """Return the end of the output in `log`, whole characters only. Blocks."""
    data = _last_bytes(log, max_bytes)
    if len(data) < max_bytes:
        data = _last_bytes(_aside(log), max_bytes - len(data)) + data
    return data[continuation_bytes(data) :].decode("utf-8", "replace")


def _last_bytes(path: Path, count: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - count))
            return file.read(count)
    except FileNotFoundError:  # never moved aside, or being moved right now
        return b""


def _aside(log: Path) -> Path:
    return log.with_name(f"{log.name}.1")


TAIL_BYTES = 8 * 1024
_LINE_BYTES = 1024


class Jobs:
    """The background commands of one session, oldest first. Ended ones stay listed."""

    def __init__(self, processes: ProcessRunner, clock: Clock, *, folder: Path) -> None:
        self._processes = processes
        self._clock = clock
        self._folder = folder
        self._jobs: dict[str, Job] = {}
        self._running: dict[str, _Running] = {}
        self.on_change: Callable[[], None] | None = None
        """Called on the loop's thread when a job has started or ended."""
        self.on_end: Callable[[str], Awaitable[None]] | None = None
        """Awaited when the job's whole process tree has ended, before `on_change` reports it."""
        self.on_look: Callable[[], Awaitable[None]] | None = None
        """Awaited by `look`; records what the jobs have changed so far."""

    async def start(self, command: Command, *, shown: str, timeout_s: float | None = None) -> Job:
        """Start `command`, shown to people as `shown`. Raises `OSError` if it or its log cannot be started."""
        now = self._clock.now()
        job_id = f"job-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        log = JobLog(self._folder / f"{job_id}.log")
        await asyncio.to_thread(log.open)
        try:
            child = await self._processes.read(command, log.write, types_end=False)
        except BaseException:
            await unhurried(asyncio.to_thread(log.discard))
            raise
        job = Job(id=job_id, command=shown, cwd=command.cwd, pid=child.pid, log=log.path, started_at=now)
        self._jobs[job_id] = job
        running = self._running[job_id] = _Running(child, log)
        running.life = asyncio.create_task(self._see_to_its_end(job_id, running, timeout_s))
        self._say_changed()
        return job

    async def look(self) -> None:
        if self.on_look is not None:
            await self.on_look()

    def list(self) -> tuple[Job, ...]:
        return tuple(self._jobs.values())

    def get(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def activity(self, job_id: str) -> Activity | None:
        running = self._running.get(job_id)
        return running.child.activity if running else None

    async def snapshot(self) -> tuple[Job, ...]:
        """Return every job; running ones with their memory and last line."""
        seen = await asyncio.to_thread(_look_at, [self._jobs[job_id] for job_id in self._running])
        return tuple(seen.get(job.id, job) if job.state == "running" else job for job in self._jobs.values())

    async def tail(self, job_id: str, max_bytes: int = TAIL_BYTES) -> str:
        """Return the end of the job's output. Raises `KeyError` for an unknown id."""
        return await asyncio.to_thread(read_tail, self._jobs[job_id].log, max_bytes)

    async def wait(self, job_id: str, timeout_s: float | None = None) -> Job:
        """Return the job when its whole process tree has ended, or after `timeout_s`.

        Cancelling only stops the waiting. Raises `KeyError` for an unknown id.
        """
        if (running := self._running.get(job_id)) and running.life:
            await asyncio.wait({running.life}, timeout=timeout_s)
        return self._jobs[job_id]

    def ask_to_stop(self, job_id: str) -> None:
        """Begin to end the job's process tree; `on_change` and `wait` report the end. Raises `KeyError`."""
        if running := self._running.get(job_id):
            running.is_stopped = True
            running.child.ask_to_end()
        elif job_id not in self._jobs:
            raise KeyError(job_id)

    async def stop(self, job_id: str) -> Job:
        """End the job's process tree and wait. Raises `KeyError` for an unknown id."""
        self.ask_to_stop(job_id)
        return await unhurried(self.wait(job_id))

    async def aclose(self) -> None:
        await unhurried(asyncio.gather(*map(self.stop, self._running)))

    async def _see_to_its_end(self, job_id: str, running: "_Running", timeout_s: float | None) -> None:
        has_ended = await running.child.wait(timeout_s) or running.child.has_exited
        state: JobState = "stopped" if running.is_stopped else "exited" if has_ended else "timed_out"
        end = await running.child.end()
        if end.excess:
            await asyncio.to_thread(running.log.write, f"\n[stopped: {end.excess}]\n".encode())
        elif end.ended:
            names = ", ".join(sorted(set(end.ended.values())))
            await asyncio.to_thread(running.log.write, f"\n[ended with it: {names}]\n".encode())
        await asyncio.to_thread(running.log.close)
        if self.on_end is not None:
            await self.on_end(job_id)
        job = self._jobs[job_id]
        last_line = await asyncio.to_thread(_last_line, job.log)
        self._jobs[job_id] = replace(
            job, state=state, exit_code=end.exit_code, ended_at=self._clock.now(), last_line=last_line
        )
        del self._running[job_id]
        self._say_changed()

    def _say_changed(self) -> None:
        if self.on_change is not None:
            self.on_change()


class _Running(Struct):
    child: ChildProcess
    log: JobLog
    life: "asyncio.Task[None] | None" = None
    is_stopped: bool = False


def _look_at(jobs: list[Job]) -> dict[str, Job]:
    memory = memory_of([job.pid for job in jobs]) if jobs else {}
    return {job.id: replace(job, memory_bytes=memory[job.pid], last_line=_last_line(job.log)) for job in jobs}


def _last_line(log: Path) -> str:
    """Return the last line that is not blank; empty if it cannot be read. Blocks."""
    with suppress(OSError):
        lines = [line for line in plain_text(read_tail(log, _LINE_BYTES)).splitlines() if line.strip()]
        return lines[-1] if lines else ""
    return ""


EVERY_S = 2.0
"""How many seconds lie between two polls of running jobs."""


class JobReports:
    def __init__(self, jobs: Jobs, log: EventLog, clock: Clock) -> None:
        self._jobs = jobs
        self._log = log
        self._clock = clock
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        jobs.on_change = self._on_change

    async def aclose(self) -> None:
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
            is_anything_running = any(job.state == "running" for job in jobs)
            await first_of(self._changed.wait(), *((self._clock.sleep(EVERY_S),) if is_anything_running else ()))
