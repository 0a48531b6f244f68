"""`desktop-agent batch`: what it does."""

import argparse
import asyncio
import os
from contextlib import nullcontext

from msgspec.structs import asdict

from desktop_agent.cli.batch.progress import BatchProgress
from desktop_agent.cli.batch.worker import arguments_of
from desktop_agent.cli.console import Console
from desktop_agent.cli.interruptible import run_to_end
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.headless.batch.coordinator import Batch, BatchOptions, BatchSummary, summary_words
from desktop_agent.headless.batch.copies import sweep
from desktop_agent.headless.batch.local_workers import LocalWorkers
from desktop_agent.headless.batch.results import Results, ResultsFile
from desktop_agent.headless.batch.tasks import BatchTask, read_tasks
from desktop_agent.headless.batch.workers import Workers

WORKER = "desktop_agent.cli.batch.worker"


def main(args: argparse.Namespace, console: Console) -> int:
    """Run the tasks that have no result yet, and return the exit code."""
    tasks = read_tasks(args.tasks, _check)
    if args.resume and (args.output is None or not args.output.exists()):
        raise UsageError("There is no batch to go on with.", hint="Name the file of its results with --output.")
    sweep(AppPaths.from_environment(args.environ).cache / "batch")
    results = Results(console.write_line) if args.output is None else ResultsFile(args.output)
    with results if isinstance(results, ResultsFile) else nullcontext():
        summary = asyncio.run(_run(args, console, tasks, results))  # noqa: TID251 - entry point
    words = summary_words(summary)
    if args.output is None:
        console.say(words)
    else:
        document: JsonObject = {**asdict(summary), "exit_code": summary.exit_code}
        console.result(document, words)
    return summary.exit_code


def _check(task: BatchTask) -> None:
    arguments_of(task, task.workspace)


async def _run(
    args: argparse.Namespace, console: Console, tasks: tuple[BatchTask, ...], results: Results
) -> BatchSummary:
    options = BatchOptions(
        workers=args.workers or os.cpu_count() or 1, retries=args.retries, max_cost_usd=args.max_cost
    )
    workers: Workers = LocalWorkers(WORKER, args.environ, SystemClock())
    progress = BatchProgress(console, args.environ.get("TERM", ""))
    try:
        return await run_to_end(Batch(tasks, results, workers, options, progress))
    finally:
        progress.clear()
        await workers.aclose()
