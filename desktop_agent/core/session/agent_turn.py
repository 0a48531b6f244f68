"""One turn of another program's agent: its updates become our events, and its questions ours.

The folder is scanned before and after its calls, whatever they report. What it changes between calls is found as the
changes of a server are (`core/tools/execution/writers.py`).
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.calls import AgentCall, text_of
from desktop_agent.core.agents.connection import AgentConnection
from desktop_agent.core.agents.definition import title_of
from desktop_agent.core.base.errors import AgentError, ServerError, ToolError
from desktop_agent.core.base.ids import claim_id, new_prompt_id
from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.context.packing import Told, told_in_turn, told_since
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    AssistantBlock,
    ContextUse,
    Decision,
    JsonObject,
    ModelRef,
    ServerQuestion,
    StopReason,
    TextBlock,
    ThinkingBlock,
    TodoItem,
    ToolResult,
    ToolUseBlock,
    Usage,
)
from desktop_agent.core.session.agent_services import AgentQuestions, AgentServices, AgentTerminals, meant_by_yes
from desktop_agent.core.session.prompt_queue import PromptQueue
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.execution.effects import to_its_end
from desktop_agent.core.tools.execution.runtime import INTERRUPTED
from desktop_agent.core.tools.execution.safeguard import PlannedCommand
from desktop_agent.core.tools.gate import Case, NotApprovedError
from desktop_agent.core.tools.output import fit_all
from desktop_agent.core.tools.tool import STOPPED_KEY

_ENDS: Final[dict[wire.StopReason, ev.TurnEndReason]] = {
    "end_turn": "completed", "max_tokens": "limit", "max_turn_requests": "max_turns", "refusal": "refused",
    "cancelled": "interrupted",
}  # fmt: skip
_LONGEST_MESSAGE = 2**20
"""How many characters are kept in one message. What is longer becomes several."""
_MOST_OPEN_CALLS = 200
_HOLDS_S = 1.0
"""How long to wait for the details of a call that the agent has only announced."""
_NOT_TOLD = "The agent's turn ended before it said how this call ended."


class AgentTurn:
    def __init__(
        self, number: int, model: ModelRef, parts: SessionParts, agent: AgentConnection, queue: PromptQueue
    ) -> None:
        self.answers = 0
        self.failure = None
        self._number = number
        self._model = model
        self._parts = parts
        self._agent = agent
        self._queue = queue
        self._log = parts.recorder
        self._questions = AgentQuestions(number, parts, agent)
        self._pieces: list[tuple[bool, list[str]]] = []
        """The message being written, in parts: whether a part is a thought, and its pieces."""
        self._size = 0
        self._message_id = ""
        self._calls: dict[str, AgentCall] = {}
        self._shown: set[str] = set()
        """The agent's ids of calls that are shown as our own calls."""
        self._looking: tuple[AgentCall, Snapshot] | None = None
        """The call whose changes are collected next, and the folder as it was before."""
        self._terminals = AgentTerminals(number, agent, parts.runtime, self._begin_command, self._end_command)
        self._services = AgentServices(agent.name, parts.runtime.box, self._write, self._ask_user, self._terminals)
        self._runs_ours = False
        self._order = asyncio.Lock()
        self._hold: asyncio.TimerHandle | None = None
        self._is_unanswered = False
        self._cost_usd: float | None = None
        self._handing: asyncio.Task[None] | None = None
        self._is_stopped_to_hear = False
        self._has_begun_anew = False
        """Whether the agent began a turn for a message, which was cancelled, and perhaps this one with it."""

    async def run(self) -> ev.TurnEndReason:
        """Raises `AgentError`. On cancellation the agent is stopped, and what it wrote until then is kept."""
        if (reason := await self._parts.spending.why_stop(self._number)) is not None:
            return reason
        await self._note_session()
        title, self._agent.title = self._agent.title, ""
        await self._rename(title)
        await self._parts.effects.watch(self._number)
        self._queue.on_steering = self._hand_over
        try:
            while True:
                await self._queue.take_steering(self._number)
                before = self._agent.cost_usd
                end = await self._agent.prompt(await self._prompt(), self)
                if self._handing is not None:
                    await asyncio.shield(self._handing)
                await self._terminals.aclose()
                await self._close("end_turn", _NOT_TOLD)
                await self._report_usage(end, before)
                goes_on = self._is_stopped_to_hear and end.stop_reason in ("end_turn", "cancelled")
                if not goes_on or not self._queue.steering:
                    return self._reason(end)
                if (reason := await self._parts.spending.why_stop(self._number)) is not None:
                    return reason
                await self._notify("info", f"{self._agent.name} was stopped to read your message, and goes on with it.")
                self._is_stopped_to_hear = False
        except BaseException:
            await unhurried(self._terminals.aclose())
            await unhurried(self._close("interrupted", INTERRUPTED))
            raise
        finally:
            self._queue.on_steering = lambda: None
            if self._handing is not None:
                self._handing.cancel()
                with suppress(asyncio.CancelledError):
                    await self._handing

    def _reason(self, end: wire.PromptEnd) -> ev.TurnEndReason:
        if self._is_unanswered:
            return "approval_required"
        if end.stop_reason == "cancelled" and self._has_begun_anew:
            return "completed"  # the user stopped nothing, and the message is the next prompt
        return _ENDS[end.stop_reason]

    async def _note_session(self) -> None:
        agent, known = self._agent, self._parts.state.transcript.session.agent_sessions
        is_recorded = any(one.agent == self._model.model and one.id == agent.session_id for one in known)
        if agent.said or not is_recorded:
            info = agent.facts.agent_info
            await self._log.record(
                ev.AgentSessionOpened(
                    agent=self._model.model,
                    agent_session=agent.session_id,
                    name=title_of(agent.kind) or agent.name,
                    version=info.version if info is not None else "",
                    kind=agent.kind,
                    through_turn=agent.through_turn,
                    said=agent.said,
                )
            )
            agent.said = ()
        if agent.is_strange:
            agent.is_strange = False
            title = f"{agent.name} goes on with its own session, which could not be compared with this conversation."
            await self._notify("info", title, "What you said in its own program meanwhile is not shown here.")

    async def _prompt(self) -> list[JsonObject]:
        await self._parts.context_manager.pins.expire()
        fold, agent = self._parts.state.history.fold, self._agent
        told = told_since(fold, self._model, is_known=agent.is_known, through_turn=agent.through_turn)
        self._agent.is_known = True
        return [block for one in told if (block := await self._block(one)) is not None]

    async def _block(self, one: Told) -> JsonObject | None:
        if isinstance(one, str):
            return {"type": "text", "text": one}
        if not self._agent.facts.agent_capabilities.prompt_capabilities.image:
            return {"type": "text", "text": "[A picture, which this agent does not take.]"}
        content = await asyncio.to_thread(self._parts.runtime.box.blobs.get, one.blob)
        return {"type": "image", "mimeType": one.media_type, "data": base64.b64encode(content).decode()}

    # -- what the user says meanwhile --

    def _hand_over(self) -> None:
        """Pass on messages that steer the turn: at once if the agent can take them, else after its calls."""
        if not self._agent.facts.takes_messages:
            self._agent.do_next(self._stop_to_hear)
        elif self._handing is None or self._handing.done():
            self._handing = asyncio.create_task(self._hand(), name="a message into the turn")

    async def _hand(self) -> None:
        while self._queue.steering:
            prompt = self._queue.steering[0]
            async with self._order:
                await self._start_held()
                await self._end_message("end_turn")
            blocks = [block for one in told_in_turn(prompt) if (block := await self._block(one)) is not None]
            try:
                end, why = await self._agent.steer(blocks), ""
                is_taken = end.is_taken
                self._has_begun_anew |= end.has_begun_anew
            except AgentError as error:
                if not self._agent.is_running:
                    return
                is_taken, why = False, str(error)
            async with self._order:
                if is_taken:
                    await self._queue.take(prompt, self._number)
                else:
                    await self._queue.postpone(prompt)
                    title = f"{self._agent.name} does not take your message now. It waits for the end of the turn."
                    await self._notify("info", title, why)

    async def _stop_to_hear(self) -> None:
        is_between_calls = all(call.has_ended for call in self._calls.values())
        if self._queue.steering and is_between_calls and not self._is_stopped_to_hear:
            self._is_stopped_to_hear = True
            self._agent.stop_prompt()

    # -- what the agent tells --

    async def take(self, update: wire.Update, since_ns: int) -> None:
        async with self._order:
            match update:
                case wire.MessageChunk(content=content, message_id=message_id):
                    await self._say(text_of(content), message_id or "", is_thought=False)
                case wire.ThoughtChunk(content=content, message_id=message_id):
                    await self._say(text_of(content), message_id or "", is_thought=True)
                case wire.CallBegun() | wire.CallUpdated():
                    await self._tell_call(update, since_ns)
                case wire.PlanUpdated(entries=entries):
                    await self._plan(entries)
                case wire.InfoUpdated(title=str(title)):
                    await self._rename(title)
                case wire.UsageUpdated():
                    self._measure(update)
                case wire.NoticeGiven(title=title, severity=level, description=words):
                    await self._notify(level, without_controls(title), without_controls(words or ""))
                case wire.CompactionUpdated(status="completed"):
                    await self._notify("info", f"{self._agent.name} summarised the older part of its conversation.")
                case wire.CompactionUpdated(status="failed", error=error):
                    title = f"{self._agent.name} could not summarise its conversation."
                    await self._notify("warning", title, without_controls(error or ""))
                case _:
                    pass

    async def _say(self, text: str, message_id: str, *, is_thought: bool) -> None:
        await self._start_held()
        if message_id and self._message_id and message_id != self._message_id:
            await self._end_message("end_turn")
        self._message_id = message_id or self._message_id
        delta = ev.ThinkingDelta if is_thought else ev.TextDelta
        self._log.emit(delta(turn=self._number, text=text))
        if not self._pieces or self._pieces[-1][0] != is_thought:
            self._pieces.append((is_thought, []))
        self._pieces[-1][1].append(text)
        self._size += len(text)
        if self._size > _LONGEST_MESSAGE:
            await self._end_message("end_turn")

    async def _end_message(self, stop: StopReason, *calls: ToolUseBlock) -> None:
        content: tuple[AssistantBlock, ...] = (*(_block_of(*one) for one in self._pieces), *calls)
        if content:
            message_id, self._message_id, self._pieces, self._size = self._message_id, "", [], 0
            self.answers += 1
            await self._log.record(
                ev.MessageDone(
                    turn=self._number, message_id=message_id, model=self._model, content=content, stop_reason=stop
                )
            )

    async def _rename(self, title: str) -> None:
        session, title = self._parts.state.transcript.session, without_controls(title).strip()
        if title and not session.is_title_given and title != session.title:
            await self._log.record(ev.SessionRenamed(title=title[:200], is_generated=True))

    async def _notify(self, level: ev.NoticeLevel, title: str, hint: str = "") -> None:
        await self._log.record(ev.Notice(level=level, code="agent", title=title, hint=hint, turn=self._number))

    async def _plan(self, entries: Sequence[wire.PlanEntry]) -> None:
        """Record the agent's plan as our to-do list, which a call of our tool for it writes."""
        todos = tuple(
            TodoItem(id=str(number), content=without_controls(one.content), status=one.status)
            for number, one in enumerate(entries, 1)
        )
        listed = [{"id": one.id, "content": one.content, "status": one.status} for one in todos]
        await self._start_held()
        call = AgentCall(wire_id="plan", title="Plan", name="todo_write", kind="think", raw_input={"todos": listed})
        await self._start(call)
        await self._finish(call, ToolResult(content="Plan updated.", metadata={"todos": listed}))

    def _measure(self, update: wire.UsageUpdated) -> None:
        use = ContextUse(tokens=update.used, window=update.size, source="reported")
        self._log.emit(ev.ContextMeasured(use=use))
        if update.cost is not None and update.cost.currency.upper() == "USD":
            self._agent.cost_usd = self._cost_usd = update.cost.amount

    async def _report_usage(self, end: wire.PromptEnd, before: float | None) -> None:
        """Report the usage of the turn. The agent reports the cost of its whole session."""
        cost = None if self._cost_usd is None or before is None else max(0.0, self._cost_usd - before)
        told = end.usage or wire.PromptUsage()
        if end.usage is None and cost is None:
            return
        usage = Usage(
            input_tokens=told.input_tokens,
            output_tokens=told.output_tokens,
            cache_read_tokens=told.cached_read_tokens or 0,
            cache_write_tokens=told.cached_write_tokens or 0,
            cost_usd=cost,
        )
        # It covers many requests, so it does not measure the context, which the agent reports itself.
        await self._log.record(ev.UsageReported(turn=self._number, usage=usage, model=self._model, is_aside=True))
        await self._parts.spending.warn_of_unknown_price(self._number, usage, self._model)

    # -- its calls --

    async def _tell_call(self, fields: wire.CallFields, since_ns: int) -> None:
        if fields.tool_call_id not in self._calls:
            if len(self._calls) >= _MOST_OPEN_CALLS:
                raise ServerError(f"{self._agent.name} began {_MOST_OPEN_CALLS} calls and ended none of them.")
            await self._start_held()
        if self._is_shown(fields):
            return
        new = AgentCall(wire_id=fields.tool_call_id, begun_ns=since_ns)
        call = self._calls.setdefault(fields.tool_call_id, new)
        printed = call.take(fields)
        if not call.id and call.status == "pending":
            words = call.title or call.tool
            self._log.emit(ev.ToolProgress(turn=self._number, call_id=call.wire_id, name=call.tool, message=words))
            self._release()
            start = partial(self._agent.do_next, self._start_held_in_order)
            self._hold = asyncio.get_running_loop().call_later(_HOLDS_S, start)
            return
        await self._begin(call)
        if printed and not (call.runs_here or call.outcome):
            self._log.emit(ev.ToolOutputDelta(turn=self._number, call_id=call.id, text=printed))
        if call.has_ended and not call.runs_here:
            await self._end_call(call)

    def _is_shown(self, fields: wire.CallFields) -> bool:
        """Whether a call only shows a command that is already our own call."""
        known = self._calls.get(fields.tool_call_id)
        if (known is None or not known.id) and not self._terminals.shown.isdisjoint(fields.terminals):
            self._calls.pop(fields.tool_call_id, None)
            self._shown.add(fields.tool_call_id)
        return fields.tool_call_id in self._shown

    def _release(self) -> None:
        if self._hold is not None:
            self._hold.cancel()

    async def _start_held_in_order(self) -> None:
        async with self._order:
            await self._start_held()

    async def _start_held(self) -> None:
        """Record the calls that the agent seems to have reported completely."""
        self._release()
        for call in [call for call in self._calls.values() if not call.id and call.can_begin]:
            await self._begin(call)

    async def _begin(self, call: AgentCall) -> None:
        if not call.id:
            await self._start(call)
            await self._look_before(call)

    async def _start_in_order(self, call: AgentCall) -> None:
        async with self._order:
            await self._start_held()
            await self._start(call)

    async def _start(self, call: AgentCall) -> None:
        call.id = claim_id(call.wire_id, self._parts.state.transcript.paged.call_ids)
        call.started_s = self._parts.clock.monotonic()
        await self._end_message("tool_use", ToolUseBlock(id=call.id, name=call.tool, arguments=call.arguments))
        await self._log.record(
            ev.ToolCallStarted(
                turn=self._number,
                call=call.as_model(),
                title=call.title or call.tool,
                source="external",
                capabilities=call.capabilities,
                is_read_only=not call.may_write,
            )
        )

    async def _end_call(self, call: AgentCall) -> None:
        del self._calls[call.wire_id]
        await self._look_after(call)
        text = fit_all(call.result(), self._parts.runtime.box.limits()).text
        is_error = call.status == "failed"
        told = ToolResult(content=text, is_error=is_error, error_type="recoverable" if is_error else None)
        await self._finish(call, call.outcome or told)
        await self._stop_to_hear()

    async def _finish(self, call: AgentCall, result: ToolResult) -> None:
        duration_s = self._parts.clock.monotonic() - call.started_s - call.waited_s
        await self._log.record(
            ev.ToolCallFinished(
                turn=self._number,
                call_id=call.id,
                state="failed" if result.is_error else "completed",
                result=result,
                duration_s=round(max(0.0, duration_s), 3),
            )
        )

    async def _close(self, stop: StopReason, why: str) -> None:
        async with self._order:
            await self._start_held()
            await self._end_message(stop)
            for call in [call for call in self._calls.values() if call.id]:
                await self._look_after(call)
                content = "\n".join(filter(None, (why, call.result())))
                text = fit_all(content, self._parts.runtime.box.limits()).text
                stopped: JsonObject = {STOPPED_KEY: True}
                told = ToolResult(content=text, is_error=True, error_type="recoverable", metadata=stopped)
                await self._finish(call, call.outcome or told)
            self._calls.clear()

    # -- what it has us do --

    async def serve(self, method: str, params: JsonObject) -> JsonObject:
        return await self._services.serve(method, params)

    async def _write(self, path: str, before: FileState | None, content: str) -> ToolResult | None:
        """Write a file for the agent, as part of its own call if the user allowed that, otherwise as our own call."""
        async with self._order:
            await self._start_held()
            looked = self._looking[0] if self._looking is not None else None
            named = looked.paths if looked is not None and looked.is_allowed else ()
            if path in (await asyncio.to_thread(self._questions.inside, named)).values():
                new = content.encode()
                after = FileState(content=new) if before is None else before.with_content(new)
                changes = await self._parts.effects.prepare(self._number, [FileTransition(path, before, after)])
                await asyncio.to_thread(self._parts.ledger.apply, changes)
                return None
            self._runs_ours = True
            try:
                if looked is not None:  # what is written now is not the work of that call
                    await self._look_after(looked)
                call_id = claim_id(f"write_{new_prompt_id()}", self._parts.state.transcript.paged.call_ids)
                arguments: JsonObject = {"path": path, "content": content, "if_exists": "overwrite"}
                block = ToolUseBlock(id=call_id, name="create_file", arguments=arguments)
                await self._end_message("tool_use", block)
                (outcome,) = await self._parts.runtime.run(self._number, (block,))
            finally:
                self._runs_ours = False
            self._is_unanswered = self._is_unanswered or outcome.is_unanswered
            for call in [call for call in self._calls.values() if call.id]:
                await self._look_before(call)
            return outcome.result

    async def _begin_command(self, line: str, told: str, folder: Path, circumstances: tuple[str, ...]) -> AgentCall:
        """Return the call for a command that the agent makes us run, once it is allowed.

        It is the agent's own call if that names the command, or no other. A call that the user allowed so is not asked
        about again. Raises `ToolError`.
        """
        beginning = self._call_for_command(line, told, folder, circumstances)
        call, is_allowed = await to_its_end(beginning, "a command is to run")
        try:
            if is_allowed:
                await to_its_end(self._go_on(call), "a command begins")
            elif not await self._is_allowed(call, ("allow_once",), self._enter):
                raise ToolError(call.refusal, error_type="permission")
            call.runs_here = True
            return call
        finally:
            if call.is_ours and not call.runs_here:
                call.status, call.refusal = "failed", call.refusal or INTERRUPTED
                await unhurried(self._end_in_order(call))

    async def _call_for_command(
        self, line: str, told: str, folder: Path, circumstances: tuple[str, ...]
    ) -> tuple[AgentCall, bool]:
        """Return also whether the user allowed this command with the call."""
        async with self._order:
            await self._start_held()
            call = self._call_of(line, told)
            if call is None:
                call = AgentCall(
                    wire_id=f"terminal_{new_prompt_id()}",
                    title=told.strip().partition("\n")[0],
                    name="run_terminal_cmd",
                    kind="execute",
                    status="in_progress",
                    is_ours=True,
                )
                self._calls[call.wire_id] = call
            is_allowed = call.is_allowed and not circumstances and self._root / call.folder == folder
            if call.command is None:
                call.raw_input = call.arguments | {"command": line, "cwd": str(folder)}
            call.circumstances, call.is_asked = circumstances, not is_allowed
            await self._begin(call)
            looked = self._looking[0] if self._looking is not None else None
            if looked is not None and not (looked is call and is_allowed):
                await self._look_after(looked)
            return call, is_allowed

    def _call_of(self, line: str, told: str) -> AgentCall | None:
        """Return the agent's call that a command belongs to."""
        free = [
            call
            for call in self._calls.values()
            if call.kind == "execute" and not (call.has_ended or call.is_asked or call.runs_here or call.outcome)
        ]
        named = (call for call in free if call.command in (line, told))
        return next(named, next((call for call in free if call.command is None), None))

    async def _enter(self, case: Case) -> None:
        await self._parts.runtime.gate.enter(self._number, case)

    async def _end_command(self, call: AgentCall, outcome: ToolResult) -> None:
        call.outcome, call.runs_here = outcome, False
        if call.is_ours or call.has_ended:
            await self._end_in_order(call)

    async def _end_in_order(self, call: AgentCall) -> None:
        async with self._order:
            if self._calls.get(call.wire_id) is call:
                await self._end_call(call)

    async def _ask_user(self, question: ServerQuestion) -> Decision:
        """Put the agent's question to the user, as a separate call."""
        call = AgentCall(wire_id=f"question_{new_prompt_id()}", title=question.message, name="question", kind="think")
        decision: Decision = Aborted(reason=INTERRUPTED)
        try:
            await to_its_end(self._start_in_order(call), "a question is asked")
            decision = await self._parts.runtime.questions.ask(self._number, call.as_model(), question)
            return decision
        finally:
            is_answered = isinstance(decision, Allowed)
            words = "The user answered." if is_answered else "The user did not answer."
            await unhurried(self._finish(call, ToolResult(content=words, is_error=not is_answered)))

    # -- what its calls change --

    async def _look_before(self, call: AgentCall) -> None:
        if self._looking is not None or not call.may_write or call.has_ended or call.is_asked or self._runs_ours:
            return
        folder = call.folder or str(self._root)
        run = PlannedCommand(
            call.command or "",
            folder,
            is_confined=self._agent.definition.sandbox is not None,
            author="agent",
            server=self._agent.definition.writer,
            begun_ns=call.begun_ns,
        )
        call.begun_ns = None
        self._looking = call, await self._parts.effects.begin_command(self._number, call.id, run)

    async def _look_after(self, call: AgentCall) -> None:
        """Record what changed in the folder since the last scan, as the work of the call."""
        if self._looking is None or self._looking[0] is not call:
            if call.may_write and self._looking is None and call.begun_ns is not None:  # it was told when it had ended
                jobs = self._parts.effects.jobs
                jobs.note_call(self._agent.definition.writer, call.id, call.begun_ns)
                await jobs.look(is_forced=True)
                jobs.note_no_call()
            return
        (_, snapshot), self._looking = self._looking, None
        await self._parts.effects.collect(self._number, call.id, snapshot, author="agent")
        for other in [other for other in self._calls.values() if other.id and other is not call]:
            await self._look_before(other)

    # -- what it asks --

    async def permit(self, asked: wire.PermissionAsked) -> str:
        known = self._calls.get(asked.tool_call.tool_call_id)
        if known is not None and known.is_asked:
            return ""
        call = await to_its_end(self._asked_about(asked.tool_call), "a call is asked about")
        ways = {option.kind: option.option_id for option in reversed(asked.options)}
        chosen = meant_by_yes(asked.options)

        async def ask(case: Case) -> None:
            nonlocal chosen
            if chosen or case.facts.command is not None or case.request.changes:
                await self._enter(case)
            else:  # its own answers are the question
                await self._parts.runtime.gate.require_possible(case.facts)
            chosen = chosen or await self._questions.choice(call, asked.options)

        if await self._is_allowed(call, ways.keys(), ask):
            return chosen
        return ways.get("reject_once") or ways.get("reject_always", "")

    async def _is_allowed(self, call: AgentCall, ways: Collection[str], ask: Callable[[Case], Awaitable[None]]) -> bool:
        """Whether a call is allowed by our policy, and by the user if that says so."""
        begun = self._parts.clock.monotonic()
        try:
            await ask(await self._questions.case(call, ways))
        except NotApprovedError as error:
            call.refusal = str(error)
            self._is_unanswered = self._is_unanswered or error.is_unanswered
            if error.said:  # the protocol has no place for it
                await self._queue.add(new_prompt_id(), error.said, (), is_steering=False)
        except ToolError as error:
            call.refusal = str(error)
        finally:
            call.waited_s += self._parts.clock.monotonic() - begun
            call.is_asked = False
        call.is_allowed = not call.refusal
        if call.is_allowed:
            await to_its_end(self._go_on(call), "a call was allowed")
        return call.is_allowed

    async def _asked_about(self, fields: wire.CallFields) -> AgentCall:
        async with self._order:
            call = self._calls.setdefault(fields.tool_call_id, AgentCall(wire_id=fields.tool_call_id))
            call.take(fields)
            call.is_asked, call.begun_ns = True, None  # while it waits, what changes is not its work
            await self._begin(call)
            await self._look_after(call)
            return call

    async def _go_on(self, call: AgentCall) -> None:
        async with self._order:
            await self._look_before(call)

    @property
    def _root(self) -> Path:
        return self._parts.ledger.files.root


def _block_of(is_thought: bool, pieces: Sequence[str]) -> TextBlock | ThinkingBlock:
    text = "".join(pieces)
    return ThinkingBlock(thinking=text, signature="") if is_thought else TextBlock(text=text)
