"""Runs prompts to their end without a user, or a session that another program controls.

Without an approver, an approval request is aborted and ends the run.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.policy.offers import is_unconfined
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Aborted, ApprovalRequest, ChangeSelection, Decision, FileOutcome
from desktop_agent.core.session.failure_notices import NOT_FETCHED, UNSAFE_SETTINGS
from desktop_agent.core.session.session import Session
from desktop_agent.core.slash.declarations import is_command, prompt_of
from desktop_agent.core.transcript import Transcript
from desktop_agent.headless.result import RunLogs, RunResult, collect_result, command_result, describe
from desktop_agent.library.output_schema import OutputSchema
from desktop_agent.library.results import error_of
from desktop_agent.library.turns import Approver, OpenQuestions, ServedSession

T = TypeVar("T")

UNATTENDED = "no user can answer here."
_POLICY = " With the approval policy on_request edits need no answer, and neither do commands that a sandbox confines."
_PROGRAM = " A program can answer it: --approval-command."
_CONVERSATION = " Only you can allow it: ask for it in a conversation."
_ACCEPTED = " Accept the server's tools for it, too: `desktop-agent mcp test {} --accept`."


class RunOptions(Struct, frozen=True, kw_only=True):
    prompts: tuple[str, ...]
    """The prompts, each one turn, in order. The first turn that does not complete ends the run.

    A prompt that begins with `/` is a slash command, and `//` stands for one slash.
    """
    workspace: Path
    resume: SessionId | None = None
    session: SessionOptions = SessionOptions()
    """In a resumed session, `None` keeps the current value."""
    include: tuple[str, ...] = ()
    """The absolute paths of files that are attached to the first prompt."""
    carries_out_plan: bool = False
    """Whether the only prompt is a plan that the user accepted."""
    undo_last_turn: bool = False
    """Whether to undo the run's own changes at its end, to see only what it would do."""
    output: OutputSchema | None = None
    """The form of the final answer. If it is wrong, the model is asked again, `OutputSchema.corrections` times."""


def unattended(request: ApprovalRequest) -> Decision:
    """Refuse a call, and say how a run can make it nevertheless."""
    return Aborted(reason=UNATTENDED + (_POLICY if _is_free_on_request(request) else _PROGRAM))


def unattended_call(request: ApprovalRequest) -> Decision:
    """Refuse a call, and say how it can be made where no program can answer."""
    return Aborted(reason=UNATTENDED + (_POLICY if _is_free_on_request(request) else _rule_for(request)))


def _is_free_on_request(request: ApprovalRequest) -> bool:
    is_own = request.command is not None or bool(request.changes)
    return is_own and "approval policy asks before" in request.reason


def _rule_for(request: ApprovalRequest) -> str:
    is_outside = request.command is not None and is_unconfined(request)
    if request.rule_kind is None or is_outside or len(request.rule_patterns) != 1:
        return _CONVERSATION
    pattern = request.rule_patterns[0][0]
    rule = f" A rule in rules.toml can allow it: kind {request.rule_kind!r}, pattern {pattern!r}."
    return rule + (_ACCEPTED.format(request.server) if request.server else "")


class _Run:
    def __init__(
        self, workbench: Workbench, options: RunOptions, logs: RunLogs, listener: Callable[[ev.Event], None] | None
    ) -> None:
        self._bench = workbench
        self._options = options
        self._logs = logs
        self._listener = listener
        self._transcript = Transcript()
        """A fold that also sees when the disk failed, which the session's own transcript does not."""
        self._session: Session | None = None
        self._is_interrupted = False
        self._delivery_error: AgentError | None = None
        """Why an event could not be logged or passed on. The run was stopped for this reason."""

    def interrupt(self) -> None:
        self._is_interrupted = True
        self._submit(ops.Interrupt())

    async def _open(self, *, is_attended: bool) -> Session:
        self._logs.check()
        options = self._options
        opened = await self._bench.opener.open_unattended(
            options.workspace, options.resume, options.session, self._on_event, is_attended=is_attended
        )
        self._transcript, self._session = opened.transcript, opened.session
        return opened.session

    def _submit(self, op: ops.Op) -> None:
        if self._session is not None:
            self._session.submit(op)

    def _on_event(self, event: ev.Event) -> None:
        self._transcript.apply(event)
        self._follow(event)
        if self._delivery_error is not None:
            return
        try:
            self._logs.note(event, self._transcript)
            if self._listener is not None:
                self._listener(event)
        except AgentError as error:  # the run is stopped: its rest would be lost
            self._delivery_error = error
            self.interrupt()

    def _follow(self, event: ev.Event) -> None:
        """Handle `event` before logs and listener do: the run must end even if they fail."""
        raise NotImplementedError

    def _with_delivery_error(self, result: RunResult) -> RunResult:
        error = self._delivery_error
        return result if error is None else result.failed("storage_error", describe(error))


class HeadlessRun(_Run):
    """One run without a user. Call `run` once."""

    def __init__(
        self,
        workbench: Workbench,
        options: RunOptions,
        logs: RunLogs | None = None,
        listener: Callable[[ev.Event], None] | None = None,
        approve: Approver | None = None,
        refuse: Approver = unattended,
    ) -> None:
        """`listener` gets every event, including live ones. If it raises `AgentError`, the run stops.

        `approve` answers approval requests. Aborting one ends the run. Without `approve`, `refuse` gives the reason.
        """
        super().__init__(workbench, options, logs or RunLogs(), listener)
        self._questions = OpenQuestions(approve or refuse, self._submit)
        self._is_attended = approve is not None
        self._served = ServedSession(workbench.blobs, lambda error: _set(self._ended, error))
        self._has_content = options.resume is not None
        """Whether the session holds more than the output of slash commands."""
        self._include = options.include
        self._is_dropped = False
        self._turn_before = 0
        self._ended: asyncio.Future[ev.TurnEnded | ev.CommandRun] | None = None

    async def run(self) -> RunResult:
        """Run the prompts to their end. Raises `AgentError` when the session cannot be opened at all."""
        session = await self._open(is_attended=self._is_attended)
        first_turn = self._transcript.turn + 1
        before = self._transcript.turns.usage
        self._served.serve(session)
        try:
            ended = await self._run_prompts()
            problem = await self._correct_output(ended)
            turns = [end for end in ended if isinstance(end, ev.TurnEnded)]
            undone = await self._undo(first_turn, turns[-1].turn) if self._options.undo_last_turn and turns else None
        except UsageError:
            await self._close()
            await self._drop_empty()  # nothing was sent
            raise
        finally:
            await self._close()
        usage = self._transcript.turns.usage - before
        if not turns:
            assert isinstance(ended[-1], ev.CommandRun)
            await self._drop_empty()
            return command_result(ended[-1], "" if self._is_dropped else session.id, usage)
        return self._checked(collect_result(self._transcript, turns, usage=usage, undone=undone), problem)

    async def _close(self) -> None:
        await self._served.aclose()
        await self._questions.aclose()

    async def _run_prompts(self) -> list[ev.TurnEnded | ev.CommandRun]:
        ended: list[ev.TurnEnded | ev.CommandRun] = []
        for prompt in self._options.prompts:
            end = await self._take(prompt)
            ended.append(end)
            if end.is_error if isinstance(end, ev.CommandRun) else end.reason != "completed":
                break
        return ended

    async def _take(self, prompt: str) -> ev.TurnEnded | ev.CommandRun:
        self._turn_before = self._transcript.turn
        self._ended = asyncio.get_running_loop().create_future()
        if self._options.carries_out_plan:
            self._submit(ops.CarryOutPlan(text=prompt))
        elif is_command(prompt):
            self._submit(ops.RunCommand(text=prompt))
        else:
            text, include = prompt_of(prompt) if prompt.startswith("//") else prompt, self._include
            self._include = ()
            self._submit(ops.SubmitPrompt(text=text, include=include))
        if self._is_interrupted:  # before there was a session, or a turn
            self._submit(ops.Interrupt())
        return await self._ended

    async def _correct_output(self, ended: list[ev.TurnEnded | ev.CommandRun]) -> str:
        output, last = self._options.output, ended[-1]
        if output is None or not isinstance(last, ev.TurnEnded):
            return ""
        turns = [last]
        problem = await output.correct(self._transcript, turns, self._ask)
        ended += turns[1:]
        return problem

    async def _ask(self, prompt: str) -> ev.TurnEnded:
        end = await self._take(prompt)
        assert isinstance(end, ev.TurnEnded)
        return end

    def _checked(self, result: RunResult, output_problem: str) -> RunResult:
        output = self._options.output
        if self._delivery_error is not None or output is None or result.stopped_reason != "completed":
            return self._with_delivery_error(result)
        if output_problem:
            words = f"The final answer is not what --output-schema asks for: {output_problem}."
            return result.failed("invalid_output", words)
        return replace(result, output=output.value_in(self._transcript, self._transcript.turn))

    async def _drop_empty(self) -> None:
        """Remove the session if it ran only slash commands."""
        assert self._session is not None
        if not self._has_content:
            with suppress(AgentError):  # then it stays, and does no harm
                await self._bench.stored.delete(self._session.id)
                self._is_dropped = True

    async def _undo(self, first_turn: int, last_turn: int) -> tuple[FileOutcome, ...]:
        if not any(self._transcript.changed.active(turn) for turn in range(first_turn, last_turn + 1)):
            return ()
        try:
            return await self._served.changes.undo(ChangeSelection(since_turn=first_turn))
        except AgentError:  # a notice says why
            return ()

    def _follow(self, event: ev.Event) -> None:
        is_remark = isinstance(event, ev.SessionOpened | ev.CommandRun | ev.Notice | ev.GuidanceLoaded)
        self._has_content = self._has_content or (isinstance(event, ev.DurableEvent) and not is_remark)
        self._questions.hear(event)
        self._served.hear(event)
        match event:
            case ev.TurnEnded(turn=turn) if turn > self._turn_before:
                _set(self._ended, event)
            case ev.CommandRun():
                _set(self._ended, event)
            case ev.Notice(code=code) if code in (UNSAFE_SETTINGS, NOT_FETCHED):
                _set(self._ended, error_of(event))
            case ev.PromptRejected() if self._is_interrupted:
                _set(self._ended, _unrecorded_end(self._turn_before + 1, "interrupted"))
            case ev.Notice(code="storage"):
                # The end itself cannot be recorded then, so its event may never arrive.
                _set(self._ended, _unrecorded_end(self._turn_before + 1, "storage_error"))
            case _:
                pass


def _unrecorded_end(turn: int, reason: ev.TurnEndReason) -> ev.TurnEnded:
    return ev.TurnEnded(turn=turn, reason=reason, requests=0, duration_s=0.0)


def _set(future: "asyncio.Future[T] | None", value: T | Exception) -> None:
    if future is not None and not future.done():
        if isinstance(value, Exception):
            future.set_exception(value)
        else:
            future.set_result(value)


_INPUT_ENDED = "the input had ended, so no program could answer"


class StreamedRun(_Run):
    """One run that another program controls. Call `run` once."""

    def __init__(
        self,
        workbench: Workbench,
        options: RunOptions,
        asked: AsyncIterator[ops.Op],
        logs: RunLogs,
        listener: Callable[[ev.Event], None],
    ) -> None:
        """`asked` are the ops of the program; `options` has no prompts.

        `listener` gets every event, including live ones. If it raises `AgentError`, the run stops.
        """
        super().__init__(workbench, options, logs, listener)
        self._asked = asked
        self._ends: list[ev.TurnEnded] = []
        self._is_input_over = False

    def interrupt(self) -> None:
        super().interrupt()
        self._submit(ops.Shutdown())

    async def run(self) -> RunResult:
        """Serve the program until its input has ended and all its requests are done. Raises `AgentError`."""
        session = await self._open(is_attended=True)
        before = self._transcript.turns.usage
        reading = asyncio.create_task(self._read(session), name="streamed ops")
        try:
            if self._is_interrupted:
                session.submit(ops.Shutdown())
            await session.run()
        finally:
            reading.cancel()
            await asyncio.wait([reading])
        if not reading.cancelled() and (error := reading.exception()) is not None:
            raise error
        if not self._ends and self._is_interrupted:
            self._ends = [_unrecorded_end(self._transcript.turn + 1, "interrupted")]
        if not self._ends:
            raise UsageError("No turn was run.", hint='Write {"type": "submit_prompt", "text": "…"} to standard input.')
        usage = self._transcript.turns.usage - before
        return self._with_delivery_error(collect_result(self._transcript, self._ends, usage=usage, undone=None))

    async def _read(self, session: Session) -> None:
        try:
            async for op in self._asked:
                session.submit(op)
        finally:
            self._is_input_over = True
            for request in self._transcript.pending_approvals:
                self._abort_request(request.call_id)
            session.submit(ops.Shutdown(when_idle=True))

    def _follow(self, event: ev.Event) -> None:
        match event:
            case ev.ApprovalRequested(request=request) if self._is_input_over:
                self._abort_request(request.call_id)
            case ev.TurnEnded():
                self._ends.append(event)
            case _:
                pass

    def _abort_request(self, call_id: str) -> None:
        self._submit(ops.AnswerApproval(call_id=call_id, decision=Aborted(reason=_INPUT_ENDED)))
