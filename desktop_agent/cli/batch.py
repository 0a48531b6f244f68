"""`desktop-agent batch`: many runs, each with one result."""

import argparse
import asyncio
import os
import shutil
from contextlib import nullcontext
from pathlib import Path

from msgspec.structs import asdict, replace

from desktop_agent.cli.batch_worker import arguments_of
from desktop_agent.cli.console import Console, TerminalLine
from desktop_agent.cli.signals import run_to_end
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.worktrees.variants import VariantRecords, require_repository
from desktop_agent.headless.batch.cluster import ClusterWorkers, TlsFiles, check_address
from desktop_agent.headless.batch.local_workers import LocalWorkers, sweep
from desktop_agent.headless.batch.tasks import (
    Batch,
    BatchOptions,
    BatchSummary,
    BatchTask,
    Results,
    Workers,
    read_tasks,
    results_in,
    summary_words,
)

_LONGEST_BAR = 40


class BatchProgress:
    def __init__(self, console: Console, term: str) -> None:
        self._console = console
        self._line = TerminalLine(console.err, term)
        self._tenth = 0

    def __call__(self, summary: BatchSummary) -> None:
        if self._line.is_shown:
            words = f" {summary_words(summary)}"
            length = min(_LONGEST_BAR, shutil.get_terminal_size().columns - 1 - len(words))
            filled = length * summary.done // summary.tasks
            self._line.write(f"{'█' * filled}{'░' * max(0, length - filled)}{words}")
            return
        tenth = 10 * summary.done // summary.tasks
        if tenth > self._tenth:
            self._tenth = tenth
            self._console.say(summary_words(summary))

    def clear(self) -> None:
        self._line.write("")


def main(args: argparse.Namespace, console: Console) -> int:
    tls = TlsFiles(ca=args.tls_ca, cert=args.tls_cert, key=args.tls_key)
    if args.scheduler is None and tls != TlsFiles():
        raise UsageError("Certificates are for a cluster.", hint="Name its scheduler with --scheduler.")
    if args.scheduler is not None:
        check_address(args.scheduler)
    tasks = read_tasks(args.tasks, lambda task: arguments_of(task, task.workspace))
    if args.variants:
        tasks = _as_variants(args, tasks)
    if args.resume and (args.output is None or not args.output.exists()):
        raise UsageError("There is no batch to continue.", hint="Name the file of its results with --output.")
    copies = AppPaths.from_environment(args.environ).cache / "batch"
    sweep(copies)
    opening = nullcontext(Results(console.write_line)) if args.output is None else results_in(args.output)
    try:
        with opening as results:
            summary = asyncio.run(_run(args, console, tls, tasks, results))  # noqa: TID251 - entry point
    finally:
        sweep(copies)  # of the workers that were stopped
    words = summary_words(summary)
    if args.output is None:
        console.say(words)
    else:
        console.result({**asdict(summary), "exit_code": summary.exit_code}, words)
    return summary.exit_code


def _as_variants(args: argparse.Namespace, tasks: tuple[BatchTask, ...]) -> tuple[BatchTask, ...]:
    """Give each task a worktree, and record that they belong together. Blocks. Raises `UsageError`."""
    if args.scheduler is not None or args.resume or any(task.worktree for task in tasks):
        raise UsageError("--variants goes with neither --scheduler, --resume nor a worktree that a task names.")
    alike = {(task.workspace, task.prompt, task.test) for task in tasks}
    if len(alike) > 1:
        raise UsageError("Variants have the same workspace, prompt and test.", hint="They differ in their options.")
    ((folder, prompt, test),) = alike
    asyncio.run(require_repository(Path(folder)))  # noqa: TID251 - entry point
    paths = AppPaths.from_environment(args.environ)
    made = VariantRecords(paths.variants).add(
        Path(folder), prompt, [task.id for task in tasks], check=test, at=SystemClock().now()
    )
    args.retries, args.workers = 0, args.workers or len(tasks)
    return tuple(replace(task, worktree=variant.worktree) for task, variant in zip(tasks, made.variants, strict=True))


async def _run(
    args: argparse.Namespace, console: Console, tls: TlsFiles, tasks: tuple[BatchTask, ...], results: Results
) -> BatchSummary:
    workers, count = await _workers(args, tls)
    options = BatchOptions(workers=count, retries=args.retries, max_cost_usd=args.max_cost)
    progress = BatchProgress(console, args.environ.get("TERM", ""))
    try:
        return await run_to_end(Batch(tasks, results, workers, options, progress))
    finally:
        progress.clear()
        await workers.aclose()


async def _workers(args: argparse.Namespace, tls: TlsFiles) -> tuple[Workers, int]:
    if args.scheduler is None:
        return LocalWorkers(args.environ, SystemClock()), args.workers or os.cpu_count() or 1
    cluster = await ClusterWorkers.connect(args.scheduler, tls, args.environ)
    count = args.workers or await cluster.threads()
    if not count:
        await cluster.aclose()
        hint = "Start some, or say with --workers how many tasks to run at once; they wait at the scheduler."
        raise UsageError("The cluster has no worker yet.", hint=hint)
    return cluster, count
