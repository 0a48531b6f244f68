"""Serves requests of another program's agent during its turn: to read and write files, run commands, ask the user.
Between turns, sets its options, and leaves its context to it.

Its questions are judged by our policy and shown as ours are. Files are written by our own tool, so that the policy
judges, and the ledger records, what is written. Its terminals (`terminal/*`) are commands of our own tool, but in the
agent's sandbox and with its environment, and they end with the turn.
"""

import asyncio
import logging
import re
import stat
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.calls import AgentCall, line_of
from desktop_agent.core.agents.connection import ELICIT, TERMINALS, AgentConnection
from desktop_agent.core.agents.peer import INVALID_PARAMS, INVALID_REQUEST, NOT_FOUND, UNKNOWN_METHOD, RpcError
from desktop_agent.core.base.errors import AgentError, StorageError, ToolError, UsageError
from desktop_agent.core.base.ids import CallId, new_prompt_id
from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.forms import UnaskableError, form_asked, visit_asked
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalRequest,
    Decision,
    Denied,
    FileChange,
    FormField,
    FormOption,
    JsonObject,
    ModelRef,
    ServerQuestion,
    ToolResult,
    ToolUseBlock,
)
from desktop_agent.core.session.failure_notices import notice_of
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.system.files import FileState, FileTransition, read_state
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.output import OutputCapture
from desktop_agent.core.system.processes.shell import joined_words
from desktop_agent.core.tools.builtin.run_terminal_cmd import RunTerminalCmd, RunTerminalCmdArguments, answer_of
from desktop_agent.core.tools.execution.runtime import ActiveCall, Toolbox, ToolRuntime
from desktop_agent.core.tools.files.text_files import NotTextError, TextFile
from desktop_agent.core.tools.gate import Case, NotApprovedError, arguments_digest, edit_question
from desktop_agent.core.tools.tool import ToolContext

logger = logging.getLogger(__name__)

_PLAIN_YES = regex(
    r"(?:(?:yes|ok)[,.]? ?)?(?:(?:always )?(?:allow|accept|approve|proceed|run|continue|apply|go ahead)\b)?"
    r"(?: ?(?:it|once|one time|always|this (?:time|call|edit|change|command|once)|for this session))*[.!]?",
    re.IGNORECASE,
)
"""The names of options that say no more than that the call is allowed."""


class AgentQuestions:
    def __init__(self, turn: int, parts: SessionParts, agent: AgentConnection) -> None:
        self._number = turn
        self._parts = parts
        self._agent = agent

    async def choice(self, call: AgentCall, options: Sequence[wire.PermissionOption]) -> str:
        """Let the user choose among the agent's own options. Raises `NotApprovedError` if none was chosen."""
        values = tuple(FormOption(value=one.option_id, label=without_controls(one.name)) for one in options)
        field = FormField(name="option", label="Your answer", kind="choice", is_required=True, options=values)
        message = "\n\n".join(filter(None, (call.title, call.result())))
        question = ServerQuestion(server=self._agent.name, message=message, fields=(field,))
        decision = await self._parts.runtime.questions.ask(self._number, call.as_model(), question)
        if isinstance(decision, Allowed) and "option" in decision.answers:
            return str(decision.answers["option"])
        raise NotApprovedError("The user chose none of the options.", is_unanswered=isinstance(decision, Aborted))

    async def case(self, call: AgentCall, ways: Collection[str]) -> Case:
        asking = call.as_model()
        inside = await asyncio.to_thread(self.inside, call.paths)
        changes = await self._preview(call, inside)
        outside = tuple(f"outside the open folder: {path}" for path in call.paths if path not in inside)
        lasting = ("The agent will not ask about this again.",) if "allow_once" not in ways else ()
        facts = CallFacts(
            tool=call.tool,
            capabilities=call.capabilities,
            details=(*outside, *call.circumstances, *lasting),
            source="workspace" if call.command or (inside and not outside) else "external",
            paths=tuple(dict.fromkeys((*inside.values(), *(change.path for change in changes)))),
            command=call.command,
            folder=call.folder or str(self._parts.ledger.files.root),
            asks=" ".join(lasting),
            agent=self._agent.name,
            wants_unconfined=self._agent.definition.sandbox is None,
        )
        request = ApprovalRequest(
            call_id=call.id,
            tool=call.tool,
            title=_question(call, changes, self._agent.name),
            reason="",
            arguments_digest=arguments_digest(asking),
            cwd=facts.folder,
            details=facts.details,
            arguments={} if call.command or changes else call.arguments,
            explanation=call.explanation,
            changes=changes,
            is_fixed=True,
        )
        return Case(call=asking, facts=facts, request=request)

    def inside(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the paths that are in the folder, by the agent's names for them."""
        boundary, inside = self._parts.runtime.box.boundary(), dict[str, str]()
        for path in paths:
            with suppress(ToolError):
                relative = boundary.for_reading(path).relative
                if not Path(relative).is_absolute():
                    inside[path] = relative
        return inside

    async def _preview(self, call: AgentCall, inside: dict[str, str]) -> tuple[FileChange, ...]:
        """Return what the call would change, if it says so: whole files, or texts that occur in them once."""
        planned = await asyncio.to_thread(lambda: [one for diff in call.diffs if (one := self._planned(diff, inside))])
        return await self._parts.effects.prepare(self._number, planned) if planned else ()

    def _planned(self, diff: wire.CallContent, inside: dict[str, str]) -> FileTransition | None:
        if (path := inside.get(diff.path)) is None:
            return None
        try:
            before = self._parts.ledger.files.current(path)
        except OSError:
            return None
        old, new = (diff.old_text or "").encode(), diff.new_text.encode()
        if before is None or not before.content:
            return FileTransition(path, before, FileState(content=new) if before is None else before.with_content(new))
        if before.kind != "file":
            return None
        if b"\r\n" in before.content and b"\r" not in old + new:
            old, new = old.replace(b"\n", b"\r\n"), new.replace(b"\n", b"\r\n")
        if not old or old == before.content:
            return FileTransition(path, before, before.with_content(new))
        if before.content.count(old) != 1:
            return None
        return FileTransition(path, before, before.with_content(before.content.replace(old, new)))


def meant_by_yes(options: Sequence[wire.PermissionOption]) -> str:
    """Return the option that allows the call and does nothing else; empty if none is clearly that one."""
    for kind in ("allow_once", "allow_always"):
        if found := [one for one in options if one.kind == kind]:
            return found[0].option_id if len(found) == 1 and _PLAIN_YES.fullmatch(found[0].name.strip()) else ""
    return ""


def _question(call: AgentCall, changes: tuple[FileChange, ...], agent: str) -> str:
    if call.command is not None:
        return "Run this command?"
    return edit_question(changes) if changes else f"Let {agent} do this: {(call.title or call.tool).rstrip('?')}?"


MOST_OPEN: Final = 32
"""How many terminals an agent may have before it releases some."""
_USUAL_BYTES: Final = 2**20

BeginCommand = Callable[[str, str, Path, tuple[str, ...]], Awaitable[AgentCall]]
"""Returns the call for a command line in a folder, also in the agent's words. Raises `ToolError` if it must not run."""
EndCommand = Callable[[AgentCall, ToolResult], Awaitable[None]]


class _Terminal(Struct, eq=False):
    most_bytes: int
    child: ChildProcess | None = None
    capture: OutputCapture | None = None
    has_begun: asyncio.Event = field(default_factory=asyncio.Event)
    running: "asyncio.Task[None] | None" = None
    exit: JsonObject | None = None
    excess: str = ""
    problem: str = ""

    def stop(self) -> None:
        if self.child is not None:
            self.child.ask_to_end()
        elif self.running is not None:
            self.running.cancel()

    def document(self) -> JsonObject:
        text, is_cut = self.capture.recent(self.most_bytes) if self.capture is not None else ("", False)
        if self.excess:
            text += f"\n[The command was stopped: {self.excess}.]"
        document: JsonObject = {"output": text, "truncated": is_cut}
        return document if self.exit is None else document | {"exitStatus": self.exit}


class AgentTerminals:
    def __init__(
        self, turn: int, agent: AgentConnection, runtime: ToolRuntime, begin: BeginCommand, end: EndCommand
    ) -> None:
        self._number = turn
        self._agent = agent
        self._runtime = runtime
        self._begin = begin
        self._end = end
        self._open: dict[str, _Terminal] = {}
        self._running: set[asyncio.Task[None]] = set()
        self.shown: set[str] = set()
        """The terminals whose command is our own call, because the agent had reported none."""

    async def serve(self, method: str, params: JsonObject) -> JsonObject:
        """Raises `RpcError`, `ToolError` and `AgentError`."""
        if method == "terminal/create":
            return {"terminalId": await self._create(wire.read(params, wire.TerminalAsked))}
        name = wire.read(params, wire.TerminalNamed).terminal_id
        terminal = self._open.get(name)
        if terminal is None or terminal.running is None:
            raise RpcError(NOT_FOUND, "There is no such terminal, or it was released.")
        if method == "terminal/output":
            return terminal.document()
        if method == "terminal/release":
            del self._open[name]
        if method != "terminal/wait_for_exit":
            terminal.stop()
        await asyncio.wait({terminal.running})
        return (terminal.exit or {}) if method == "terminal/wait_for_exit" else {}

    async def aclose(self) -> None:
        """End all commands with their processes. Raises `StorageError` if an outcome could not be recorded."""
        for terminal in self._open.values():
            terminal.stop()
        self._open.clear()
        while self._running:
            done, _ = await asyncio.wait(self._running)
            self._running -= done
            for task in done:
                if not task.cancelled():
                    task.result()

    async def _create(self, asked: wire.TerminalAsked) -> str:
        if len(self._open) >= MOST_OPEN:
            raise RpcError(INVALID_REQUEST, f"{MOST_OPEN} terminals are open. Release one first.")
        name = f"terminal-{new_prompt_id()}"
        most_bytes = asked.output_byte_limit
        terminal = self._open[name] = _Terminal(_USUAL_BYTES if most_bytes is None else most_bytes)
        try:
            await self._start(name, terminal, asked)
        except BaseException:
            self._open.pop(name, None)
            terminal.stop()
            raise
        return name

    async def _start(self, name: str, terminal: _Terminal, asked: wire.TerminalAsked) -> None:
        box, tool = self._runtime.box, self._runtime.registry.require(RunTerminalCmd.name)
        assert isinstance(tool, RunTerminalCmd)
        box.access.require(tool)
        if box.access.is_dry_run:
            raise ToolError("dry-run: execution skipped")
        # Without arguments it is a shell command line, as most agents mean it.
        words = (asked.command, *(asked.args or ()))
        line, told = (joined_words(words), line_of(words)) if asked.args else (asked.command, asked.command)
        env = {one.name: one.value for one in asked.env or ()}
        arguments = tool.parse({"command": line, "cwd": asked.cwd, "env": env or None})
        folder = await asyncio.to_thread(tool.working_folder, arguments, self._context(""))
        call = await self._begin(line, told, folder, tool.circumstances(arguments))
        if call.is_ours:
            self.shown.add(name)
        terminal.running = asyncio.create_task(self._run(terminal, call, tool, arguments), name=name)
        self._running.add(terminal.running)
        terminal.running.add_done_callback(self._forget)
        await terminal.has_begun.wait()
        if terminal.problem:
            raise ToolError(terminal.problem)

    def _forget(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is None:
            self._running.discard(task)

    async def _run(
        self, terminal: _Terminal, call: AgentCall, tool: RunTerminalCmd, arguments: RunTerminalCmdArguments
    ) -> None:
        context = self._context(call.id)

        def started(child: ChildProcess, capture: OutputCapture) -> None:
            terminal.child, terminal.capture = child, capture
            self._agent.commands.add(child)
            child.when_gone(self._agent.commands.discard)
            terminal.has_begun.set()

        try:
            await asyncio.to_thread(self._runtime.box.workspace.check)
            command = await asyncio.to_thread(tool.prepare, arguments, context)
            async with self._agent.confined(command) as confined:
                outcome = await context.processes.run(
                    confined,
                    timeout_s=tool.longest_s(),
                    spool_folder=context.spool_folder,
                    on_text=context.emit_output,
                    on_start=started,
                )
            terminal.exit, terminal.excess = {"exitCode": outcome.end.exit_code}, outcome.end.excess
            result = await self._runtime.fit_result(await asyncio.to_thread(answer_of, outcome, context))
        except StorageError:
            raise
        except (OSError, ToolError, AgentError) as error:
            terminal.problem = f"The command could not be started: {error}"
            result = ToolResult(content=terminal.problem, is_error=True, error_type="recoverable")
        finally:
            terminal.has_begun.set()
        await self._end(call, result)

    def _context(self, call_id: CallId) -> ToolContext:
        block = ToolUseBlock(id=call_id, name=RunTerminalCmd.name, arguments={})
        return replace(self._runtime.context(ActiveCall(self._number, block)), environ=self._agent.environ)


_LARGEST = 16 * 2**20

WriteFile = Callable[[str, FileState | None, str], Awaitable[ToolResult | None]]
"""Writes a file, given its present state, and returns the outcome if our own tool did it."""
AskUser = Callable[[ServerQuestion], Awaitable[Decision]]


class AgentServices:
    def __init__(self, agent: str, box: Toolbox, write: WriteFile, ask: AskUser, terminals: AgentTerminals) -> None:
        self._agent = agent
        self._box = box
        self._write_file = write
        self._ask = ask
        self._terminals = terminals

    async def serve(self, method: str, params: JsonObject) -> JsonObject:
        """Raises `RpcError`."""
        try:
            match method:
                case "fs/read_text_file":
                    return {"content": await asyncio.to_thread(self._read, wire.read(params, wire.ReadAsked))}
                case "fs/write_text_file":
                    await self._write(wire.read(params, wire.WriteAsked))
                    return {}
                case _ if method in TERMINALS:
                    return await self._terminals.serve(method, params)
                case _ if method == ELICIT:
                    return await self._elicit(wire.read(params, wire.ElicitationAsked))
                case _:
                    raise RpcError(UNKNOWN_METHOD, "There is no such method.")
        except ToolError as error:
            raise RpcError(NOT_FOUND if error.error_type == "not_found" else INVALID_PARAMS, str(error)) from error

    def _read(self, asked: wire.ReadAsked) -> str:
        path, text = self._text_of(asked.path)
        if text is None:
            raise ToolError(f"There is no file {asked.path!r}.", error_type="not_found")
        self._box.reads.note(path, text.digest)
        try:
            lines = TextFile(text.content).lines
        except NotTextError as error:
            raise ToolError(f"{asked.path!r} is not text: {error}.") from error
        first = (asked.line or 1) - 1
        told = "".join(lines[first : None if asked.limit is None else first + asked.limit])
        return told.encode(errors="replace").decode()  # bytes that are not text cannot be sent

    async def _write(self, asked: wire.WriteAsked) -> None:
        path, before = await asyncio.to_thread(self._text_of, asked.path)
        if before is not None and before.content == asked.content.encode():
            return  # some agents write by themselves, and then here
        result = await self._write_file(path, before, asked.content)
        if result is not None and result.is_error:
            raise ToolError(result.content)

    def _text_of(self, path: str) -> tuple[str, FileState | None]:
        """Return the path in the folder, and the file as an editor shows it. Raises `ToolError`. Blocks."""
        boundary = self._box.boundary()
        place = boundary.follow(boundary.for_reading(path))
        try:
            status = place.absolute.stat()
        except (FileNotFoundError, NotADirectoryError):
            return place.relative, None
        except OSError as error:
            raise ToolError(f"{path!r} cannot be read: {error.strerror or error}.") from error
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise ToolError(f"{path!r} is not a file that can be read, or is larger than {_LARGEST // 2**20} MiB.")
        if place.absolute.is_relative_to(boundary.root) and self._box.secrets().secret_at(place.absolute, status):
            raise ToolError(f"{path!r} has secrets, and is not given to agents.", error_type="permission")
        state = read_state(place.absolute)
        if state is None or state.kind != "file":
            raise ToolError(f"{path!r} is not a file.")
        return place.relative, state.with_content(self._box.texts.shown(place.absolute, state.content))

    async def _elicit(self, asked: wire.ElicitationAsked) -> JsonObject:
        try:
            if asked.mode == "url":
                question = visit_asked(self._agent, asked.message, asked.url)
            else:
                question = form_asked(self._agent, asked.message, asked.requested_schema)
        except UnaskableError as error:
            raise RpcError(INVALID_PARAMS, f"The user cannot be asked this: {error}.") from error
        decision = await self._ask(question)
        if isinstance(decision, Allowed):
            accepted: JsonObject = {"action": "accept"}
            return accepted if asked.mode == "url" else accepted | {"content": dict(decision.answers)}
        return {"action": "decline" if isinstance(decision, Denied) else "cancel"}


class AgentOps:
    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._info = parts.state.transcript.session
        self._setting: set[asyncio.Task[None]] = set()

    def set_option(self, op: ops.SetAgentOption) -> None:
        """Set an option without waiting for the agent, which may not answer."""
        task = asyncio.create_task(self._set(op), name=f"option {op.option_id}")
        self._setting.add(task)
        task.add_done_callback(self._setting.discard)

    async def aclose(self) -> None:
        for task in self._setting:
            task.cancel()
        if self._setting:
            await asyncio.wait(self._setting)

    async def _set(self, op: ops.SetAgentOption) -> None:
        log = self._parts.recorder
        try:
            model, reported = self._info.model, self._info.agent
            if model is None or reported is None:
                hint = "Its options are known once it has started, with the first message."
                raise UsageError("No agent of another program is running.", hint=hint)
            agent = self._parts.agents.connections.get(model.model)
            if agent is not None and agent.is_running:
                await agent.choose(op.option_id, op.value)
            elif all(one.id != op.option_id for one in reported.options):
                raise UsageError(f"{reported.title} has no option {op.option_id}.")
            else:  # it is set when the agent starts again
                options = (replace(one, value=op.value) if one.id == op.option_id else one for one in reported.options)
                log.emit(replace(reported, options=tuple(options)))
            await log.record(ev.AgentOptionSet(agent=model.model, option_id=op.option_id, value=op.value))
        except StorageError:
            logger.exception("The option of an agent could not be recorded")
        except AgentError as error:
            await log.record(replace(notice_of(error, None), level="warning", code="agent"))

    async def leave_context(self, op: ops.Compact | ops.InspectContext, model: ModelRef) -> str:
        """Say that the agent keeps its context. Return the agent's own command to summarise it, if it has one."""
        reported = self._info.agent
        name = reported.title if reported is not None else model.name
        command = f"/compact {op.focus}".strip() if isinstance(op, ops.Compact) else ""
        has_command = reported is not None and any(one.name == "compact" for one in reported.commands)
        if command and has_command:
            title, hint = f"{name} was sent its own command `/compact`.", ""
        elif command:
            title, hint = f"{name} summarises its conversation by itself, when it needs room.", ""
        else:
            title, hint = f"What {name} sees cannot be shown here.", "It keeps its context by itself."
        await self._parts.recorder.record(ev.Notice(level="info", code="agent", title=title, hint=hint))
        return command if has_command else ""
