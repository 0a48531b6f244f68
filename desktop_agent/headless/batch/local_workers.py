"""Workers on this machine: processes that run one task after another, and are started again when they die."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import asdict

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.headless.batch.tasks import BatchTask, TaskOutcome, WorkerLostError

_LAST_WORDS_BYTES = 2_000


class LocalWorkers:
    def __init__(self, module: str, environ: Mapping[str, str], clock: Clock) -> None:
        """Each process runs `module`, which reads tasks and writes outcomes as JSON lines.

        `environ` includes the keys, like the environment of a run that is started by hand.
        """
        self._module = module
        self._environ = environ
        self._processes = ProcessRunner(clock)
        self._idle: list[_Worker] = []

    async def run(self, task: BatchTask, max_cost_usd: float | None) -> TaskOutcome:
        """Run a task in an idle process. Raises `WorkerLostError`. Cancelling ends the process."""
        worker = self._idle.pop() if self._idle else await self._start()
        try:
            outcome = await worker.run(task, max_cost_usd)
        except BaseException:
            await worker.end()
            raise
        self._idle.append(worker)
        return outcome

    async def aclose(self) -> None:
        await asyncio.gather(*(worker.end() for worker in self._idle))
        await self._processes.aclose()

    async def _start(self) -> "_Worker":
        worker = _Worker()
        command = Command(
            argv=(sys.executable, "-m", self._module), cwd=Path.cwd(), environ=self._environ, takes_input=True
        )
        try:
            worker.child = await self._processes.start(command, worker.take_output, worker.take_errors)
        except OSError as error:
            raise WorkerLostError(f"a worker could not be started: {error}") from error
        return worker


class _Worker:
    def __init__(self) -> None:
        self.child: ChildProcess | None = None
        self._output = bytearray()
        self._errors = b""
        self._answer: asyncio.Future[bytes] | None = None

    async def run(self, task: BatchTask, max_cost_usd: float | None) -> TaskOutcome:
        assert self.child is not None
        self._answer = asyncio.get_running_loop().create_future()
        line = json.dumps({"task": asdict(task), "max_cost": max_cost_usd}, ensure_ascii=False)
        if not await self.child.send(line.encode(errors="backslashreplace") + b"\n"):
            raise WorkerLostError(self._last_words())
        gone = asyncio.create_task(self.child.wait())
        try:
            await asyncio.wait([self._answer, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if not self._answer.done():
            raise WorkerLostError(self._last_words())
        try:
            return TaskOutcome.read(self._answer.result())
        except ValueError as error:
            raise WorkerLostError(f"a worker wrote what is no outcome: {error}") from error

    async def end(self) -> None:
        if self.child is not None:
            await self.child.end()

    def take_output(self, content: bytes) -> None:
        self._output += content
        line, end, rest = self._output.partition(b"\n")
        if end and self._answer is not None and not self._answer.done():
            self._output = rest
            self._answer.set_result(bytes(line))

    def take_errors(self, content: bytes) -> None:
        self._errors = (self._errors + content)[-_LAST_WORDS_BYTES:]

    def _last_words(self) -> str:
        words = self._errors.decode(errors="replace").strip().splitlines()
        return f"a worker died: {words[-1]}" if words else "a worker died"
