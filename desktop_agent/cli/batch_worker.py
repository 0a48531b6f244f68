"""A worker of a batch: runs tasks as `desktop-agent run` would, each in a copy of its folder.

As a process it reads lines `{"task": …, "max_cost": …}`, and writes each outcome as a line, until its input ends.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TypeVar, cast

from msgspec import UNSET, Struct, convert
from msgspec.structs import asdict, replace

from desktop_agent.cli.parser import build_parser
from desktop_agent.cli.run import approver_of, environ_of, run_logs, run_options
from desktop_agent.cli.signals import Interruptible
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.secrets import mask_warnings
from desktop_agent.core.export import export_text
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.system.environment import take_environment
from desktop_agent.core.system.private_files import close_to_others
from desktop_agent.core.worktrees.variants import VariantCheck
from desktop_agent.headless.batch.local_workers import copy_of
from desktop_agent.headless.batch.tasks import BatchTask, TaskOutcome, failed
from desktop_agent.headless.input_lines import lines_of
from desktop_agent.headless.runner import HeadlessRun, describe
from desktop_agent.headless.single_call import CommandCheck

T = TypeVar("T")

OWN_OPTIONS = (
    "json", "workspace", "prompt", "prompt-file", "resume", "continue", "worktree", "worktree-base", "stream",
    "input-format", "verbose",
)  # fmt: skip
"""Options of `run` that a task expresses differently, or that mean nothing in a task."""


class WorkItem(Struct, frozen=True, kw_only=True):
    task: BatchTask
    max_cost: float | None = None


def arguments_of(task: BatchTask, workspace: str) -> argparse.Namespace:
    """Return the options of `run` for a task. Raises `UsageError` for one that a task cannot have."""
    words = ["run", f"--workspace={workspace}", f"--prompt={task.prompt}"]  # which may begin with a dash
    for name, value in task.options.items():
        if name in OWN_OPTIONS or not name or name.startswith("-"):
            raise UsageError(
                f"A task has no option {name!r}.", hint="Its options are those of `run`, by their long names."
            )
        words += _words_of(name, value)
    said = StringIO()
    try:
        with redirect_stderr(said):
            return build_parser("run").parse_args(words)
    except SystemExit as error:
        problem = said.getvalue().strip().rpartition("error: ")[2]
        raise UsageError(f"The options of the task {task.id!r} are not those of `run`: {problem}.") from error


def _words_of(name: str, value: object) -> list[str]:
    match value:
        case bool():
            return [f"--{name}" if value else f"--no-{name}"]
        case str() | int() | float():
            return [f"--{name}={value}"]
        case list() if name == "include":
            return [f"--{name}={each}" for each in cast("list[object]", value)]
        case list():
            return [f"--{name}={','.join(map(str, cast('list[object]', value)))}"]
        case _:
            raise UsageError(f"The option {name!r} has no value that `run` takes.")


class _TaskRunner:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._paths = AppPaths.from_environment(environ)
        self._run: Interruptible[object] | None = None
        self._is_over = False

    async def serve(self, descriptor: int) -> None:
        orders: asyncio.Queue[bytes | None] = asyncio.Queue()
        reading = asyncio.create_task(self._read(descriptor, orders), name="orders")
        while (line := await orders.get()) is not None:
            outcome = await self.run(convert(json.loads(line), learned(WorkItem)))
            sys.stdout.buffer.write(outcome.line().encode(errors="backslashreplace") + b"\n")
            sys.stdout.flush()
        await reading

    def interrupt(self) -> None:
        self._is_over = True
        if self._run is not None:
            self._run.interrupt()

    async def run(self, order: WorkItem) -> TaskOutcome:
        task, begun = order.task, time.monotonic()
        placing = _place_of(task, self._paths.cache / "batch")
        try:
            folder = await asyncio.to_thread(placing.__enter__)
            try:
                outcome = await self._run_in(task, folder, order.max_cost)
            finally:
                await asyncio.to_thread(placing.__exit__, None, None, None)
        except AgentError as error:
            outcome = failed(task.id, "not_run", describe(error), exit_code=error.exit_code)
        return replace(outcome, duration_s=round(time.monotonic() - begun, 3))

    async def _read(self, descriptor: int, orders: "asyncio.Queue[bytes | None]") -> None:
        async for line in lines_of(descriptor):
            orders.put_nowait(line)
        orders.put_nowait(None)
        self.interrupt()

    async def _run_in(self, task: BatchTask, folder: Path, max_cost: float | None) -> TaskOutcome:
        args = arguments_of(task, str(folder))
        args.worktree = task.worktree or None
        args.max_cost = min(filter(None, (args.max_cost, max_cost)), default=None)
        args.environ = self._environ
        environ = environ_of(args)
        live = LiveSettings.load(self._paths.settings_file(environ), environ)
        bench = Workbench(self._paths, live, environ=environ, client=args.client)
        options = run_options(args, bench)
        approver = approver_of(args, folder, bench.blobs)
        try:
            result = await self._interruptible(HeadlessRun(bench, options, run_logs(args), approve=approver))
        finally:
            if approver is not None:
                await approver.aclose()
        if result.worktree:
            folder = (await bench.worktrees.find(result.worktree)).worktree.workspace
        check: VariantCheck | None = None
        if task.test and result.exit_code == 0:
            check = await self._interruptible(CommandCheck(self._paths, live, task.test, folder, environ))
            await asyncio.to_thread(bench.variants.note, task.worktree, check)
        patch = await asyncio.to_thread(_patch_of, bench, result.session_id) if result.session_id else ""
        return TaskOutcome(
            id=task.id,
            exit_code=result.exit_code,
            stopped_reason=result.stopped_reason,
            final_response=result.final_response,
            session_id=result.session_id or None,
            patch=patch,
            usage=asdict(result.usage),
            cost=result.usage.cost_usd,
            problems=result.problems,
            test=check,
            worktree=result.worktree,
            output=None if result.output is UNSET else result.output,
        )

    async def _interruptible(self, run: Interruptible[T]) -> T:
        self._run = run
        if self._is_over:
            run.interrupt()
        try:
            return await run.run()
        finally:
            self._run = None


@contextmanager
def _place_of(task: BatchTask, scratch: Path) -> Generator[Path]:
    if task.worktree:
        yield Path(task.workspace)
    else:
        with copy_of(task.workspace, scratch) as copy:
            yield copy


def _patch_of(bench: Workbench, session_id: SessionId) -> str:
    """Return a session's changes. Bytes that are not UTF-8 become surrogates, which JSON can escape."""
    pieces = export_text(bench.catalog.journal_path(session_id), "patch", bench.blobs)
    return b"".join(pieces).decode(errors="surrogateescape")


def main() -> int:
    environ = take_environment()
    mask_warnings(environ)
    close_to_others(AppPaths.from_environment(environ).roots)
    asyncio.run(_TaskRunner(environ).serve(sys.stdin.fileno()))  # noqa: TID251 - entry point
    return 0


if __name__ == "__main__":
    sys.exit(main())
