"""The commands that an agent of another program has us run during its turn: `terminal/*`.

They run as those of our own tool, but in the agent's sandbox and with its environment, and they end with the turn.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.calls import AgentCall, line_of
from desktop_agent.core.agents.connection import AgentConnection
from desktop_agent.core.agents.peer import INVALID_REQUEST, NOT_FOUND, RpcError
from desktop_agent.core.base.errors import AgentError, StorageError, ToolError
from desktop_agent.core.base.ids import CallId, new_prompt_id
from desktop_agent.core.protocol.model import JsonObject, ToolResult, ToolUseBlock
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.output import OutputCapture
from desktop_agent.core.system.processes.shell import joined_words
from desktop_agent.core.tools.builtin.run_terminal_cmd import RunTerminalCmd, RunTerminalCmdArguments, answer_of
from desktop_agent.core.tools.execution.runtime import ActiveCall, ToolRuntime
from desktop_agent.core.tools.tool import ToolContext

MOST_OPEN: Final = 32
"""How many terminals an agent may have before it releases some."""
_USUAL_BYTES: Final = 2**20

BeginCommand = Callable[[str, str, Path, tuple[str, ...]], Awaitable[AgentCall]]
"""Returns the call as which a line runs, also as agents tell it, in a folder. Raises `ToolError` if it may not."""
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
        """The terminals whose command is a call of ours, because the agent had told none."""

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
        """End all commands with their processes. Raises `StorageError` if what one came to could not be recorded."""
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
        # Without arguments it is a line for a shell: so most agents mean it.
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
