"""The tasks of a batch and their outcomes, each a line with a JSON object, and how they are handed to the workers.

An interrupted batch continues from its file of outcomes.
"""

import asyncio
import json
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import asdict, replace

from desktop_agent.core.base.errors import AgentError, StorageError, UsageError
from desktop_agent.core.base.file_names import real_path_named
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.plain_text import money
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.worktrees.variants import VariantCheck

FIELDS = ("id", "workspace", "prompt", "options", "test", "worktree")


class BatchTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    workspace: str
    """A folder, or the address of a git repository. A relative folder is relative to the file with the tasks."""
    prompt: str
    options: JsonObject = field(default_factory=dict[str, object])
    """Options of `run` by their long names: `{"provider": "demo", "max-turns": 3, "dry-run": true}`."""
    test: str = ""
    """A command to run in the folder after the task. It is confined like the model's, and what it changes is undone."""
    worktree: str = ""
    """The name of a worktree to make and run in. Unlike a copy, it stays."""


def read_tasks(path: Path, check: Callable[[BatchTask], object]) -> tuple[BatchTask, ...]:
    """Return the tasks of a file. `check` raises `UsageError` for invalid options. Blocks. Raises `UsageError`."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # not at Unicode's line ends, which JSON may contain
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The tasks {path} cannot be read: {error}.") from error
    tasks = tuple(_tasks_in(lines, path, check))
    if not tasks:
        raise UsageError(f"There is no task in {path}.", hint="Write one JSON object a line: id, workspace, prompt.")
    return tasks


def _tasks_in(lines: Iterable[str], path: Path, check: Callable[[BatchTask], object]) -> Iterable[BatchTask]:
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            task = convert(json.loads(line), learned(BatchTask))
        except ValidationError as error:
            raise UsageError(f"{where} is no task: {error}.", hint=f"Its fields are {', '.join(FIELDS)}.") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{where} is no JSON object: {error}.") from error
        if not task.id or not task.prompt.strip() or not task.workspace:
            raise UsageError(f"{where}: id, workspace and prompt may not be empty.")
        if task.id in seen:
            raise UsageError(f"{where} has the id {task.id!r} of line {seen[task.id]}.")
        seen[task.id] = number
        try:
            check(task)
        except UsageError as error:
            raise UsageError(f"{where}: {error.title}", hint=error.hint, detail=error.detail) from error
        if "://" not in task.workspace:
            place = path.absolute().parent / real_path_named(task.workspace).expanduser()
            task = replace(task, workspace=str(place))
        yield task


def is_address(workspace: str) -> bool:
    return "://" in workspace or workspace.endswith(".git")


class TaskOutcome(Struct, frozen=True, kw_only=True):
    """One result. `session_id` is `None` if nothing ran, because the worker died or there was no folder."""

    id: str
    exit_code: int
    stopped_reason: str
    final_response: str = ""
    session_id: str | None = None
    patch: str = ""
    """The run's changes, as a patch for `git apply`. The original folder is unchanged."""
    usage: JsonObject = field(default_factory=dict[str, object])
    cost: float | None = None
    problems: tuple[str, ...] = ()
    test: VariantCheck | None = None
    worktree: str = ""
    output: object = None
    duration_s: float = 0.0
    attempts: int = 1

    @property
    def is_worth_a_retry(self) -> bool:
        return self.stopped_reason in ("provider_error", "storage_error", "internal_error")

    def line(self) -> str:
        test = asdict(self.test) | {"is_passed": self.test.is_passed} if self.test is not None else None
        return json.dumps({**asdict(self), "problems": list(self.problems), "test": test}, ensure_ascii=False)

    @classmethod
    def read(cls, line: str | bytes) -> "TaskOutcome":
        """Parse a result, ignoring unknown fields. Raises `ValueError`."""
        try:
            return convert(json.loads(line), learned(cls))
        except ValidationError as error:
            raise ValueError(str(error)) from error


def failed(task_id: str, reason: str, problem: str, *, exit_code: int = 1, attempts: int = 1) -> TaskOutcome:
    return TaskOutcome(id=task_id, exit_code=exit_code, stopped_reason=reason, problems=(problem,), attempts=attempts)


class WorkerLostError(Exception):
    pass


class Workers(Protocol):
    """A pool of workers. It runs as many tasks at once as the coordinator gives it."""

    async def run(self, task: BatchTask, max_cost_usd: float | None) -> TaskOutcome:
        """Run a task to its end, at a cost of at most `max_cost_usd`. Cancelling stops the task.

        Raises `WorkerLostError`, and `AgentError` when no further task can be run.
        """
        ...

    async def aclose(self) -> None: ...


class Results:
    def __init__(self, write: Callable[[str], None], done: Iterable[TaskOutcome] = ()) -> None:
        """`write` is called with each line, without its end."""
        self._write = write
        self.done = {outcome.id: outcome for outcome in done}
        """The results, by the id of the task."""

    def add(self, outcome: TaskOutcome) -> None:
        """Write a result to the file. Only then it counts. Blocks. Raises `AgentError` when it cannot be written."""
        self._write(outcome.line())
        self.done[outcome.id] = outcome


@contextmanager
def results_in(path: Path) -> Generator[Results]:
    """Lock the file for one batch, and read its results, without a torn last line. Blocks. Raises `UsageError`."""
    if path.exists() and not path.is_file():  # a device or pipe may have no end to read to
        raise UsageError(f"The results {path} cannot be read: it is no regular file.")
    lock = FileLock(path.with_name(f"{path.name}.lock"), thread_local=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UsageError(f"Another batch writes {path}.", hint="Wait for its end, or name another file.") from error
    except OSError as error:
        raise UsageError(f"The results {path} cannot be written: {error.strerror}.") from error
    try:
        yield Results(partial(_append, path), _results_so_far(path))
    finally:
        lock.release()


def _results_so_far(path: Path) -> list[TaskOutcome]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise UsageError(f"The results {path} cannot be read: {error.strerror}.") from error
    *lines, rest = content.split(b"\n")
    done: list[TaskOutcome] = []
    for number, line in enumerate(lines, 1):
        try:
            done.append(TaskOutcome.read(line))
        except (ValueError, RecursionError) as error:
            hint = "Name another file with --output."
            raise UsageError(f"{path}, line {number} is no result.", hint=hint, detail=str(error)) from error
    if rest:
        with path.open("r+b") as file:
            file.truncate(len(content) - len(rest))
    return done


def _append(path: Path, line: str) -> None:
    try:
        with path.open("ab") as file:
            file.write(line.encode(errors="backslashreplace") + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StorageError(
            f"The results {path} could not be written, so the batch was stopped.",
            hint="Free some disk space, and run the same command again: it continues where it stopped.",
            detail=str(error),
        ) from error


class BatchOptions(Struct, frozen=True, kw_only=True):
    workers: int
    retries: int = 1
    max_cost_usd: float | None = None
    """What all tasks of the results file together may cost; `None` for no limit."""


class BatchSummary(Struct, frozen=True, kw_only=True):
    tasks: int
    done: int
    skipped: int
    failed: int
    cost_usd: float | None
    stopped: str = ""
    """Why tasks were left out: `interrupted` or `limit`; empty if all were run."""

    @property
    def exit_code(self) -> int:
        if self.stopped:
            return {"interrupted": 130, "limit": 4}[self.stopped]
        return 1 if self.failed else 0


class Batch:
    """One batch of tasks. Call `run` once."""

    def __init__(
        self,
        tasks: Sequence[BatchTask],
        results: Results,
        workers: Workers,
        options: BatchOptions,
        on_progress: Callable[[BatchSummary], None],
    ) -> None:
        self._tasks = tasks
        self._results = results
        self._workers = workers
        self._options = options
        self._on_progress = on_progress
        self._left = [task for task in reversed(tasks) if task.id not in results.done]
        self._skipped = len(tasks) - len(self._left)
        self._stopped = ""
        self._error: AgentError | None = None
        self._pulling: list[asyncio.Task[None]] = []

    def interrupt(self) -> None:
        """Stop the running tasks. They get no result, so the next batch runs them again."""
        self._stopped = "interrupted"
        for pulling in self._pulling:
            pulling.cancel()

    async def run(self) -> BatchSummary:
        """Run every task without a result. Raises `AgentError` if no result can be written, or no task can be run."""
        self._on_progress(self.summary)
        count = min(self._options.workers, len(self._left))
        if not self._stopped:
            self._pulling = [asyncio.create_task(self._pull(), name=f"batch {number}") for number in range(count)]
        ended = await asyncio.gather(*self._pulling, return_exceptions=True)
        if self._error is not None:
            raise self._error
        for one in ended:
            if isinstance(one, Exception):
                raise one
        return self.summary

    @property
    def summary(self) -> BatchSummary:
        done = [self._results.done[task.id] for task in self._tasks if task.id in self._results.done]
        costs = [outcome.cost for outcome in done if outcome.cost is not None]
        return BatchSummary(
            tasks=len(self._tasks),
            done=len(done),
            skipped=self._skipped,
            failed=sum(outcome.exit_code != 0 for outcome in done),
            cost_usd=sum(costs) if costs else None,
            stopped=self._stopped,
        )

    async def _pull(self) -> None:
        while self._left and not self._stopped and self._error is None:
            limit = self._options.max_cost_usd
            budget = None if limit is None else limit - (self.summary.cost_usd or 0.0)
            if budget is not None and budget <= 0:
                self._stopped = "limit"
                return
            task = self._left.pop()
            try:
                outcome = await self._outcome_of(task, budget)
                if outcome.stopped_reason == "interrupted":  # by who stops the worker: it is not done
                    self._stopped = self._stopped or "interrupted"
                    return
                await asyncio.to_thread(self._results.add, outcome)
            except AgentError as error:
                self._error = self._error or error  # no result can be written, or no task be run
                for other in self._pulling:
                    if other is not asyncio.current_task():
                        other.cancel()
                return
            self._on_progress(self.summary)

    async def _outcome_of(self, task: BatchTask, budget: float | None) -> TaskOutcome:
        attempts = self._options.retries + 1
        for attempt in range(1, attempts + 1):
            try:
                outcome = replace(await self._workers.run(task, budget), attempts=attempt)
            except WorkerLostError as error:
                problem = f"{error}, {attempt} times in all" if attempt > 1 else str(error)
                outcome = failed(task.id, "worker_lost", problem, attempts=attempt)
            else:
                if not outcome.is_worth_a_retry:
                    return outcome
            if attempt == attempts:
                return outcome
        raise AssertionError("there is at least one attempt")


def summary_words(summary: BatchSummary) -> str:
    parts = [f"{summary.done} of {summary.tasks} tasks done"]
    if summary.skipped:
        parts.append(f"{summary.skipped} of them before")
    if summary.failed:
        parts.append(f"{summary.failed} failed")
    if summary.cost_usd is not None:
        parts.append(money(summary.cost_usd))
    if summary.stopped:
        parts.append({"interrupted": "interrupted", "limit": "stopped by --max-cost"}[summary.stopped])
    return ", ".join(parts)
