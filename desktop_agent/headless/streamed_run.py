"""A session that another program talks with: ops come in, events go out, until the input ends.

It is `run --input-format stream`: the program is the front end, so it answers approval requests itself. What is asked
when its input has ended has no answer, and the run ends as one without a user.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Aborted, Usage
from desktop_agent.core.session.session import Session
from desktop_agent.core.transcript import Transcript
from desktop_agent.headless.logs import RunLogs
from desktop_agent.headless.result import RunResult, collect_result, describe
from desktop_agent.headless.runner import RunOptions

_INPUT_ENDED = "the input had ended, so no program could answer"


class StreamedRun:
    """One run. `run` once."""

    def __init__(
        self,
        workbench: Workbench,
        options: RunOptions,
        asked: AsyncIterator[ops.Op],
        logs: RunLogs,
        listener: Callable[[ev.Event], None],
    ) -> None:
        """`asked` are the ops of the program; `options` has no prompts.

        `listener` hears every event, live ones too, as they happen; an `AgentError` from it stops the run.
        """
        self._bench = workbench
        self._options = options
        self._asked = asked
        self._logs = logs
        self._listener = listener
        self._transcript = Transcript()
        self._session: Session | None = None
        self._ends: list[ev.TurnEnded] = []
        self._unheard: AgentError | None = None
        self._is_input_over = False
        self._is_interrupted = False

    def interrupt(self) -> None:
        """Stop the turn that runs, and the run with it."""
        self._is_interrupted = True
        if self._session is not None:
            self._session.submit(ops.Interrupt())
            self._session.submit(ops.Shutdown())

    async def run(self) -> RunResult:
        """Serve the program until its input has ended and what it asked for is done.

        Raises `AgentError` when the session cannot be opened, `UsageError` when nothing was asked for.
        """
        self._logs.check()
        options, opener = self._options, self._bench.opener
        opened = await opener.open_unattended(
            options.workspace, options.resume, options.session, self._on_event, is_attended=True
        )
        self._transcript, self._session = opened.transcript, opened.session
        before = self._transcript.turns.usage
        reading = asyncio.create_task(self._read(self._session), name="streamed ops")
        try:
            if self._is_interrupted:
                self._session.submit(ops.Shutdown())
            await self._session.run()
        finally:
            reading.cancel()
            await asyncio.wait([reading])
        if not reading.cancelled() and (error := reading.exception()) is not None:
            raise error
        return self._result(self._transcript.turns.usage - before)

    async def _read(self, session: Session) -> None:
        try:
            async for op in self._asked:
                session.submit(op)
        finally:
            self._is_input_over = True
            for request in self._transcript.pending_approvals:
                self._give_up(request.call_id)
            session.submit(ops.Shutdown(when_idle=True))

    def _result(self, usage: Usage) -> RunResult:
        if not self._ends and self._is_interrupted:
            turn = self._transcript.turn + 1
            self._ends = [ev.TurnEnded(turn=turn, reason="interrupted", requests=0, duration_s=0.0)]
        if not self._ends:
            raise UsageError("No turn was run.", hint='Write {"type": "submit_prompt", "text": "…"} to standard input.')
        result = collect_result(self._transcript, self._ends, usage=usage, undone=None)
        if self._unheard is None:
            return result
        return result.failed("storage_error", describe(self._unheard))

    def _on_event(self, event: ev.Event) -> None:
        self._transcript.apply(event)
        match event:
            case ev.ApprovalRequested(request=request) if self._is_input_over:
                self._give_up(request.call_id)
            case ev.TurnEnded():
                self._ends.append(event)
            case _:
                pass
        if self._unheard is not None:
            return
        try:
            self._logs.note(event, self._transcript)
            self._listener(event)
        except AgentError as error:
            self._unheard = error
            self.interrupt()

    def _give_up(self, call_id: str) -> None:
        assert self._session is not None
        self._session.submit(ops.AnswerApproval(call_id=call_id, decision=Aborted(reason=_INPUT_ENDED)))
