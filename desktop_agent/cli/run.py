"""`desktop-agent run`: runs prompts without a window and reports the result."""

import argparse
import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO, cast

from desktop_agent.cli.config import SettingsWarnings, warn_of_project
from desktop_agent.cli.console import Console, OutputError, TerminalLine
from desktop_agent.cli.signals import run_to_end
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import cost_text, number_of, on_one_line
from desktop_agent.core.base.secrets import mask_warnings
from desktop_agent.core.models.vendors import DEMO, PROVIDER_IDS
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import Usage
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.demo import DEMO_MODEL
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.slash.declarations import is_command
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.tools.files.suggest import closest_names
from desktop_agent.core.transcript import HookEntry, hook_line
from desktop_agent.core.worktrees.worktrees import NewWorktree
from desktop_agent.headless.approval_command import ApprovalCommand
from desktop_agent.headless.input_lines import ops_of
from desktop_agent.headless.runner import HeadlessRun, RunLogs, RunOptions, RunResult, StreamedRun
from desktop_agent.library.results import OutputSchema

_EVERY_S = 1.0


class ProgressLine:
    """Shows the progress of a run in one line; nothing without a terminal that can erase."""

    def __init__(self, terminal: TextIO, term: str, now: Callable[[], float]) -> None:
        self._line = TerminalLine(terminal, term)
        self._now = now
        self._begun = now()
        self._what = "Starting"
        self._requests = 0
        self._usage = Usage()

    @asynccontextmanager
    async def shown(self) -> AsyncGenerator[None]:
        if not self._line.is_shown:
            yield
            return
        ticking = asyncio.create_task(self._tick(), name="progress")
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.wait([ticking])
            self.clear()

    def clear(self) -> None:
        """Clear the line to make room for other output. The next event brings it back."""
        self._line.write("")

    def note(self, event: ev.Event) -> None:
        match event:
            case ev.TurnStarted():
                self._what = "Asking the model"
            case ev.TextDelta():
                self._what = "Answering"
            case ev.ThinkingDelta():
                self._what = "Thinking"
            case ev.ToolCallStarted(call=call, title=title):
                self._what = call.name if title in ("", call.name) else f"{call.name} {title}"
            case ev.ToolCallFinished():
                self._what = "Asking the model"
            case ev.ApprovalRequested(request=request):
                self._what = f"Waiting for an answer: {request.title or request.tool}"
            case ev.UsageReported(usage=usage):
                self._requests += 1
                self._usage += usage
            case _:
                return
        if not isinstance(event, ev.TextDelta | ev.ThinkingDelta):  # there are hundreds of these a second
            self._draw()

    async def _tick(self) -> None:
        while True:
            self._draw()
            await asyncio.sleep(_EVERY_S)

    def _draw(self) -> None:
        if not self._line.is_shown:
            return
        seconds = int(self._now() - self._begun)
        cost = cost_text(self._usage.cost_usd, is_partial=self._usage.is_cost_partial)
        facts = [f"{seconds // 60}:{seconds % 60:02}", number_of(self._requests, "request"), *([cost] if cost else [])]
        tail = f" · {' · '.join(facts)}"
        room = shutil.get_terminal_size().columns - 1 - len(tail)
        what = on_one_line(self._what)
        self._line.write(f"{what if len(what) <= room else what[: max(0, room - 1)] + '…'}{tail}")


class RunListener:
    """Shows events as they happen: with --stream as JSON lines, with --verbose in words. Raises `OutputError`."""

    def __init__(self, args: argparse.Namespace, console: Console) -> None:
        self._is_stream: bool = args.stream
        self._is_verbose: bool = args.verbose or args.debug_tool_use
        self._console = console
        is_wanted = not (self._is_stream or self._is_verbose)
        self.progress = ProgressLine(console.err, args.environ.get("TERM", "") if is_wanted else "", time.monotonic)
        self.has_lost_reader = False
        """Whether the program that read the output has gone, so that the run was stopped."""

    def __call__(self, event: ev.Event) -> None:
        try:
            self._show(event)
        except OutputError as error:
            self.has_lost_reader = error.is_closed
            raise

    def on_rejected(self, line: int, reason: str) -> None:
        """Report an invalid line to the program that writes ops. Earlier ops are still carried out."""
        if self._is_stream:
            self._console.line({"type": "op_rejected", "line": line, "reason": reason})
        else:
            self._console.say(f"error: line {line} of the input: {reason}")

    def say(self, text: str) -> None:
        self.progress.clear()
        self._console.say(text)

    def _show(self, event: ev.Event) -> None:
        if self._is_stream:
            self._console.line(encode_event(event))
        if not self._is_verbose:
            self.progress.note(event)
            if isinstance(event, ev.Notice) and event.level == "warning":  # a run that waits says what it waits for
                self.say(f"! {event.title} {event.hint}".rstrip())
            return
        match event:
            case ev.ToolCallStarted(call=call, title=title):
                self._console.report(f"▸ {call.name} {title}" if title != call.name else f"▸ {call.name}")
            case (
                ev.ToolCallFinished(state=state, duration_s=duration_s)
                | ev.SubagentEnded(state=state, duration_s=duration_s)
            ):
                self._console.report(f"  {state} after {duration_s:.1f} s")
            case ev.Notice(title=title, hint=hint):
                self._console.report(f"! {title} {hint}".rstrip())
            case ev.CommandRun(output=output):
                self._console.report(f"COMMAND: {output}")
            case ev.HookRan():
                self._console.report(f"⚙ {hook_line(HookEntry(runs=(event,)))}")
            case ev.TurnEnded(reason=reason):
                self._console.report(f"■ {reason}")
            case _:
                pass


def run_options(args: argparse.Namespace, bench: Workbench) -> RunOptions:
    """Return what to run, and set missing options in `args` from the settings. Raises `UsageError`."""
    _check_tools("--allowed-tools", args.allowed_tools or (), bench)
    _check_tools("--blocked-tools", args.blocked_tools or (), bench)
    runner = bench.live.current.runner
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
    _check_tools("The setting runner.allowed_tools", args.allowed_tools or (), bench)
    _check_tools("The setting runner.blocked_tools", args.blocked_tools or (), bench)
    return _options(args, bench)


def environ_of(args: argparse.Namespace) -> Mapping[str, str]:
    """Return the environment for settings and keys. Raises `UsageError` if the settings file is missing."""
    environ: Mapping[str, str] = args.environ
    if args.config is None:
        return environ
    if not args.config.is_file():
        raise UsageError(f"The configuration file {args.config} does not exist.")
    # The sandbox must find this settings file, because it keeps commands from writing it.
    return {**environ, "DESKTOP_AGENT_CONFIG": str(args.config.absolute())}


def run_logs(args: argparse.Namespace) -> RunLogs:
    debug = args.tool_debug_log if args.debug_tool_use else None
    return RunLogs(audit=args.audit_log, changes=args.changes_log, debug=debug)


def approver_of(args: argparse.Namespace, workspace: Path, blobs: Blobs) -> ApprovalCommand | None:
    """Return the program that answers approval requests, if the options name one. The caller must close it."""
    if args.approval_command is None:
        return None
    return ApprovalCommand(args.approval_command, workspace, args.environ, SystemClock(), blobs)


def _check_tools(source: str, names: Sequence[str], bench: Workbench) -> None:
    """Raise `UsageError` for a name that no tool has, because the run would fail at each call, or block nothing."""
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
    if args.carry_out_plan is not None and (args.plan or args.include):
        raise UsageError("--carry-out-plan does not go with --plan and --include.")
    return RunOptions(
        prompts=prompts,
        workspace=workspace,
        resume=_session(args, bench, workspace),
        session=SessionOptions(
            named=_agent_or_model(args),
            approval=args.approval,
            sandbox=args.sandbox,
            is_planning=args.plan,
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
            worktree=_worktree(args),
        ),
        include=_included(args.include, prompts),
        carries_out_plan=args.carry_out_plan is not None,
        undo_last_turn=args.undo_last_turn,
        output=output,
    )


def _worktree(args: argparse.Namespace) -> NewWorktree | None:
    if args.worktree is None:
        if args.worktree_base is not None:
            raise UsageError("--worktree-base goes with --worktree.")
        return None
    return NewWorktree(name=args.worktree, base=args.worktree_base or "HEAD")


def _prompts(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the prompts from the options, a file, or (`-`) standard input; empty for streamed input."""
    texts: list[str] = args.prompt or []
    if args.input_format == "stream":
        _check_stream(args)
        return ()
    if (file := args.prompt_file or args.carry_out_plan) is not None:
        what = "prompt file" if args.prompt_file else "plan"
        try:
            texts = [file.read_text(encoding="utf-8")]
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The {what} cannot be read: {error}.") from error
    elif args.stdin == "-":
        texts = [sys.stdin.read()]
    if not texts:
        raise UsageError("There is no prompt.", hint="Give --prompt TEXT, --prompt-file FILE, or - for standard input.")
    if not all(text.strip() for text in texts):
        raise UsageError("The prompt is empty.")
    return tuple(texts)


def _included(paths: Sequence[Path], prompts: Sequence[str]) -> tuple[str, ...]:
    """Return the files that are attached to the first prompt. Raises `UsageError` for one that cannot be read."""
    if paths and all(map(is_command, prompts)):
        raise UsageError("--include needs a prompt that is not a slash command.")
    for path in paths:
        name = name_on_a_line(str(path))
        if not path.exists():
            raise UsageError(f"The file to include is not there: {name}.", hint="--include takes paths of files.")
        if path.is_dir():
            raise UsageError(f"--include takes files, and {name} is a folder.", hint="Name the files in it.")
        if not os.access(path, os.R_OK):
            raise UsageError(f"The file to include cannot be read: {name}.")
    return tuple(str(path.absolute()) for path in paths)


def _session(args: argparse.Namespace, bench: Workbench, workspace: Path) -> SessionId | None:
    if args.resume is not None:
        return bench.catalog.find(args.resume)
    if args.continue_last:
        latest = bench.catalog.latest(workspace)
        if latest is None:
            raise UsageError(f"There is no session to continue in {workspace}.")
        return latest
    return None


def _agent_or_model(args: argparse.Namespace) -> NamedModel:
    if args.agent is None:
        return model_of(args)
    if not model_of(args).is_nothing or args.client is not None:
        options = "--provider, --model, --base-url, --account, --effort and --client"
        raise UsageError(f"--agent does not go with {options}: the agent asks a model of its own.")
    return NamedModel.of_agent(args.agent)


def model_of(args: argparse.Namespace) -> NamedModel:
    provider: str | None = args.provider
    if provider is not None and provider not in PROVIDER_IDS:
        raise UsageError(f"There is no provider {provider!r}.", hint=f"Known providers: {', '.join(PROVIDER_IDS)}.")
    if provider == DEMO and args.model not in (None, DEMO_MODEL):
        raise UsageError(f"The demo has no model {args.model!r}.", hint=f"Leave --model out, or say {DEMO_MODEL}.")
    return NamedModel(
        provider=provider, model=args.model, base_url=args.base_url, account=args.account, effort=args.effort
    )


def _check_stream(args: argparse.Namespace) -> None:
    if args.prompt or args.prompt_file is not None or args.carry_out_plan is not None or args.stdin:
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


async def say_what_confines(
    args: argparse.Namespace, bench: Workbench, options: RunOptions, say: Callable[[str], None]
) -> str | None:
    """Return the name of the sandbox that confines commands, and report its limitations. `None`: unconfined."""
    mode = args.sandbox or bench.settings.execution.sandbox
    if mode == "none" or (options.prompts and all(is_command(prompt) for prompt in options.prompts)):
        return None
    search = await bench.sandbox_search(options.workspace)
    if search.shortcoming:
        say(f"! {search.shortcoming}")
    return None if search.sandbox is None else search.sandbox.name


def summary_of(result: RunResult) -> str:
    if result.is_command:
        return result.final_response
    lines = [result.final_response or "<no final response>", "---"]
    if result.plan:
        lines += ["Plan:", result.plan.rstrip(), "---"]
    lines.append(f"Stopped reason: {result.stopped_reason} (turns: {result.turns_used})")
    lines.append(f"Session: {result.session_id}")
    if result.worktree:
        lines.append(f"Worktree: {result.worktree}")
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


def main(args: argparse.Namespace, console: Console) -> int:
    paths = AppPaths.from_environment()
    environ = environ_of(args)
    mask_warnings(environ)
    live = LiveSettings.load(paths.settings_file(environ), environ)
    warnings = SettingsWarnings(live, console)
    live.subscribe(warnings)
    warnings()
    keys = SystemKeyStore(tell=console.say)
    bench = Workbench(paths, live, environ=environ, client=args.client, launched=args.launched, key_store=keys)
    options = run_options(args, bench)
    if options.resume is None:
        warn_of_project(bench.settings_in(real_path(options.workspace)), console)
    logs = run_logs(args)
    listener = RunListener(args, console)
    result, confined_by = asyncio.run(_carry_out(args, bench, options, logs, listener))  # noqa: TID251 - entry point
    if listener.has_lost_reader:
        return result.exit_code
    if not args.stream:
        console.result({**result.as_json(), "confined_by": confined_by}, summary_of(result))
    for problem in result.problems:
        console.say(f"error: {problem}")
    return result.exit_code


async def _carry_out(
    args: argparse.Namespace, bench: Workbench, options: RunOptions, logs: RunLogs, listener: RunListener
) -> tuple[RunResult, str | None]:
    approver = approver_of(args, options.workspace, bench.blobs)
    looking = asyncio.create_task(say_what_confines(args, bench, options, listener.say), name="what confines")
    try:
        if args.input_format == "stream":
            asked = ops_of(sys.stdin.fileno(), listener.on_rejected)
            return await run_to_end(StreamedRun(bench, options, asked, logs, listener)), await looking
        async with listener.progress.shown():
            result = await run_to_end(HeadlessRun(bench, options, logs, listener, approver))
        return result, await looking
    finally:
        looking.cancel()
        if approver is not None:
            await approver.aclose()
