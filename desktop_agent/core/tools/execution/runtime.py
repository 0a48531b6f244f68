"""The tool calls of one message: which run side by side, how one is carried out, and that each gets exactly one result.

A call is carried out by the kind of its tool: decided, approved, confined, recorded, captured and answered.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, assert_never, cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import StorageError, ToolError, WorkspaceError, is_disk_full
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.diagnostics.diagnostics import Diagnostics
from desktop_agent.core.extensions.hook_runs import NOTHING, HookOutcome, Hooks
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.mcp.client import AskUser, SampleModel
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import (
    Aborted,
    ApprovalRequest,
    Decision,
    JsonObject,
    ServerQuestion,
    TodoItem,
    ToolCall,
    ToolResult,
    ToolUseBlock,
)
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.system.workspace import HeldWorkspace
from desktop_agent.core.tools.access import Access, ToolRegistry
from desktop_agent.core.tools.builtin import AnyTool
from desktop_agent.core.tools.builtin.run_terminal_cmd import RunTerminalCmd, RunTerminalCmdArguments
from desktop_agent.core.tools.execution.confiner import (
    KEPT_BACK_KEY,
    Confinement,
    Confiner,
    kept_back_in,
    kept_back_words,
)
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.safeguard import PlannedCommand
from desktop_agent.core.tools.files.file_tool import require_notebooks
from desktop_agent.core.tools.files.open_texts import OpenTexts
from desktop_agent.core.tools.gate import (
    ApprovalGate,
    Case,
    NotApprovedError,
    Permit,
    ServerQuestions,
    arguments_digest,
    edit_question,
)
from desktop_agent.core.tools.mcp_tool import McpArguments, McpTool
from desktop_agent.core.tools.output import RESULT_LIMIT, ContextLimits, fit, fit_all
from desktop_agent.core.tools.secret_files import SecretNames
from desktop_agent.core.tools.session_servers import SessionServers
from desktop_agent.core.tools.tool import (
    SKIPPED_KEY,
    SPOOL_KEY,
    STOPPED_KEY,
    EditTool,
    ReadLog,
    ReadTool,
    TaskOrder,
    Tool,
    ToolArguments,
    ToolContext,
    is_dry_run,
)


class Toolbox(Struct, frozen=True, kw_only=True):
    workspace: HeldWorkspace
    access: Access
    boundary: Callable[[], Boundary]
    confiner: Confiner
    reads: ReadLog
    processes: ProcessRunner
    jobs: Jobs
    blobs: Blobs
    environ: Mapping[str, str]
    kept_back: Mapping[str, str]
    spool_folder: Path
    texts: OpenTexts
    todos: Callable[[], tuple[TodoItem, ...]]
    secrets: Callable[[], SecretNames]
    """Returns which files of the workspace are secrets under another name; made for one call."""
    limits: Callable[[], ContextLimits] = ContextLimits


INTERRUPTED = "The user stopped this call before it finished. It may have taken effect partly."
MADE_REPOSITORIES = (
    "The command left a git repository or a list of submodules: {}. Git runs the programs that such a repository "
    "names. Do not run git there before the user has looked at it.\n"
)


class ActiveCall(Struct):
    """A call in progress. If its arguments cannot be used, `arguments` is None and `problem` says why."""

    turn: int
    block: ToolUseBlock
    tool: AnyTool | None = None
    arguments: ToolArguments | None = None
    problem: ToolError | None = None
    is_recorded: bool = False
    waited_s: float = 0.0
    confinement: str = ""
    """Set whatever the outcome; empty when the command was not confined."""
    is_unanswered: bool = False
    partial: ToolResult | None = None
    hooked: HookOutcome = NOTHING
    written: str = ""
    """What the model wrote, in a sentence, if a hook changed it."""

    @property
    def is_parallel(self) -> bool:
        return self.tool is None or self.tool.is_parallel

    @property
    def title(self) -> str:
        if self.tool is None or self.arguments is None:
            return self.block.name
        return cast("Tool[ToolArguments]", self.tool).title(self.arguments)

    def as_model(self) -> ToolCall:
        return ToolCall(id=self.block.id, name=self.block.name, arguments=self.block.arguments)


_LONGEST_CHANGED = 2_000
NOT_STARTED = "This call was not run, because the turn ended before its turn came."
_DISK_FULL = (
    "The disk is full, so this was not completed. It may have been done in part: check before you rely on it. "
    "Tell the user, and write nothing more until there is space."
)

logger = logging.getLogger(__name__)


class CallOutcome(Struct, frozen=True):
    result: ToolResult
    is_unanswered: bool = False


KeepPartial = Callable[[ToolResult], None]
RunTask = Callable[[int, CallId, TaskOrder, KeepPartial], Awaitable[CallOutcome]]
"""Runs a sub-agent for a call of a turn. If cancelled, it keeps what the sub-agent has said until then."""
_ONLY_IN_FOREGROUND = "A sub-agent leaves no command running. Run it without is_background, or leave it to the report."


class ToolRuntime(Struct, frozen=True, kw_only=True, eq=False):
    registry: ToolRegistry
    box: Toolbox
    gate: ApprovalGate
    hooks: Hooks
    questions: ServerQuestions
    sample_during: Callable[[int, AskUser], SampleModel]
    """Returns the function through which a server asks the session's model during a call."""
    effects: Effects
    diagnostics: Diagnostics
    servers: SessionServers
    log: EventLog
    clock: Clock
    run_task: RunTask
    on_behalf_of: tuple[int, CallId] | None = None
    """The turn and call of another session for which changes are recorded, if this is a sub-agent's."""

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
                await asyncio.to_thread(self.box.workspace.check)
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
            self.box.access.require(call.tool)
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
            try:
                result = await self._carry_out(call)
            finally:
                await self.gate.withdraw(call.turn, call.block.id)
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
        concluding = asyncio.create_task(self._conclude(call), name=f"conclude {call.block.id}")
        with suppress(asyncio.CancelledError):
            await unhurried(concluding)
        return concluding.result()

    async def _skip_rest(self, calls: Sequence[ActiveCall], outcomes: dict[CallId, CallOutcome]) -> None:
        result = ToolResult(content=NOT_STARTED, is_error=True, error_type="recoverable", metadata={SKIPPED_KEY: True})
        for call in calls:
            if call.block.id not in outcomes:
                await self._record_start(call)
                await self.gate.withdraw(call.turn, call.block.id)
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

    # -- by the kind of its tool --

    async def _carry_out(self, call: ActiveCall) -> ToolResult:
        if call.problem is not None:
            raise call.problem
        tool = call.tool
        assert tool is not None
        if self.box.access.is_dry_run:
            text = "dry-run: execution skipped"
            return ToolResult(content=text, is_error=True, error_type="recoverable", metadata={SKIPPED_KEY: True})
        arguments = await self._ask_hooks(call, tool)
        context = self.context(call)
        match tool:
            case ReadTool():
                result = await self._read(tool, call, arguments, context)
            case EditTool():
                result = await self._edit(tool, call, arguments, context)
            case RunTerminalCmd():
                assert isinstance(arguments, RunTerminalCmdArguments)
                result = await self._command(tool, call, arguments, context)
            case McpTool():
                assert isinstance(arguments, McpArguments)
                result = await self._call_server(tool, call, arguments, context)
            case _:
                assert_never(tool)
        if call.written:
            ran = shortened(json.dumps(call.block.arguments, ensure_ascii=False), _LONGEST_CHANGED)
            note = f"[A hook of the user's changed this call. What ran: {ran}]\n"
            result = replace(result, content=note + result.content)
        result = await self._diagnosed(call, await self.fit_result(result))
        await self.hooks.after_call(call.turn, call.as_model(), result)
        return result

    async def _diagnosed(self, call: ActiveCall, result: ToolResult) -> ToolResult:
        """Return the result with the language servers' new diagnostics of the files that the call changed."""
        call.partial = result  # what counts if the user stops the wait
        asked = self.clock.monotonic()
        try:
            told = await self.diagnostics.after_call(*self._recorded_as(call))
        finally:
            call.waited_s += self.clock.monotonic() - asked
        return replace(result, content=result.content + told) if told else result

    async def _ask_hooks(self, call: ActiveCall, tool: AnyTool) -> ToolArguments:
        """Have the hooks judge a call before the policy does, and return its arguments, which they may have changed.

        Raises `ToolError` if one refuses the call.
        """
        asked = self.clock.monotonic()
        try:
            outcome = await self.hooks.before_call(call.turn, call.as_model())
        finally:
            call.waited_s += self.clock.monotonic() - asked
        if outcome.decision in ("deny", "stop"):
            text = f"A hook of the user's refused this call; it was not run. {outcome.reason}".strip()
            raise ToolError(text, error_type="permission")
        call.hooked = outcome
        if outcome.changed is not None:
            before = call.block.arguments
            wrote = before.get("command") if isinstance(tool, RunTerminalCmd) else None
            said = wrote if isinstance(wrote, str) else json.dumps(before, ensure_ascii=False)
            call.written = f"A hook changed this. The model wrote: `{shortened(named(said), _LONGEST_CHANGED)}`."
            call.block = replace(call.block, arguments=outcome.changed)
            call.arguments = tool.parse(outcome.changed)
        assert call.arguments is not None
        return call.arguments

    async def _conclude(self, call: ActiveCall) -> ToolResult:
        stopped: JsonObject = {STOPPED_KEY: True}
        nothing = ToolResult(content=INTERRUPTED, is_error=True, error_type="recoverable", metadata=stopped)
        if call.partial is None:
            return nothing
        try:
            partial = await self.fit_result(call.partial)
        except StorageError:  # the disk is full, so only the interruption is reported
            return nothing
        content = f"{INTERRUPTED} Until then it had come to:\n{partial.content}"
        metadata = partial.metadata | stopped
        return replace(partial, content=content, is_error=True, error_type="recoverable", metadata=metadata)

    async def _read(
        self, tool: ReadTool[ToolArguments], call: ActiveCall, arguments: ToolArguments, context: ToolContext
    ) -> ToolResult:
        paths = await asyncio.to_thread(tool.paths, arguments, context)
        disguised = await asyncio.to_thread(context.secrets.behind, paths)
        asks = tool.question(arguments)
        facts = replace(
            _facts(tool),
            paths=paths,
            disguised=tuple(disguised.items()),
            asks=tool.why_asked(arguments) or asks,
            details=tool.circumstances(arguments),
        )
        await self._enter(call, _case(tool, call, arguments, facts, asks or tool.heading(call.title)))
        return await tool.run(arguments, context)

    async def _edit(
        self, tool: EditTool[ToolArguments], call: ActiveCall, arguments: ToolArguments, context: ToolContext
    ) -> ToolResult:
        turn, call_id = self._recorded_as(call)
        async with self.effects.writing:
            plan = await asyncio.to_thread(tool.plan, arguments, context)
            await asyncio.to_thread(require_notebooks, plan.writes)
            changes = () if is_dry_run(arguments) else await self.effects.prepare(turn, plan.writes)
        notes: tuple[str, ...] = ()
        if changes:
            notes = await asyncio.to_thread(self.effects.warnings, changes)
            facts = replace(_facts(tool), paths=tuple(change.path for change in changes), details=notes)
            case = _case(tool, call, arguments, facts, edit_question(changes))
            await self._enter(call, replace(case, request=replace(case.request, changes=changes)))
            async with self.effects.writing:
                notes += await self.effects.apply(turn, call_id, changes)
        return ToolResult(content="\n".join((plan.content, *notes)), metadata=plan.metadata)

    async def _call_server(
        self, tool: McpTool, call: ActiveCall, arguments: McpArguments, context: ToolContext
    ) -> ToolResult:
        change = await tool.change()
        facts = replace(
            _facts(tool),
            server=tool.server,
            details=tool.circumstances(arguments),
            tool_change=change.kind if change is not None else "",
        )
        case = _case(tool, call, arguments, facts, tool.heading(call.title))
        request = replace(
            case.request, server_tool=tool.server_tool, tool_change=change, tool_definition=tool.introduction(change)
        )
        permit = await self._enter(call, replace(case, request=request))
        if permit.answer is not None:
            await tool.allow(permit.rules, is_lasting=permit.is_lasting)
        await self._recheck_workspace()
        if not tool.may_write:
            return await tool.run(arguments, context)
        run = PlannedCommand(
            "", str(context.boundary.root), is_confined=tool.is_confined, author="mcp", server=tool.server
        )
        turn, call_id = self._recorded_as(call)
        async with self.effects.writing:
            snapshot = await self.effects.begin_command(turn, call_id, run)
            try:
                return await tool.run(arguments, context)
            finally:
                await self.effects.collect(turn, call_id, snapshot, author=run.author)

    async def _command(
        self, tool: RunTerminalCmd, call: ActiveCall, arguments: RunTerminalCmdArguments, context: ToolContext
    ) -> ToolResult:
        if arguments.is_background and self.on_behalf_of is not None:
            raise ToolError(_ONLY_IN_FOREGROUND)
        facts = replace(
            _facts(tool),
            command=arguments.command,
            folder=str(await asyncio.to_thread(tool.working_folder, arguments, context)),
            details=tool.circumstances(arguments),
            wants_unconfined=arguments.with_escalated_permissions,
            justification=(arguments.justification or "").strip(),
        )
        case = _case(tool, call, arguments, facts, "Run this command?")
        permit = await self._enter(call, case)
        arguments, note = _as_permitted(tool, arguments, permit)
        confinement = await self.box.confiner.confinement(permit.confinement)
        result = await self._run_command(tool, call, arguments, context, confinement)
        command = arguments.command
        if denial := await asyncio.to_thread(confinement.denial_in, result):
            result = await self._escalate(tool, call, arguments, context, case.edited(command), result, denial)
        elif hint := await asyncio.to_thread(confinement.misplaced_program_in, result):
            note += f"[{hint}]\n"
        kept_back = {**(confinement.kept_back if call.confinement else {}), **self.box.kept_back}
        missed = await asyncio.to_thread(kept_back_in, command, result, kept_back, arguments.env or {})
        if missed:
            note += f"[{kept_back_words(missed)}]\n"
            result = replace(result, metadata=result.metadata | {KEPT_BACK_KEY: list(missed)})
        return replace(result, content=note + result.content) if note else result

    async def _escalate(
        self,
        tool: RunTerminalCmd,
        call: ActiveCall,
        arguments: RunTerminalCmdArguments,
        context: ToolContext,
        case: Case,
        refused: ToolResult,
        denial: str,
    ) -> ToolResult:
        title, reason = "Run this command outside the sandbox?", f"{denial} Run it again outside the sandbox?"
        facts, request = replace(case.facts, wants_unconfined=True), replace(case.request, title=title, reason=reason)
        try:
            # What the hooks said was about the run in the sandbox.
            permit = await self._enter(call, replace(case, facts=facts, request=request, hooked=NOTHING))
        except NotApprovedError as error:
            note = f"[{denial} It was not run outside the sandbox: {error}]\n"
        except ToolError:
            note = f"[{denial} The user's settings do not let it run outside.]\n"
        else:
            if isinstance(spool := refused.metadata.get(SPOOL_KEY), str):
                await asyncio.to_thread(Path(spool).unlink, missing_ok=True)
            context.emit_output("\n[Again, outside the sandbox]\n")
            arguments, edited = _as_permitted(tool, arguments, permit)
            result = await self._run_command(tool, call, arguments, context, Confinement())
            note = f"[{denial} The user allowed it outside the sandbox; this is that run.]\n"
            metadata = result.metadata | {"escalated": True}
            return replace(result, content=note + edited + result.content, metadata=metadata)
        return replace(refused, content=note + refused.content)

    async def _run_command(
        self,
        tool: RunTerminalCmd,
        call: ActiveCall,
        arguments: RunTerminalCmdArguments,
        context: ToolContext,
        confinement: Confinement,
    ) -> ToolResult:
        await self._recheck_workspace()
        call.confinement = confinement.words
        context = replace(context, confine=confinement.confine)
        if not confinement.may_write:
            return await tool.run(arguments, context)
        folder = str(await asyncio.to_thread(tool.working_folder, arguments, context))
        run = PlannedCommand(arguments.command, folder, is_confined=confinement.is_confined)
        turn, call_id = self._recorded_as(call)
        job_id = ""
        async with self.effects.writing:
            snapshot = await self.effects.begin_command(turn, call_id, run)
            confinement.protect(self.effects.repositories(context.boundary.root))
            try:
                result = await tool.run(arguments, context)
                job_id = str(result.metadata.get("job_id", ""))
            finally:
                made = await self.effects.collect(turn, call_id, snapshot, job_id)
        if made and confinement.words:  # outside the sandbox, the user had allowed the command
            result = replace(result, content=MADE_REPOSITORIES.format(", ".join(made)) + result.content)
        return result

    def _recorded_as(self, call: ActiveCall) -> tuple[int, CallId]:
        return self.on_behalf_of or (call.turn, call.block.id)

    async def _recheck_workspace(self) -> None:
        """Raises `ToolError` if the folder was replaced while the user was asked about the old one."""
        try:
            await asyncio.to_thread(self.box.workspace.check)
        except WorkspaceError as error:
            raise ToolError(f"{error.title} Nothing was run.", error_type="fatal") from error

    async def _enter(self, call: ActiveCall, case: Case) -> Permit:
        asked = self.clock.monotonic()
        try:
            return await self.gate.enter(call.turn, case)
        finally:
            call.waited_s += self.clock.monotonic() - asked

    async def fit_result(self, result: ToolResult) -> ToolResult:
        spool = result.metadata.get(SPOOL_KEY)
        if isinstance(spool, str):
            output = await asyncio.to_thread(self.box.blobs.adopt, Path(spool), "text/plain")
            metadata = {key: value for key, value in result.metadata.items() if key != SPOOL_KEY}
            result = replace(result, output=output, metadata=metadata)
        # The output of a command was already cut by these limits. The rest is only facts and notes.
        is_printed = "exit_code" in result.metadata
        fitted = fit(result.content, limits=RESULT_LIMIT) if is_printed else fit_all(result.content, self.box.limits())
        return replace(result, content=fitted.text)

    def context(self, call: ActiveCall) -> ToolContext:
        def emit_output(text: str) -> None:
            self.log.emit(ev.ToolOutputDelta(turn=call.turn, call_id=call.block.id, text=text))

        async def ask_user(question: ServerQuestion) -> Decision:
            asked = self.clock.monotonic()
            try:
                decision = await self.questions.ask(call.turn, call.as_model(), question)
            finally:
                call.waited_s += self.clock.monotonic() - asked
            call.is_unanswered = call.is_unanswered or isinstance(decision, Aborted)
            return decision

        def keep_partial(result: ToolResult) -> None:
            call.partial = result

        async def run_task(order: TaskOrder) -> ToolResult:
            outcome = await self.run_task(call.turn, call.block.id, order, keep_partial)
            call.is_unanswered = call.is_unanswered or outcome.is_unanswered
            return outcome.result

        return ToolContext(
            call_id=call.block.id,
            boundary=self.box.boundary(),
            secrets=self.box.secrets(),
            reads=self.box.reads,
            processes=self.box.processes,
            jobs=self.box.jobs,
            environ=self.box.environ,
            spool_folder=self.box.spool_folder,
            emit_output=emit_output,
            texts=self.box.texts,
            clock=self.clock,
            todos=self.box.todos,
            limits=self.box.limits(),
            keep=self.box.blobs.put_ref,
            ask_user=ask_user,
            sample_model=self.sample_during(call.turn, ask_user),
            keep_partial=keep_partial,
            run_task=run_task,
        )


def _facts(tool: Tool[Any]) -> CallFacts:
    return CallFacts(tool=tool.name, capabilities=tool.capabilities, source=tool.source)


def _case(tool: Tool[Any], call: ActiveCall, arguments: ToolArguments, facts: CallFacts, title: str) -> Case:
    asking = call.as_model()
    request = ApprovalRequest(
        call_id=asking.id,
        tool=asking.name,
        title=title,
        reason="",
        arguments_digest=arguments_digest(asking),
        cwd=facts.folder,
        details=facts.details,
        server=facts.server,
        arguments=tool.asked_arguments(arguments, asking.arguments),
        explanation=tool.explanation(arguments),
    )
    return Case(call=asking, facts=facts, request=request, hooked=call.hooked, written=call.written)


def _as_permitted(
    tool: RunTerminalCmd, arguments: RunTerminalCmdArguments, permit: Permit
) -> tuple[RunTerminalCmdArguments, str]:
    edited = permit.edited_command
    if edited is None or edited == arguments.command:
        return arguments, ""
    note = f"[The user changed the command before allowing it. What ran: {edited}]\n"
    return tool.with_command(arguments, edited), note


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
