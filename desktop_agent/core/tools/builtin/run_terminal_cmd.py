"""`run_terminal_cmd`: run a shell command, in the foreground with its output, or as a background job."""

import asyncio
import json
import logging
import os
import secrets
import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import Field, field_validator, model_validator

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.processes.child import ProcessEnd, unhurried
from desktop_agent.core.system.processes.command_streams import HAS_TERMINALS
from desktop_agent.core.system.processes.output import SPOOL_LIMIT_BYTES, CapturedOutput, create_private
from desktop_agent.core.system.processes.runner import Command, ProcessOutcome
from desktop_agent.core.system.processes.shell import Shell, find_program, find_shell, steers_shell, without_steering
from desktop_agent.core.system.staged_file import write_all
from desktop_agent.core.tools.files.file_tool import not_found
from desktop_agent.core.tools.output import fit_all
from desktop_agent.core.tools.tool import SPOOL_KEY, Tool, ToolArguments, ToolContext

DEFAULT_TIMEOUT_S = 120.0

_NEVER_WAIT = {
    "GH_PAGER": "cat", "GIT_EDITOR": "true", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "MANPAGER": "cat",
    "PAGER": "cat",
}  # fmt: skip
_DEFAULT_TERM = "xterm-256color"
_LONGEST_SHOWN = 4_000
"""How many characters of variables and input a line may have, because rules store it."""
_END_SHOWN = 1_000

logger = logging.getLogger(__name__)


class RunTerminalCmdArguments(ToolArguments):
    command: str = Field(description="The command line, as for `bash -c`.")
    is_background: bool = Field(
        default=False, description="Start it as a job and return at once, for servers and watchers."
    )
    explanation: str | None = Field(default=None, description="One sentence for the user: what this is for.")
    cwd: str | None = Field(
        default=None, description="Directory to run in, relative to the workspace. Default: its root."
    )
    env: dict[str, str] | None = Field(default=None, description="Environment variables to add or replace.")
    timeout: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="Seconds after which the command is ended."
    )
    stdin: str | None = Field(default=None, description="Text for the command to read. Default: nothing to read.")
    shell: str | None = Field(
        default=None, description="`bash` or `sh`. Default: bash. For another shell, call it in the command itself."
    )
    tty: bool = Field(
        default=False,
        description="Run it in a terminal, for programs that refuse to work without one. stdin is then typed, a line "
        "whenever the program is silent.",
    )
    with_escalated_permissions: bool = Field(
        default=False, description="Ask to run it outside the sandbox. Only after it failed for being in it."
    )
    justification: str | None = Field(
        default=None, description="One sentence for the user: why it must run outside the sandbox."
    )

    @field_validator("command")
    @classmethod
    def _has_text(cls, command: str) -> str:
        if not command.strip():
            raise ValueError("command must contain text")
        return _without_nul(command)

    @field_validator("env")
    @classmethod
    def _has_names(cls, env: dict[str, str] | None) -> dict[str, str] | None:
        for name, value in (env or {}).items():
            if not name or "=" in name:
                raise ValueError(f"{name!r} is not a variable name")
            _without_nul(name + value)
            if steers_shell(name, value):
                raise ValueError(f"{name} steers the shell itself, so no command gets it; set it inside the command")
        return env

    @model_validator(mode="after")
    def _can_run_unattended(self) -> "RunTerminalCmdArguments":
        if self.is_background and self.stdin is not None:
            raise ValueError("stdin not supported with background jobs")
        if not self.is_background and (program := interactive_program(self.command, has_terminal=self.tty)):
            raise ValueError(
                f"Refusing to run interactive program '{program}' in foreground; set is_background=true or choose a "
                "non-interactive flag."
            )
        return self


class RunTerminalCmd(Tool[RunTerminalCmdArguments]):
    name = "run_terminal_cmd"
    capabilities = ("exec_shell",)
    arguments_type = RunTerminalCmdArguments

    def __init__(
        self, default_timeout_s: float = DEFAULT_TIMEOUT_S, *, longest_s: Callable[[], float | None] = lambda: None
    ) -> None:
        self.longest_s = longest_s
        """Returns the user's own limit."""
        self._default_s = default_timeout_s
        shell = find_shell(os.environ)
        is_plain = shell is not None and shell.kind == "sh"
        kind = "a plain sh, without bash's own syntax" if is_plain else "bash, whatever the user's own shell is"
        self.description = (
            f"Run a command line in the workspace, in {kind}. Returns its output (standard output and error "
            # The user's own limit is not named: a changed text would invalidate the provider's cache.
            "together), exit code and duration as JSON. "
            f"It is ended after {self._default_s:g} s unless timeout says otherwise, or "
            "earlier where the user set a limit. Long output keeps its beginning and end, without colours. There is "
            "no terminal unless tty is set: pagers print everything, and nothing can be answered but through stdin. "
            "When the command ends, whatever it left running is ended too; start servers with is_background, which "
            "returns a job id for job_control and the path of a log."
        )

    def title(self, arguments: RunTerminalCmdArguments) -> str:
        return arguments.command.strip().partition("\n")[0]

    def with_command(self, arguments: RunTerminalCmdArguments, command: str) -> RunTerminalCmdArguments:
        fields: JsonObject = {**arguments.model_dump(), "command": command}
        return self.parse(fields)

    def circumstances(self, arguments: RunTerminalCmdArguments) -> tuple[str, ...]:
        """What determines the effect of the call besides the command: variables, input, a special shell."""
        lines: list[str] = []
        if arguments.env:
            lines.append(f"Variables: {_shortened(_variables(arguments))}")
        if arguments.stdin is not None:
            lines.append(f"Input: {_shortened(arguments.stdin)}")
        if arguments.shell is not None:
            lines.append(f"Shell: {arguments.shell}")
        if arguments.is_background:
            lines.append("Runs in the background until it ends or is stopped.")
        return tuple(lines)

    def asked_arguments(self, arguments: RunTerminalCmdArguments, given: JsonObject) -> JsonObject:
        long = {"env": _variables(arguments), "stdin": arguments.stdin or ""}
        return {name: given[name] for name, text in long.items() if len(text) > _LONGEST_SHOWN}

    def explanation(self, arguments: RunTerminalCmdArguments) -> str:
        return (arguments.explanation or "").strip()

    def working_folder(self, arguments: RunTerminalCmdArguments, context: ToolContext) -> Path:
        """Return the folder in which the command runs. Raises `ToolError` if it is not in the workspace."""
        text = arguments.cwd or "."
        place = context.boundary.follow(context.boundary.for_reading(text))
        if not place.absolute.exists():
            raise not_found(text, place.absolute, context.boundary)
        if not place.absolute.is_dir():
            raise ToolError(f"cwd: {text} is a file, not a directory.", error_type="validation")
        return place.absolute

    async def run(self, arguments: RunTerminalCmdArguments, context: ToolContext) -> ToolResult:
        """After a cancellation, this returns only when all processes of the command have ended."""
        if arguments.tty and not HAS_TERMINALS:
            raise ToolError("This system has no terminal to run it in. Leave tty out.")
        command = await asyncio.to_thread(self.prepare, arguments, context)
        if arguments.is_background:
            return await self._start(arguments, command, context)
        longest_s, asked_s = self.longest_s(), arguments.timeout or self._default_s
        outcomes: list[ProcessOutcome] = []
        try:
            try:
                outcome = await context.processes.run(
                    command,
                    timeout_s=asked_s if longest_s is None else min(asked_s, longest_s),
                    spool_folder=context.spool_folder,
                    on_text=context.emit_output,
                    on_cancelled=outcomes.append if context.keep_partial is not None else None,
                )
            except OSError as error:
                raise _not_started(error) from error
            outcomes.append(outcome)
            return await asyncio.to_thread(answer_of, outcome, context)
        except asyncio.CancelledError:
            if outcomes and context.keep_partial is not None:
                answer = asyncio.create_task(asyncio.to_thread(answer_of, outcomes[0], context))
                with suppress(asyncio.CancelledError):
                    await unhurried(answer)
                context.keep_partial(answer.result())
            raise

    async def _start(self, arguments: RunTerminalCmdArguments, command: Command, context: ToolContext) -> ToolResult:
        try:
            job = await context.jobs.start(command, shown=arguments.command, timeout_s=arguments.timeout)
        except OSError as error:
            raise _not_started(error) from error
        log = shlex.quote(str(job.log))
        output = (
            f"background command dispatched\njob_id: {job.id}\npid: {job.pid}\nstdout_log: {job.log}\n"
            f"stderr_log: {job.log}\nhint: tail -n 50 {log}"
        )
        facts: JsonObject = {"exit_code": 0, "duration_seconds": 0.0, "timed_out": False, "truncated": False}
        return ToolResult(
            content=json.dumps({"output": output, "metadata": facts}, ensure_ascii=False),
            metadata=facts | {"job_id": job.id, "pid": job.pid, "log": str(job.log)},
        )

    def prepare(self, arguments: RunTerminalCmdArguments, context: ToolContext) -> Command:
        """Return what is run, confined. Blocks. Raises `ToolError`."""
        folder = self.working_folder(arguments, context)
        environ = without_steering({**context.environ, **_NEVER_WAIT, **(arguments.env or {})})
        environ.setdefault("TERM", _DEFAULT_TERM)
        argv = _argv(arguments, context)
        command = Command(argv=argv, cwd=folder, environ=environ, stdin=arguments.stdin, tty=arguments.tty)
        return context.confine(command)


def _not_started(error: OSError) -> ToolError:
    return ToolError(f"The command could not be started: {error.strerror or error}.")


def answer_of(outcome: ProcessOutcome, context: ToolContext) -> ToolResult:
    end, printed = outcome.end, outcome.output
    prefix = f"command timed out after {outcome.duration_s:.1f}s\n" if outcome.timed_out else ""
    if end.excess:
        prefix = f"command stopped: {end.excess}\n"
    lines = printed.total_lines + bool(prefix)
    output = fit_all(prefix + printed.head, context.limits, tail=printed.tail, total_lines=lines, is_printed=True)
    facts: JsonObject = {
        "exit_code": -1 if outcome.timed_out else end.exit_code,
        "duration_seconds": round(outcome.duration_s, 1),
        "timed_out": outcome.timed_out,
        "truncated": output.is_truncated,
    }
    answer: JsonObject = {"output": output.text, "metadata": facts}
    if note := _note(end, printed):
        answer["note"] = note
    metadata = dict(facts)
    if end.excess:
        metadata["excess"] = end.excess
    spool = printed.spool_path
    if spool is None and (output.is_truncated or printed.written):  # users can open the full text
        spool = _write_spool(context.spool_folder, printed.written or printed.head)
    if spool is not None:
        metadata[SPOOL_KEY] = str(spool)
    is_error = outcome.timed_out or bool(end.excess) or end.exit_code != 0
    return ToolResult(
        content=json.dumps(answer, ensure_ascii=False),
        is_error=is_error,
        error_type="recoverable" if is_error else None,
        metadata=metadata,
    )


def _note(end: ProcessEnd, printed: CapturedOutput) -> str:
    sentences: list[str] = []
    if end.excess:
        sentences.append(f"The command was stopped: {end.excess}. The user's settings in [execution] say how much.")
    elif end.ended:
        names = ", ".join(sorted(set(end.ended.values())))
        sentences.append(f"What the command left running ({names}) was ended. Use is_background to keep it running.")
    if end.survivors:
        names = ", ".join(f"{name} (pid {pid})" for pid, name in end.survivors.items())
        sentences.append(f"These processes could not be ended: {names}.")
    if printed.spool_error:
        sentences.append(
            f"Only {printed.spooled_bytes:,} of {printed.total_bytes:,} bytes of output were kept: "
            f"{printed.spool_error}."
        )
    elif printed.spool_path is not None and printed.spooled_bytes < printed.total_bytes:
        sentences.append(
            f"Of the {printed.total_bytes:,} bytes of output the first {SPOOL_LIMIT_BYTES:,} and the end were kept."
        )
    return " ".join(sentences)


def _write_spool(folder: Path, text: str) -> Path | None:
    """Write the text to a file; None if that fails. Nothing is raised, because the command has already run."""
    path = folder / f"output-{secrets.token_hex(8)}.log"
    try:
        with create_private(path) as file:
            write_all(file.fileno(), text.encode())
    except OSError:
        logger.warning("The output of a command could not be written to a file", exc_info=True)
        return None
    return path


def _argv(arguments: RunTerminalCmdArguments, context: ToolContext) -> tuple[str, ...]:
    shell = find_shell(context.environ, context.boundary.root)
    named = arguments.shell
    if named is not None:
        kind = Path(named).name
        if kind not in ("bash", "sh"):
            raise ToolError(
                f"{named!r} cannot be the shell: commands are judged as bash and sh read them. Leave shell out, and "
                f"call {kind} in the command itself.",
                error_type="validation",
            )
        if kind == "sh" or shell is None or shell.kind != kind:
            found = find_program(kind, context.environ, context.boundary.root)
            if found is None:
                raise ToolError(f"The shell {named!r} is not installed. Leave shell out to use the default.")
            shell = Shell(found, "bash" if kind == "bash" else "sh")
    if shell is not None:
        return shell.argv(arguments.command)
    if os.name == "nt":
        return context.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c", arguments.command
    raise ToolError("No shell is installed: neither bash nor sh could be found.")


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("NUL characters are not allowed")
    return text


def _variables(arguments: RunTerminalCmdArguments) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in (arguments.env or {}).items())


def _shortened(text: str) -> str:
    """Shorten a very long text to its two ends and a digest, so that a rule for one text matches no other."""
    if len(text) <= _LONGEST_SHOWN:
        return text
    digest = digest_of(text.encode("utf-8", "surrogatepass"))[:32]
    begin, end = text[: _LONGEST_SHOWN - _END_SHOWN], text[-_END_SHOWN:]
    return f"{begin}\n… (not all of its {len(text):,} characters are shown; digest {digest}) …\n{end}"


_EDITORS = frozenset({"vi", "vim", "nvim", "view", "vimdiff", "nano", "pico", "emacs", "micro", "hx"})
_MONITORS = frozenset({"top", "htop", "btop", "atop"})
_PAGERS = frozenset({"less", "more", "most"})
_PROGRAMS = _EDITORS | _MONITORS | _PAGERS

_QUIET_OPTIONS = regex(r"--version|--help|--headless|--?batch|-[A-Za-z]*[Ee]s|-b\S*|-l\S*")
"""Options with which one of these programs does its work and exits: `vim -es`, `emacs --batch`, `top -bn1`."""

_LONGEST_READ = 4_000

_NOT_PLAIN = regex(r"[^\n\t -~]")
"""Characters because of which the parser refuses a whole line, such as a carriage return."""


def interactive_program(command: str, *, has_terminal: bool = False) -> str | None:
    """Return the first program that would wait for a user. Without a terminal, a pager just prints its input."""
    for segment in parse(_NOT_PLAIN.sub(" ", command[:_LONGEST_READ])).segments:
        name = segment.program.rpartition("/")[2]
        is_quiet = any(_QUIET_OPTIONS.fullmatch(word) for word in segment.words[1:])
        is_printing = name in _PAGERS and segment.is_piped and not has_terminal
        if name in _PROGRAMS and not is_quiet and not is_printing and "ssh" not in segment.wrappers:
            return name
    return None
