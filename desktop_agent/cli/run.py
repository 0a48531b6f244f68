"""`desktop-agent run`: one prompt without a window."""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from desktop_agent.cli.console import Console
from desktop_agent.cli.interruptible import run_to_end
from desktop_agent.cli.run_listener import RunListener
from desktop_agent.cli.warnings import SettingsWarnings, warn_of_project
from desktop_agent.composition.session_plan import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.money import cost_text
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.vendors import DEMO, PROVIDER_IDS
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.demo import DEMO_MODEL
from desktop_agent.core.session.limits import TurnLimits
from desktop_agent.core.settings import RunnerSettings
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.system.masked_logs import mask_warnings
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.tools.files.suggest import closest_names
from desktop_agent.headless import HeadlessRun, RunLogs, RunOptions, RunResult


def main(args: argparse.Namespace, console: Console) -> int:
    """Run the prompt and return the exit code."""
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
    bench = Workbench(paths, live, environ=environ, key_store=SystemKeyStore(tell=console.say))
    _check_tools("--allowed-tools", args.allowed_tools or (), bench)
    _check_tools("--blocked-tools", args.blocked_tools or (), bench)
    _with_defaults(args, live.current.runner)
    _check_tools("The setting runner.allowed_tools", args.allowed_tools or (), bench)
    _check_tools("The setting runner.blocked_tools", args.blocked_tools or (), bench)
    options = _options(args, bench)
    if options.resume is None:
        warn_of_project(bench.settings_in(options.workspace.resolve()), console)
    logs = RunLogs(
        audit=args.audit_log, changes=args.changes_log, debug=args.tool_debug_log if args.debug_tool_use else None
    )
    listener = RunListener(args, console)
    result = asyncio.run(run_to_end(HeadlessRun(bench, options, logs, listener)))  # noqa: TID251 - entry point
    if listener.has_lost_reader:
        return result.exit_code
    if not args.stream:
        console.result(result.as_json(), _summary(result))
    for problem in result.problems:
        console.say(f"error: {problem}")
    return result.exit_code


def _with_defaults(args: argparse.Namespace, runner: RunnerSettings) -> None:
    """Fill in, from the settings, what the command line does not say."""
    defaults: dict[str, object] = {
        "max_turns": runner.max_turns,
        "exit_on_tool_error": runner.exit_on_tool_error,
        "dry_run": runner.dry_run,
        "allowed_tools": runner.allowed_tools or None,
        "blocked_tools": runner.blocked_tools,
        "audit_log": Path(runner.audit_log) if runner.audit_log else None,
        "changes_log": Path(runner.changes_log) if runner.changes_log else None,
        "debug_tool_use": runner.debug_tool_use,
        "tool_debug_log": Path(runner.tool_debug_log) if runner.tool_debug_log else None,
    }
    for name, value in defaults.items():
        if getattr(args, name) is None:
            setattr(args, name, value)


def _check_tools(source: str, names: Sequence[str], bench: Workbench) -> None:
    """Raise `UsageError` for a name that no tool has: the run would fail at each call, or block nothing."""
    known = [tool.name for tool in bench.tools]
    for name in names:
        if name not in known:
            close = closest_names(name, known)
            hint = f"Did you mean {close[0]}?" if close else "`desktop-agent tools list` names them."
            raise UsageError(f"{source} names no tool: {name!r}.", hint=hint)


def _options(args: argparse.Namespace, bench: Workbench) -> RunOptions:
    workspace: Path = args.workspace or current_folder()
    return RunOptions(
        prompt=_prompt(args),
        workspace=workspace,
        resume=_session(args, bench, workspace),
        session=SessionOptions(
            named=_model(args),
            approval=args.approval,
            sandbox=args.sandbox,
            rules=CallRules(
                allowed_tools=args.allowed_tools, blocked_tools=args.blocked_tools, is_dry_run=args.dry_run
            ),
            limits=TurnLimits(
                max_requests=args.max_turns,
                max_cost_usd=args.max_cost,
                max_time_s=args.max_time,
                exits_on_tool_error=args.exit_on_tool_error,
            ),
        ),
        undo_last_turn=args.undo_last_turn,
    )


def _prompt(args: argparse.Namespace) -> str:
    """The prompt from the option, a file, or (`-`) standard input."""
    if args.prompt is not None:
        text: str = args.prompt
    elif args.prompt_file is not None:
        try:
            text = Path(args.prompt_file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The prompt file cannot be read: {error}.") from error
    elif args.stdin == "-":
        text = sys.stdin.read()
    else:
        raise UsageError("There is no prompt.", hint="Give --prompt TEXT, --prompt-file FILE, or - for standard input.")
    if not text.strip():
        raise UsageError("The prompt is empty.")
    return text


def _session(args: argparse.Namespace, bench: Workbench, workspace: Path) -> SessionId | None:
    if args.resume is not None:
        return bench.catalog.find(args.resume)
    if args.continue_last:
        latest = bench.catalog.latest(workspace)
        if latest is None:
            raise UsageError(f"There is no session to continue in {workspace}.")
        return latest
    return None


def _model(args: argparse.Namespace) -> NamedModel:
    """Return what the options say of the model; a resumed session keeps the rest."""
    provider: str | None = args.provider
    if provider is not None and provider not in PROVIDER_IDS:
        raise UsageError(f"There is no provider {provider!r}.", hint=f"Known providers: {', '.join(PROVIDER_IDS)}.")
    if provider == DEMO and args.model not in (None, DEMO_MODEL):
        raise UsageError(f"The demo has no model {args.model!r}.", hint=f"Leave --model out, or say {DEMO_MODEL}.")
    return NamedModel(
        provider=provider, model=args.model, base_url=args.base_url, account=args.account, effort=args.effort
    )


def _summary(result: RunResult) -> str:
    """The result in words."""
    if result.is_command:
        return result.final_response
    lines = [result.final_response or "<no final response>", "---"]
    lines.append(f"Stopped reason: {result.stopped_reason} (turns: {result.turns_used})")
    lines.append(f"Session: {result.session_id}")
    if cost := cost_text(result.usage.cost_usd, is_partial=result.usage.is_cost_partial):
        lines.append(f"Cost: {cost}")
    lines.append("Tools executed:")
    for event in result.tools:
        state = "skipped" if event["skipped"] else "error" if event["is_error"] else "ok"
        paths = cast("list[str]", event["paths"])
        where = f" paths={','.join(paths)}" if paths else ""
        lines.append(f"- turn {event['turn']}: {event['tool']} [{state}]{where}")
    if not result.tools:
        lines.append("none")
    if result.edited_files:
        lines.append("Edited files: " + ", ".join(result.edited_files))
    lines += [str(summary["summary"]) for summary in result.turn_summaries]
    if result.undo_operations is not None:
        lines += ["Undo operations:", *(f"- {operation}" for operation in result.undo_operations)]
    return "\n".join(lines)
