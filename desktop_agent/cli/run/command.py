"""`desktop-agent run`: what it does."""

import argparse
import asyncio
import sys
from collections.abc import Coroutine

from desktop_agent.cli.console import Console
from desktop_agent.cli.interruptible import run_to_end
from desktop_agent.cli.run.confining import say_what_confines
from desktop_agent.cli.run.listener import RunListener
from desktop_agent.cli.run.options import approver_of, environ_of, run_logs, run_options
from desktop_agent.cli.run.summary import summary_of
from desktop_agent.cli.warnings import SettingsWarnings, warn_of_project
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.system.masked_logs import mask_warnings
from desktop_agent.headless import HeadlessRun, RunLogs, RunOptions, RunResult, StreamedRun, ops_of


def main(args: argparse.Namespace, console: Console) -> int:
    """Run the prompts and return the exit code."""
    bench = _workbench(args, console)
    options = run_options(args, bench)
    if options.resume is None:
        warn_of_project(bench.settings_in(real_path(options.workspace)), console)
    logs = run_logs(args)
    listener = RunListener(args, console)
    run = _streamed if args.input_format == "stream" else _prompted
    running = _confined(args, bench, options, listener, run(args, bench, options, logs, listener))
    result, confined_by = asyncio.run(running)  # noqa: TID251 - entry point
    if listener.has_lost_reader:
        return result.exit_code
    if not args.stream:
        console.result({**result.as_json(), "confined_by": confined_by}, summary_of(result))
    for problem in result.problems:
        console.say(f"error: {problem}")
    return result.exit_code


def _workbench(args: argparse.Namespace, console: Console) -> Workbench:
    paths = AppPaths.from_environment()
    environ = environ_of(args)
    mask_warnings(environ)
    live = LiveSettings.load(paths.settings_file(environ), environ)
    warnings = SettingsWarnings(live, console)
    live.subscribe(warnings)
    warnings()
    return Workbench(paths, live, environ=environ, key_store=SystemKeyStore(tell=console.say))


async def _confined(
    args: argparse.Namespace,
    bench: Workbench,
    options: RunOptions,
    listener: RunListener,
    run: Coroutine[None, None, RunResult],
) -> tuple[RunResult, str | None]:
    """Run, and look meanwhile for what confines commands."""
    looking = asyncio.create_task(say_what_confines(args, bench, options, listener.say), name="what confines")
    try:
        return await run, await looking
    finally:
        looking.cancel()


async def _prompted(
    args: argparse.Namespace, bench: Workbench, options: RunOptions, logs: RunLogs, listener: RunListener
) -> RunResult:
    """Run prompts that are known from the start."""
    approver = approver_of(args, options.workspace, bench.blobs)
    try:
        async with listener.progress.shown():
            return await run_to_end(HeadlessRun(bench, options, logs, listener, approver))
    finally:
        if approver is not None:
            await approver.aclose()


async def _streamed(
    _args: argparse.Namespace, bench: Workbench, options: RunOptions, logs: RunLogs, listener: RunListener
) -> RunResult:
    """Run what another program asks for while it runs."""
    asked = ops_of(sys.stdin.fileno(), listener.on_rejected)
    return await run_to_end(StreamedRun(bench, options, asked, logs, listener))
