"""The tool calls of one message: which run side by side, and that each gets exactly one recorded result."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import StorageError, ToolError, WorkspaceError, is_disk_full
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import ToolResult, ToolUseBlock
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.access import Access
from desktop_agent.core.tools.execution.executor import ActiveCall, ToolExecutor
from desktop_agent.core.tools.gate import NotApprovedError
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.servers.session_servers import SessionServers
from desktop_agent.core.tools.tool import SKIPPED_KEY

NOT_STARTED = "This call was not run, because the turn ended before its turn came."
_DISK_FULL = (
    "The disk is full, so this was not completed. It may have been done in part: check before you rely on it. "
    "Tell the user, and write nothing more until there is space."
)

logger = logging.getLogger(__name__)


class CallOutcome(Struct, frozen=True):
    result: ToolResult
    is_unanswered: bool = False


class ToolRuntime(Struct, frozen=True, kw_only=True, eq=False):
    registry: ToolRegistry
    access: Access
    executor: ToolExecutor
    servers: SessionServers
    log: EventLog
    clock: Clock

    async def run(
        self, turn: int, blocks: Sequence[ToolUseBlock], *, started: Collection[CallId] = ()
    ) -> list[CallOutcome]:
        """Return the outcomes in the order of the calls. `started`: calls whose start an earlier process recorded.

        Neighbouring read-only calls run side by side; every other call runs alone. After a fatal failure, the rest is
        answered without running. On cancellation or `WorkspaceError`, every call is answered before the error is
        raised.
        """
        calls = [self._resolve(ActiveCall(turn, block, is_recorded=block.id in started)) for block in blocks]
        outcomes: dict[CallId, CallOutcome] = {}
        try:
            for batch in _batches(calls):
                if any(outcome.result.error_type == "fatal" for outcome in outcomes.values()):
                    break
                await self.executor.require_workspace()
                await self._run_batch(batch, outcomes)
        except (asyncio.CancelledError, WorkspaceError):
            await self._skip_rest(calls, outcomes)
            raise
        await self._skip_rest(calls, outcomes)
        return [outcomes[block.id] for block in blocks]

    async def _run_batch(self, batch: Sequence[ActiveCall], outcomes: dict[CallId, CallOutcome]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for call in batch:
                    group.create_task(self._run_one(call, outcomes), name=f"call {call.block.id}")
        except ExceptionGroup as failures:
            # Calls handle their own errors. Only errors of the journal arrive here, and the first is enough.
            raise failures.exceptions[0] from failures

    def _resolve(self, call: ActiveCall) -> ActiveCall:
        block = call.block
        if block.rejected:
            call.problem = ToolError(block.rejected, error_type="validation")
            return call
        try:
            call.tool = self.registry.require(block.name)
            self.access.require(call.tool)
            call.arguments = call.tool.parse(block.arguments)
        except ToolError as error:
            call.problem = error
        return call

    async def _run_one(self, call: ActiveCall, outcomes: dict[CallId, CallOutcome]) -> None:
        started = self.clock.monotonic()
        cancelled: asyncio.CancelledError | None = None
        is_unanswered = False
        try:
            await self._record_start(call)
            result = await self.executor.run(call)
        except NotApprovedError as error:
            result = _failure(error)
            is_unanswered = error.is_unanswered
        except ToolError as error:
            result = _failure(error)
        except asyncio.CancelledError as error:
            result = await self._concluded(call)
            cancelled = error
        except StorageError:
            raise
        except Exception as error:
            if is_disk_full(error):
                text = mask(f"{call.block.name}: {_DISK_FULL} ({error})")
            else:
                logger.exception("The tool %s failed unexpectedly", call.block.name)
                text = mask(f"{call.block.name} failed unexpectedly: {type(error).__name__}: {error}")
            result = ToolResult(content=text, is_error=True, error_type="recoverable")
        if call.confinement:  # also added when the command failed or was stopped
            result = replace(result, metadata=result.metadata | {"confinement": call.confinement})
        outcomes[call.block.id] = CallOutcome(result, is_unanswered or call.is_unanswered)
        await self._record_end(call, result, self.clock.monotonic() - started - call.waited_s)
        if cancelled is not None:
            raise cancelled

    async def _concluded(self, call: ActiveCall) -> ToolResult:
        concluding = asyncio.create_task(self.executor.conclude(call), name=f"conclude {call.block.id}")
        with suppress(asyncio.CancelledError):
            await unhurried(concluding)
        return concluding.result()

    async def _skip_rest(self, calls: Sequence[ActiveCall], outcomes: dict[CallId, CallOutcome]) -> None:
        result = ToolResult(content=NOT_STARTED, is_error=True, error_type="recoverable", metadata={SKIPPED_KEY: True})
        for call in calls:
            if call.block.id not in outcomes:
                await self._record_start(call)
                await self.executor.withdraw(call)
                await self._record_end(call, result, 0.0)
                outcomes[call.block.id] = CallOutcome(result)

    async def _record_start(self, call: ActiveCall) -> None:
        if call.is_recorded:
            return
        tool = call.tool
        await self.log.record(
            ev.ToolCallStarted(
                turn=call.turn,
                call=call.as_model(),
                title=call.title,
                source=tool.source if tool else "system",
                capabilities=tool.capabilities if tool else (),
                is_read_only=tool.is_read_only if tool else True,
            )
        )

    async def _record_end(self, call: ActiveCall, result: ToolResult, duration_s: float) -> None:
        await self.log.record(
            ev.ToolCallFinished(
                turn=call.turn,
                call_id=call.block.id,
                state="failed" if result.is_error else "completed",
                result=result,
                duration_s=round(duration_s, 3),
            )
        )


def _batches(calls: Sequence[ActiveCall]) -> list[list[ActiveCall]]:
    batches: list[list[ActiveCall]] = []
    for call in calls:
        if batches and call.is_parallel and batches[-1][-1].is_parallel:
            batches[-1].append(call)
        else:
            batches.append([call])
    return batches


def _failure(error: ToolError) -> ToolResult:
    return ToolResult(content=str(error), is_error=True, error_type=error.error_type)
