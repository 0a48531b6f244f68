"""The tasks of a batch and their outcomes, each a line with a JSON object, and the interface of the workers."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import asdict, replace

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.file_names import real_path_named
from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.model import JsonObject

FIELDS = ("id", "workspace", "prompt", "options")


class BatchTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    workspace: str
    """A folder, or the address of a git repository. A relative folder is relative to the file with the tasks."""
    prompt: str
    options: JsonObject = field(default_factory=dict[str, object])
    """Options of `run` by their long names: `{"provider": "demo", "max-turns": 3, "dry-run": true}`."""


def read_tasks(path: Path, check: Callable[[BatchTask], object]) -> tuple[BatchTask, ...]:
    """Return the tasks of a file. `check` raises `UsageError` for invalid options. Blocks. Raises `UsageError`."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # not at the line ends of Unicode: JSON may have them
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
    output: object = None
    duration_s: float = 0.0
    attempts: int = 1

    @property
    def is_worth_a_retry(self) -> bool:
        return self.stopped_reason in ("provider_error", "storage_error", "internal_error")

    def line(self) -> str:
        return json.dumps({**asdict(self), "problems": list(self.problems)}, ensure_ascii=False)

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
