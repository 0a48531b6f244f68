"""The one orchestrator of tool calls: validate, decide, ask, write down, act, capture, answer.

No tool asks for itself, writes a workspace file itself, or answers the model itself. Whatever happens, a call that was
taken up is answered with exactly one result.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from desktop_agent.core import events as ev
from desktop_agent.core.clock import Clock
from desktop_agent.core.errors import StorageError, ToolError, WorkspaceError
from desktop_agent.core.event_log import EventLog
from desktop_agent.core.ids import CallId
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.model import Allowed, FileChange, ToolCall, ToolResult, ToolUseBlock, Uncaptured
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.process import ProcessRunner
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.tools.access import Access
from desktop_agent.core.tools.effects import Effects
from desktop_agent.core.tools.gate import ApprovalGate, NotApprovedError
from desktop_agent.core.tools.output import RESULT_LIMIT, fit
from desktop_agent.core.tools.reads import ReadLog
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.spec import (
    SPOOL_KEY,
    AnyTool,
    CommandTool,
    EditTool,
    ReadTool,
    ToolArguments,
    ToolContext,
)
from desktop_agent.core.workspace import check_workspace

INTERRUPTED = "The person stopped this call before it finished. It may have taken effect partly."
NOT_STARTED = "This call was not run, because the turn ended before its turn came."
LATER_CHANGES = Uncaptured(path=".", reason="What the background command changes from now on is not captured.")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """What calls work with: one per session."""

    registry: ToolRegistry
    boundary: Boundary
    reads: ReadLog
    processes: ProcessRunner
    jobs: Jobs
    blobs: Blobs
    environ: Mapping[str, str]
    spool_folder: Path
    access: Access


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The result of a call, and whether nobody was there to approve it."""

    result: ToolResult
    is_unanswered: bool = False


@dataclass(slots=True)
class _Call:
    """A call on its way. `arguments` is None when they could not be used; `problem` then says why."""

    block: ToolUseBlock
    tool: AnyTool | None
    arguments: ToolArguments | None
    problem: ToolError | None
    waited_s: float = 0.0
    """How long it waited for the person: that is not its own time."""

    @property
    def is_parallel(self) -> bool:
        return self.tool is None or self.tool.is_parallel

    def as_model(self) -> ToolCall:
        return ToolCall(id=self.block.id, name=self.block.name, arguments=self.block.arguments)

    @property
    def title(self) -> str:
        if self.tool is None or self.arguments is None:
            return self.block.name
        return self.tool.title(self.arguments)


class ToolRuntime:
    """Runs the tool calls of a session's messages."""

    def __init__(self, toolbox: Toolbox, gate: ApprovalGate, effects: Effects, log: EventLog, clock: Clock) -> None:
        self._box = toolbox
        self._gate = gate
        self._effects = effects
        self._log = log
        self._clock = clock

    async def run(self, turn: int, blocks: Sequence[ToolUseBlock]) -> list[CallOutcome]:
        """Run the calls of one message and return their outcomes in call order.

        Neighbouring calls that only read run side by side; every other call runs alone, after those before it and
        before those behind it. A fatal failure answers the remaining calls without running them. On cancellation every
        call is answered before the cancellation goes on. So it is when the workspace is gone, which is looked at before
        every step: `WorkspaceError`, because a tool would make the folder anew.
        """
        calls = [self._resolve(block) for block in blocks]
        outcomes: dict[CallId, CallOutcome] = {}
        try:
            for batch in _batches(calls):
                if any(outcome.result.error_type == "fatal" for outcome in outcomes.values()):
                    break
                await asyncio.to_thread(check_workspace, self._box.boundary.root)
                await self._run_batch(turn, batch, outcomes)
        except (asyncio.CancelledError, WorkspaceError):
            await self._skip_rest(turn, calls, outcomes)
            raise
        await self._skip_rest(turn, calls, outcomes)
        return [outcomes[block.id] for block in blocks]

    async def _run_batch(self, turn: int, batch: Sequence[_Call], outcomes: dict[CallId, CallOutcome]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for call in batch:
                    group.create_task(self._run_one(turn, call, outcomes), name=f"call {call.block.id}")
        except ExceptionGroup as failures:
            # Calls answer for themselves; what comes out is the journal refusing, and one of those says it all.
            raise failures.exceptions[0] from failures

    def _resolve(self, block: ToolUseBlock) -> _Call:
        """Find the tool and validate the arguments; what is wrong becomes the call's problem, not an exception."""
        if block.rejected:
            return _Call(block, None, None, ToolError(block.rejected, error_type="validation"))
        tool: AnyTool | None = None
        try:
            tool = self._box.registry.require(block.name)
            self._box.access.require(tool)
            return _Call(block, tool, tool.parse(block.arguments), None)
        except ToolError as error:
            return _Call(block, tool, None, error)

    async def _run_one(self, turn: int, call: _Call, outcomes: dict[CallId, CallOutcome]) -> None:
        """Take the call up, run it, and record its one result, whatever happens."""
        started = self._clock.monotonic()
        cancelled: asyncio.CancelledError | None = None
        is_unanswered = False
        try:
            await self._record_start(turn, call)
            result = await self._execute(turn, call)
        except NotApprovedError as error:
            result = _failure(error)
            is_unanswered = error.is_unanswered
        except ToolError as error:
            result = _failure(error)
        except asyncio.CancelledError as error:
            result = ToolResult(content=INTERRUPTED, is_error=True, error_type="recoverable")
            cancelled = error
        except StorageError:
            raise
        except Exception as error:
            logger.exception("The tool %s failed unexpectedly", call.block.name)
            text = f"{call.block.name} failed unexpectedly: {type(error).__name__}: {error}"
            result = ToolResult(content=text, is_error=True, error_type="recoverable")
        outcomes[call.block.id] = CallOutcome(result, is_unanswered)
        await self._record_end(turn, call, result, self._clock.monotonic() - started - call.waited_s)
        if cancelled is not None:
            raise cancelled

    async def _skip_rest(self, turn: int, calls: Sequence[_Call], outcomes: dict[CallId, CallOutcome]) -> None:
        """Answer the calls that were not taken up."""
        result = ToolResult(content=NOT_STARTED, is_error=True, error_type="recoverable")
        for call in calls:
            if call.block.id not in outcomes:
                await self._record_start(turn, call)
                await self._record_end(turn, call, result, 0.0)
                outcomes[call.block.id] = CallOutcome(result)

    async def _execute(self, turn: int, call: _Call) -> ToolResult:
        if call.problem is not None:
            raise call.problem
        tool, arguments = call.tool, call.arguments
        assert tool is not None
        assert arguments is not None
        if self._box.access.is_dry_run:
            text = "dry-run: execution skipped"
            return ToolResult(content=text, is_error=True, error_type="recoverable", metadata={"skipped": True})
        context = self._context(turn, call.block.id)
        match tool:
            case ReadTool():
                await self._enter(turn, call, self._facts(call), f"Allow {tool.name} {call.title}?")
                result = await tool.run(arguments, context)
            case EditTool():
                result = await self._edit(turn, call, tool, arguments, context)
            case CommandTool():
                result = await self._command(turn, call, tool, arguments, context)
            case _:
                assert_never(tool)
        return await self._settle(result)

    async def _edit(
        self,
        turn: int,
        call: _Call,
        tool: EditTool[ToolArguments],
        arguments: ToolArguments,
        context: ToolContext,
    ) -> ToolResult:
        plan = await asyncio.to_thread(tool.plan, arguments, context)
        changes = () if tool.is_dry_run(arguments) else await self._effects.prepare(turn, plan.writes)
        if changes:
            await self._enter(turn, call, self._facts(call), _edit_question(changes), changes)
            await self._effects.apply(turn, call.block.id, changes)
            for change in changes:
                self._box.reads.note(change.path, change.after.digest if change.after else None)
        return ToolResult(content=plan.content, metadata=plan.metadata)

    async def _command(
        self,
        turn: int,
        call: _Call,
        tool: CommandTool[ToolArguments],
        arguments: ToolArguments,
        context: ToolContext,
    ) -> ToolResult:
        command = tool.command(arguments)
        folder = str(await asyncio.to_thread(tool.working_folder, arguments, context))
        facts = replace(self._facts(call), command=command, folder=folder, details=tool.circumstances(arguments))
        allowed = await self._enter(turn, call, facts, "Run this command?")
        if allowed.edited_command is not None and allowed.edited_command != command:
            arguments = tool.with_command(arguments, allowed.edited_command)
        await self._effects.begin_command(turn, call.block.id)
        known_gaps: tuple[Uncaptured, ...] = ()
        try:
            result = await tool.run(arguments, context)
            known_gaps = (LATER_CHANGES,) if "job_id" in result.metadata else ()
        finally:
            await self._effects.collect(turn, call.block.id, known_gaps)
        if tool.command(arguments) == command:
            return result
        note = f"[The person changed the command before allowing it. What ran: {tool.command(arguments)}]\n"
        return replace(result, content=note + result.content)

    def _facts(self, call: _Call) -> CallFacts:
        assert call.tool is not None
        return CallFacts(tool=call.block.name, capabilities=call.tool.capabilities)

    async def _enter(
        self, turn: int, call: _Call, facts: CallFacts, title: str, changes: tuple[FileChange, ...] = ()
    ) -> Allowed:
        asked = self._clock.monotonic()
        try:
            return await self._gate.enter(turn, call.as_model(), facts, title=title, changes=changes)
        finally:
            call.waited_s += self._clock.monotonic() - asked

    async def _settle(self, result: ToolResult) -> ToolResult:
        """Move a spooled output into the blobs and keep what the model reads within the limit for any result."""
        spool = result.metadata.get(SPOOL_KEY)
        if isinstance(spool, str):
            output = await asyncio.to_thread(self._box.blobs.adopt, Path(spool), "text/plain")
            metadata = {key: value for key, value in result.metadata.items() if key != SPOOL_KEY}
            result = replace(result, output=output, metadata=metadata)
        return replace(result, content=fit(result.content, limits=RESULT_LIMIT).text)

    def _context(self, turn: int, call_id: CallId) -> ToolContext:
        def emit_output(text: str) -> None:
            self._log.emit(ev.ToolOutputDelta(turn=turn, call_id=call_id, text=text))

        return ToolContext(
            call_id=call_id,
            boundary=self._box.boundary,
            reads=self._box.reads,
            processes=self._box.processes,
            jobs=self._box.jobs,
            environ=self._box.environ,
            spool_folder=self._box.spool_folder,
            emit_output=emit_output,
            clock=self._clock,
            keep=self._box.blobs.put_ref,
        )

    async def _record_start(self, turn: int, call: _Call) -> None:
        tool = call.tool
        await self._log.record(
            ev.ToolCallStarted(
                turn=turn,
                call=call.as_model(),
                title=call.title,
                source=tool.source if tool else "system",
                capabilities=tool.capabilities if tool else (),
                is_read_only=tool.is_read_only if tool else True,
            )
        )

    async def _record_end(self, turn: int, call: _Call, result: ToolResult, duration_s: float) -> None:
        await self._log.record(
            ev.ToolCallFinished(
                turn=turn,
                call_id=call.block.id,
                state="failed" if result.is_error else "completed",
                result=result,
                duration_s=round(duration_s, 3),
            )
        )


def _batches(calls: Sequence[_Call]) -> list[list[_Call]]:
    """Split calls into runs of neighbours that may go side by side, and single calls that may not."""
    batches: list[list[_Call]] = []
    for call in calls:
        if batches and call.is_parallel and batches[-1][-1].is_parallel:
            batches[-1].append(call)
        else:
            batches.append([call])
    return batches


def _failure(error: ToolError) -> ToolResult:
    return ToolResult(content=str(error), is_error=True, error_type=error.error_type)


def _edit_question(changes: Sequence[FileChange]) -> str:
    verbs = {"created": "Create", "modified": "Change", "deleted": "Delete", "mode_changed": "Change the mode of"}
    if len(changes) == 1:
        return f"{verbs[changes[0].kind]} {changes[0].path}?"
    return f"Change {len(changes)} files?"
