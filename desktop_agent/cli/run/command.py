"""`desktop-agent run`: what it does."""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

from desktop_agent.cli.console import Console
from desktop_agent.cli.interruptible import run_to_end
from desktop_agent.cli.run.listener import RunListener
from desktop_agent.cli.run.options import run_options
from desktop_agent.cli.run.summary import summary_of
from desktop_agent.cli.warnings import SettingsWarnings, warn_of_project
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.system.masked_logs import mask_warnings
from desktop_agent.headless import ApprovalCommand, HeadlessRun, RunLogs, RunOptions, RunResult, StreamedRun, ops_of


def main(args: argparse.Namespace, console: Console) -> int:
    """Run the prompts and return the exit code."""
    bench = _workbench(args, console)
    options = run_options(args, bench)
    if options.resume is None:
        warn_of_project(bench.settings_in(options.workspace.resolve()), console)
    logs = RunLogs(
        audit=args.audit_log, changes=args.changes_log, debug=args.tool_debug_log if args.debug_tool_use else None
    )
    listener = RunListener(args, console)
    run = _streamed if args.input_format == "stream" else _prompted
    result = asyncio.run(run(args, bench, options, logs, listener))  # noqa: TID251 - entry point
    if listener.has_lost_reader:
        return result.exit_code
    if not args.stream:
        console.result(result.as_json(), summary_of(result))
    for problem in result.problems:
        console.say(f"error: {problem}")
    return result.exit_code


def _workbench(args: argparse.Namespace, console: Console) -> Workbench:
    paths = AppPaths.from_environment()
    if args.config is not None and not args.config.is_file():
        raise UsageError(f"The configuration file {args.config} does not exist.")
    # The sandbox must find this settings file, because it keeps commands from writing it.
    environ: Mapping[str, str] = args.environ
    if args.config:
        environ = {**environ, "DESKTOP_AGENT_CONFIG": str(args.config.absolute())}
    mask_warnings(environ)
    live = LiveSettings.load(paths.settings_file(environ), environ)
    warnings = SettingsWarnings(live, console)
    live.subscribe(warnings)
    warnings()
    return Workbench(paths, live, environ=environ, key_store=SystemKeyStore(tell=console.say))


async def _prompted(
    args: argparse.Namespace, bench: Workbench, options: RunOptions, logs: RunLogs, listener: RunListener
) -> RunResult:
    """Run prompts that are known from the start."""
    approver = _approver(args, options.workspace)
    try:
        async with listener.progress.shown():
            return await run_to_end(HeadlessRun(bench, options, logs, listener, approver))
    finally:
        if approver is not None:
            await approver.aclose()


def _approver(args: argparse.Namespace, workspace: Path) -> ApprovalCommand | None:
    """Return what answers approval requests, if the options name it."""
    if args.approval_command is None:
        return None
    return ApprovalCommand(args.approval_command, workspace, args.environ, SystemClock())


async def _streamed(
    _args: argparse.Namespace, bench: Workbench, options: RunOptions, logs: RunLogs, listener: RunListener
) -> RunResult:
    """Run what another program asks for while it runs."""
    asked = ops_of(sys.stdin.fileno(), listener.on_rejected)
    return await run_to_end(StreamedRun(bench, options, asked, logs, listener))
