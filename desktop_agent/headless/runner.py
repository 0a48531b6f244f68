"""Runs one prompt to its end without a user.

It is a front end like the window: it submits ops and folds events. No user is there to approve, so it aborts an
approval request, and the run ends with that.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.composition.session_plan import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, UnsafeSettingsError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Aborted, ChangeSelection, FileOutcome, Usage
from desktop_agent.core.session.failure_notices import UNSAFE_SETTINGS
from desktop_agent.core.session.session import Session
from desktop_agent.core.slash.parse import is_command, prompt_of
from desktop_agent.core.transcript import Transcript
from desktop_agent.headless.logs import RunLogs
from desktop_agent.headless.result import RunResult, collect_result, describe

T = TypeVar("T")

UNATTENDED = (
    "no user can answer in a headless run. With --approval on_request edits need no answer, and neither do commands "
    "that a sandbox confines."
)


class RunOptions(Struct, frozen=True, kw_only=True):
    """What to run, and how."""

    prompt: str
    """One that begins with `/` is a slash command; with `//`, a prompt that begins with one slash."""
    workspace: Path
    resume: SessionId | None = None
    """Go on with this session instead of starting one; its workspace is used."""
    session: SessionOptions = SessionOptions()
    """What the session is opened with. In one that goes on, what is None stays as it is."""
    undo_last_turn: bool = False
    """Take the run's own changes back at its end: to see what it would do."""


class HeadlessRun:
    """One run. `run` once."""

    def __init__(
        self,
        workbench: Workbench,
        options: RunOptions,
        logs: RunLogs | None = None,
        listener: Callable[[ev.Event], None] | None = None,
    ) -> None:
        """`listener` hears every event, live ones too, as they happen; an `AgentError` from it stops the run."""
        self._bench = workbench
        self._options = options
        self._logs = logs or RunLogs()
        self._listener = listener
        self._transcript = Transcript()
        self._turn_before = 0
        self._session: Session | None = None
        self._is_interrupted = False
        self._unheard: AgentError | None = None
        self._has_content = options.resume is not None
        """Whether the session holds more than what a command said."""
        self._is_dropped = False
        self._ended: asyncio.Future[ev.TurnEnded | ev.CommandRun] | None = None
        self._undone: asyncio.Future[tuple[FileOutcome, ...]] | None = None

    def interrupt(self) -> None:
        """Stop the run; its result will say so."""
        self._is_interrupted = True
        if self._session is not None:
            self._session.submit(ops.Interrupt())

    async def run(self) -> RunResult:
        """Run the prompt to its end. Raises `AgentError` when the session cannot be opened at all."""
        self._logs.check()
        loop = asyncio.get_running_loop()
        self._ended, self._undone = loop.create_future(), loop.create_future()
        self._session = await self._open()
        before = self._transcript.turns.usage
        serving = asyncio.create_task(self._session.run(), name="session")
        try:
            self._submit(self._session)
            if self._is_interrupted:  # before there was a session
                self._session.submit(ops.Interrupt())
            ended = await self._first(self._ended, serving)
            undone = None
            if self._options.undo_last_turn and isinstance(ended, ev.TurnEnded):
                undone = await self._undo(ended.turn, serving)
        finally:
            self._session.submit(ops.Shutdown())
            await serving
        if isinstance(ended, ev.CommandRun):
            await self._drop_empty()
            return self._command_result(ended, before)
        result = collect_result(
            self._transcript,
            ended.turn,
            reason=ended.reason,
            requests=ended.requests,
            usage=self._transcript.turns.usage - before,
            undone=undone,
        )
        if self._unheard is None:
            return result
        return replace(result, stopped_reason="storage_error", problems=(*result.problems, describe(self._unheard)))

    def _submit(self, session: Session) -> None:
        """Ask for the prompt, or for the command that it is."""
        text = self._options.prompt
        if is_command(text):
            session.submit(ops.RunCommand(text=text))
        else:
            session.submit(ops.SubmitPrompt(text=prompt_of(text) if text.startswith("//") else text))

    async def _drop_empty(self) -> None:
        """Remove a session that was made for a command which only said something: it is no conversation."""
        assert self._session is not None
        if not self._has_content:
            with suppress(AgentError):  # then it stays, and does no harm
                await self._bench.stored.delete(self._session.id)
                self._is_dropped = True

    def _command_result(self, command: ev.CommandRun, before: Usage) -> RunResult:
        """Return what a command said. Raises `UsageError` when it could not be carried out."""
        if command.is_error:
            title, _, rest = command.output.partition("\n")
            raise UsageError(title, detail=rest.strip())
        return RunResult(
            session_id="" if self._is_dropped else self._transcript.session.session_id,
            stopped_reason="completed",
            final_response=command.output,
            turns_used=0,
            edited_files=(),
            tools=(),
            turn_summaries=(),
            usage=self._transcript.turns.usage - before,
            problems=(),
            is_command=True,
        )

    async def _open(self) -> Session:
        options, opener = self._options, self._bench.opener
        opened = await opener.open_unattended(options.workspace, options.resume, options.session, self._on_event)
        self._transcript = opened.transcript
        self._turn_before = self._transcript.turn
        return opened.session

    async def _undo(self, turn: int, serving: asyncio.Task[None]) -> tuple[FileOutcome, ...]:
        assert self._session is not None
        assert self._undone is not None
        if not self._transcript.changed.active(turn):
            return ()
        self._session.submit(ops.UndoChanges(selection=ChangeSelection(turn=turn)))
        return await self._first(self._undone, serving)

    async def _first(self, wanted: "asyncio.Future[T]", serving: asyncio.Task[None]) -> T:
        """Wait for `wanted`; a session that ends before is a defect and raises as such."""
        await asyncio.wait([wanted, serving], return_when=asyncio.FIRST_COMPLETED)
        if not wanted.done():
            await serving
        return await wanted

    def _on_event(self, event: ev.Event) -> None:
        self._transcript.apply(event)
        is_remark = isinstance(event, ev.SessionOpened | ev.CommandRun | ev.Notice | ev.GuidanceLoaded)
        self._has_content = self._has_content or (isinstance(event, ev.DurableEvent) and not is_remark)
        self._follow(event)
        self._pass_on(event)

    def _follow(self, event: ev.Event) -> None:
        """Do what the run itself has to, before others hear of `event`: it must end although they fail."""
        match event:
            case ev.ApprovalRequested(request=request):
                assert self._session is not None
                answer = Aborted(reason=UNATTENDED)
                self._session.submit(ops.AnswerApproval(call_id=request.call_id, decision=answer))
            case ev.TurnEnded(turn=turn) if turn > self._turn_before:
                _set(self._ended, event)
            case ev.CommandRun():
                _set(self._ended, event)
            case ev.Notice(code=code, detail=detail) if code == UNSAFE_SETTINGS:
                _refuse(self._ended, UnsafeSettingsError(detail.splitlines()))
            # While the turn has not ended, it is an earlier one, cut off, that recovery concludes.
            case ev.ChangesUndone(outcomes=outcomes) if self._ended is not None and self._ended.done():
                _set(self._undone, outcomes)
            case ev.Notice(code="storage"):
                # The end itself cannot be recorded then, so its event may never arrive.
                turn = self._turn_before + 1
                _set(self._ended, ev.TurnEnded(turn=turn, reason="storage_error", requests=0, duration_s=0.0))
                _set(self._undone, ())
            case _:
                pass

    def _pass_on(self, event: ev.Event) -> None:
        """Pass it to the logs and the listener. Where that fails the run is stopped: its rest would be lost."""
        if self._unheard is not None:
            return
        try:
            self._logs.note(event, self._transcript)
            if self._listener is not None:
                self._listener(event)
        except AgentError as error:
            self._unheard = error
            self.interrupt()


def _set(future: "asyncio.Future[T] | None", value: T) -> None:
    if future is not None and not future.done():
        future.set_result(value)


def _refuse(future: "asyncio.Future[T] | None", error: AgentError) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
