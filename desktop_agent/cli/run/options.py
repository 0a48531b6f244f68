"""What the options of `desktop-agent run` ask for."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from desktop_agent.composition.session_plan import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.models.vendors import DEMO, PROVIDER_IDS
from desktop_agent.core.providers.demo import DEMO_MODEL
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings import RunnerSettings
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.slash.declarations import is_command
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.tools.files.suggest import closest_names
from desktop_agent.headless import ApprovalCommand, RunLogs, RunOptions
from desktop_agent.library.output_schema import OutputSchema


def run_options(args: argparse.Namespace, bench: Workbench) -> RunOptions:
    """Return what to run. What the command line does not say is then in `args` as the settings say it.

    Raises `UsageError`.
    """
    _check_tools("--allowed-tools", args.allowed_tools or (), bench)
    _check_tools("--blocked-tools", args.blocked_tools or (), bench)
    _with_defaults(args, bench.live.current.runner)
    _check_tools("The setting runner.allowed_tools", args.allowed_tools or (), bench)
    _check_tools("The setting runner.blocked_tools", args.blocked_tools or (), bench)
    return _options(args, bench)


def environ_of(args: argparse.Namespace) -> Mapping[str, str]:
    """Return where settings and keys are looked for. Raises `UsageError` for a settings file that is not there."""
    environ: Mapping[str, str] = args.environ
    if args.config is None:
        return environ
    if not args.config.is_file():
        raise UsageError(f"The configuration file {args.config} does not exist.")
    # The sandbox must find this settings file, because it keeps commands from writing it.
    return {**environ, "DESKTOP_AGENT_CONFIG": str(args.config.absolute())}


def run_logs(args: argparse.Namespace) -> RunLogs:
    """Return the logs that the options name. Call it after `run_options`."""
    debug = args.tool_debug_log if args.debug_tool_use else None
    return RunLogs(audit=args.audit_log, changes=args.changes_log, debug=debug)


def approver_of(args: argparse.Namespace, workspace: Path, blobs: Blobs) -> ApprovalCommand | None:
    """Return what answers approval requests, if the options name it. Close it at the end."""
    if args.approval_command is None:
        return None
    return ApprovalCommand(args.approval_command, workspace, args.environ, SystemClock(), blobs)


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
    output = OutputSchema.read(args.output_schema) if args.output_schema is not None else None
    prompts = _prompts(args)
    return RunOptions(
        prompts=prompts,
        workspace=workspace,
        resume=_session(args, bench, workspace),
        session=SessionOptions(
            named=_model(args),
            approval=args.approval,
            sandbox=args.sandbox,
            rules=CallRules(
                allowed_tools=args.allowed_tools,
                blocked_tools=args.blocked_tools,
                is_dry_run=args.dry_run,
                role=args.role or "worker",
            ),
            limits=TurnLimits(
                max_requests=args.max_turns,
                max_cost_usd=args.max_cost,
                max_time_s=args.max_time,
                covers_all_turns=True,
                exits_on_tool_error=args.exit_on_tool_error,
            ),
            instructions=output.instructions if output is not None else "",
            accepts_folder=args.accept_folder,
        ),
        include=_included(args.include, prompts),
        undo_last_turn=args.undo_last_turn,
        output=output,
    )


def _prompts(args: argparse.Namespace) -> tuple[str, ...]:
    """The prompts from the options, a file, or (`-`) standard input; none where they come while it runs."""
    texts: list[str] = args.prompt or []
    if args.input_format == "stream":
        _check_stream(args)
        return ()
    if args.prompt_file is not None:
        try:
            texts = [Path(args.prompt_file).read_text(encoding="utf-8")]
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The prompt file cannot be read: {error}.") from error
    elif args.stdin == "-":
        texts = [sys.stdin.read()]
    if not texts:
        raise UsageError("There is no prompt.", hint="Give --prompt TEXT, --prompt-file FILE, or - for standard input.")
    if not all(text.strip() for text in texts):
        raise UsageError("The prompt is empty.")
    return tuple(texts)


def _included(names: Sequence[str], prompts: Sequence[str]) -> tuple[str, ...]:
    """The files that come with the first prompt. Raises `UsageError` for one that cannot be read."""
    if names and all(map(is_command, prompts)):
        raise UsageError("--include goes with a prompt, and a slash command is none.")
    for name in names:
        path = Path(name)
        if not path.exists():
            raise UsageError(f"The file to include is not there: {name}.", hint="--include takes paths of files.")
        if path.is_dir():
            raise UsageError(f"--include takes files, and {name} is a folder.", hint="Name the files in it.")
        if not os.access(path, os.R_OK):
            raise UsageError(f"The file to include cannot be read: {name}.")
    return tuple(str(Path(name).absolute()) for name in names)


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


def _check_stream(args: argparse.Namespace) -> None:
    """Raise `UsageError` for what does not go together with ops that come while it runs."""
    if args.prompt or args.prompt_file is not None or args.stdin:
        raise UsageError(
            "With --input-format stream, prompts come from standard input.",
            hint='Write {"type": "submit_prompt", "text": "…"} there, one JSON object a line.',
        )
    for option in ("approval_command", "output_schema"):
        if getattr(args, option) is not None:
            name = f"--{option.replace('_', '-')}"
            raise UsageError(f"{name} does not go with --input-format stream.", hint="The program that reads does it.")
    if args.include:
        hint = 'Write {"type": "submit_prompt", "text": "…", "include": ["FILE"]} to standard input.'
        raise UsageError("--include does not go with --input-format stream.", hint=hint)
    if args.undo_last_turn:
        hint = 'Write {"type": "undo_changes", "selection": {}} to standard input.'
        raise UsageError("--undo-last-turn does not go with --input-format stream.", hint=hint)
