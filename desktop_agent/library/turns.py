"""Turns from prompt to end, questions that a callback answers, and changes to list, undo and redo, for programs."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.ids import CallId, PromptId, SessionId
from desktop_agent.core.changes.net import NetChange, net_changes
from desktop_agent.core.changes.patch import patch_of
from desktop_agent.core.diff.diff import FileDiff, as_read, diff_change
from desktop_agent.core.diff.hunks import ReviewHunk, review_hunks, with_landmarks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalRequest,
    ChangeSelection,
    Decision,
    Denied,
    FileChange,
    FileOutcome,
)
from desktop_agent.core.session.session import Session
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.library.results import FAILURES, Result, RunFailedError, error_of, result_of

RevertOp = ops.UndoChanges | ops.RedoChanges | ops.RedoSteps
CommitOp = ops.CommitChanges | ops.UndoCommit
_Done = ev.ChangesUndone | ev.ChangesRedone | ev.ChangesCommitted | ev.CommitUndone

BUSY_TITLE = "A turn is running."
BUSY_HINT = "Wait for its end, or stop it with `interrupt()`."

Approver = Callable[[ApprovalRequest], "bool | Decision | Awaitable[bool | Decision]"]
"""Asked about each call that needs an approval: `True` allows it once, `False` denies it.

A sync function must not block; an async one is cancelled when the question is settled in another way. If the function
raises, the turn stops, and `run` raises the same exception.
"""

_NO_CALLBACK = "This program has no approval callback, so nothing that needs an approval is allowed."
_FAILED = "The approval callback failed, so the call was not approved."


class OpenQuestions:
    def __init__(self, approve: Approver | None, submit: Callable[[ops.Op], None]) -> None:
        self._approve = approve
        self._submit = submit
        self._tasks: dict[CallId, asyncio.Task[None]] = {}
        self.failure: Exception | None = None
        """The exception that the callback raised in this turn."""

    def hear(self, event: ev.Event) -> None:
        match event:
            case ev.ApprovalRequested(request=request):
                if self._approve is None:
                    self._answer(request, Denied(message=_NO_CALLBACK))
                    return
                task = asyncio.create_task(self._consult(self._approve, request), name=f"approval {request.call_id}")
                self._tasks[request.call_id] = task
            case ev.ApprovalResolved(call_id=call_id) if call_id in self._tasks:
                self._tasks.pop(call_id).cancel()  # does nothing to one that has answered
            case _:
                pass

    async def aclose(self) -> None:
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _consult(self, approve: Approver, request: ApprovalRequest) -> None:
        decision: Decision = Aborted(reason=_FAILED)
        try:
            answer = approve(request)
            decision = _decision(await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:  # noqa: BLE001 - it is raised by `run`
            self.failure = error
        finally:
            self._answer(request, decision)

    def _answer(self, request: ApprovalRequest, decision: Decision) -> None:
        self._submit(ops.AnswerApproval(call_id=request.call_id, decision=decision))


def _decision(answer: object) -> Decision:
    match answer:
        case True:
            return Allowed()
        case False:
            return Denied()
        case Allowed() | Denied() | Aborted():
            return answer
        case _:
            raise TypeError(f"an approval callback returns True, False or a decision, not {answer!r}")


class RunningTurn:
    """Receives the events of a session from the submission of a prompt on, until the turn is over."""

    def __init__(self, session_id: SessionId, prompt: str, submit: Callable[[ops.Op], None]) -> None:
        self._prompt = prompt
        self._submit = submit
        self._session_id = session_id
        self._turn = 0
        self._heard: list[ev.Event] = []
        self._ended: ev.TurnEnded | None = None
        self._queue: asyncio.Queue[ev.Event | None] = asyncio.Queue()
        self._queued: PromptId | None = None
        """The prompt's id, if it was queued behind another turn. It is taken back, unless that turn ends first."""
        self._notice: ev.Notice | None = None
        self._is_rejected = False
        self._failure: Exception | None = None
        self.is_abandoned = False
        """Whether all callers have stopped waiting for the turn, so that it is being stopped."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_over(self) -> bool:
        return self.over.done()

    def hear(self, event: ev.Event) -> None:
        if self.is_over:
            return
        if isinstance(event, ev.DurableEvent):
            self._heard.append(event)
        match event:
            case ev.PromptSubmitted(text=text, turn=turn) if text == self._prompt and not self._turn:
                self._turn = turn
            case ev.TurnEnded(turn=turn) if turn == self._turn:
                self._ended = event
            case ev.Queued(text=text, prompt_id=prompt_id) if text == self._prompt and not self._turn:
                self._queued = prompt_id
                self._submit(ops.Unqueue(prompt_id=prompt_id))
            case ev.Unqueued(prompt_id=prompt_id) if prompt_id == self._queued:
                self.fail(UsageError(BUSY_TITLE, hint=BUSY_HINT))
            case ev.PromptRejected(text=text) if text == self._prompt:
                self._is_rejected = True
                self._fail_if_rejected()
            case ev.Notice(level="error"):
                self._notice = event
                self._fail_if_rejected()
            case _:
                pass
        if self._turn:
            self._queue.put_nowait(event)
        if self._ended is not None:
            self._end()

    def fail(self, error: Exception) -> None:
        """End the waiting with an error. An earlier error takes precedence."""
        self._failure = self._failure or error
        self._end()

    def note_failure(self, error: Exception | None) -> None:
        self._failure = self._failure or error

    async def events(self) -> AsyncGenerator[ev.Event]:
        while (event := await self._queue.get()) is not None:
            yield event

    def result(self) -> Result:
        assert self._ended is not None
        return result_of(self._session_id, self._ended, self._heard)

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
        result = self.result()
        if result.reason in FAILURES:
            raise RunFailedError(result)

    def _fail_if_rejected(self) -> None:
        if self._is_rejected and self._notice is not None:
            self.fail(error_of(self._notice))

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
            self._queue.put_nowait(None)


def closed_error() -> AgentError:
    hint = "Use it inside `async with Agent(…) as agent:`; `resume` continues an earlier session."
    return UsageError("The agent is not open.", hint=hint)


class Changes:
    """The changes of one session, by file, and how to undo and redo them."""

    def __init__(self, session: Callable[[], Session], blobs: Blobs) -> None:
        """`session` raises `UsageError` while no session is open."""
        self._session = session
        self._blobs = blobs
        self._one_at_a_time = asyncio.Lock()
        self._answer: asyncio.Future[_Done] | None = None

    def list(self) -> tuple[NetChange, ...]:
        """Return one row for each file, from before its first to after its last change, even if it was renamed."""
        return tuple(net_changes(self._session().transcript.changes.values()))

    async def diff(self, row: NetChange) -> FileDiff:
        """Return the difference of a row of `list`. Raises `StorageError` if it cannot be read."""
        return await asyncio.to_thread(self._diff, row.change)

    def _diff(self, change: FileChange) -> FileDiff:
        before, after = self._blobs.of_file(change.before), self._blobs.of_file(change.after)
        return as_read(with_landmarks(diff_change(change, before, after)), before, after)

    async def hunks(self, row: NetChange) -> tuple[ReviewHunk, ...]:
        """Return the parts of a row that can be undone alone, each with its `key`. Raises `StorageError`."""
        return tuple(review_hunks(await self.diff(row)))

    async def patch(self, rows: Sequence[NetChange] | None = None) -> bytes:
        """Return the given rows, or all, as a patch for `git apply`. Raises `StorageError`."""
        chosen = self.list() if rows is None else tuple(rows)
        return await asyncio.to_thread(patch_of, [row.change for row in chosen], self._blobs.of_file)

    async def undo(
        self, selection: ChangeSelection | None = None, *, reason: str = "", includes_others: bool = False
    ) -> tuple[FileOutcome, ...]:
        """Undo the selected changes, or without a selection all of the agent's; return one outcome for each file.

        Others' changes are left alone and reported, unless the undo `includes_others`. A file that was changed since is
        merged, or left alone with the reason in its outcome. With the next prompt, the model reads of the undo and
        `reason`. Raises `UsageError` while a turn runs or when nothing is selected, and `StorageError`, before any file
        is touched, when the undo cannot be recorded.
        """
        chosen = selection or ChangeSelection()
        op = ops.UndoChanges(selection=chosen, reason=reason, includes_others=includes_others)
        return await self._revert(op)

    async def redo(self, selection: ChangeSelection | None = None, *, reason: str = "") -> tuple[FileOutcome, ...]:
        """Redo the selected changes, or without a selection take back the last undo exactly. Raises like `undo`."""
        if selection is None:
            return await self._revert(ops.RedoSteps(reason=reason))
        return await self._revert(ops.RedoChanges(selection=selection, reason=reason))

    def hear(self, event: ev.Event) -> None:
        if self._answer is None or self._answer.done():
            return
        match event:
            case ev.ChangesUndone() | ev.ChangesRedone() | ev.ChangesCommitted() | ev.CommitUndone():
                self._answer.set_result(event)
            case ev.Notice(code=code) if code in ev.REFUSALS or code == "not_committed":
                self._answer.set_exception(error_of(event))
            case _:
                pass

    def fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)

    async def _revert(self, op: RevertOp) -> tuple[FileOutcome, ...]:
        done = await self._carry_out(op)
        return done.outcomes if isinstance(done, ev.ChangesUndone | ev.ChangesRedone) else ()

    async def _carry_out(self, op: RevertOp | CommitOp) -> _Done:
        async with self._one_at_a_time:
            session = self._session()
            await session.wait_until_ready()
            if session.transcript.turns.is_running:
                raise UsageError(BUSY_TITLE, hint=BUSY_HINT)
            self._answer = asyncio.get_running_loop().create_future()
            session.submit(op)
            return await unhurried(self._answer)


class ServedSession:
    """A session that this process serves: when it accepts ops, what it changed, and when it has ended."""

    def __init__(self, blobs: Blobs, on_end: Callable[[Exception], None]) -> None:
        self.changes = Changes(self.require_open, blobs)
        self._on_end = on_end
        self._session: Session | None = None
        self._serving: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None] | None = None
        self._must_be_stored = True

    @property
    def session(self) -> Session:
        assert self._session is not None, "it is begun first"
        return self._session

    @property
    def is_begun(self) -> bool:
        return self._session is not None

    @property
    def failure(self) -> BaseException | None:
        serving = self._serving
        return serving.exception() if serving is not None and serving.done() and not serving.cancelled() else None

    def require_open(self) -> Session:
        """Raises `UsageError` while no session is served."""
        if self._session is None or self._serving is None or self._serving.done():
            raise closed_error()
        return self._session

    def submit(self, op: ops.Op) -> None:
        if self._session is not None:
            self._session.submit(op)

    def serve(self, session: Session) -> None:
        self._session = session
        self._serving = asyncio.create_task(session.run(), name=f"session {session.id}")
        self._serving.add_done_callback(self._on_served)

    async def begin(self, session: Session, *, must_be_stored: bool = True) -> None:
        """Serve the session, and return when it accepts ops. Call `aclose` even if this raises or is cancelled.

        Raises the error of the session. An error of the disk is raised only if the session `must_be_stored`.
        """
        self._must_be_stored = must_be_stored
        self._begun = asyncio.get_running_loop().create_future()
        self.serve(session)
        asyncio.create_task(session.wait_until_ready()).add_done_callback(lambda _: self._settle(None))
        await self._begun

    def hear(self, event: ev.Event) -> None:
        if isinstance(event, ev.Notice) and event.code == "storage" and self._must_be_stored:
            self._settle(error_of(event))
        self.changes.hear(event)

    async def revert(self, op: RevertOp) -> tuple[FileOutcome, ...]:
        """Undo or redo. Outcomes and errors are those of `Changes.undo`."""
        return await self.changes._revert(op)  # pyright: ignore[reportPrivateUsage] - not for programs

    async def commit(self, op: CommitOp) -> ev.ChangesCommitted | ev.CommitUndone:
        """Commit with git, or undo a commit. Raises `AgentError` when it was not done. Cancelling stops git first."""
        work = asyncio.ensure_future(self.changes._carry_out(op))  # pyright: ignore[reportPrivateUsage] - not for programs
        try:
            done = await asyncio.shield(work)
        except asyncio.CancelledError:
            self.submit(ops.Interrupt())
            (done,) = await asyncio.gather(work, return_exceptions=True)
            if isinstance(done, BaseException):
                raise
        assert isinstance(done, ev.ChangesCommitted | ev.CommitUndone)
        return done

    async def aclose(self, *, keeps_questions: bool = False) -> None:
        """End the session with everything that it started, even if cancelled meanwhile. Safe to repeat.

        Raises the session's error. An open question can be kept for the next opening.
        """
        if self._serving is None:
            return
        if not self._serving.done():
            self.session.submit(ops.Shutdown(keeps_questions=keeps_questions))
        await unhurried(self._serving)

    def _on_served(self, serving: asyncio.Task[None]) -> None:
        error = None if serving.cancelled() else serving.exception()
        reason = error if isinstance(error, Exception) else closed_error()
        self._settle(reason)
        self.changes.fail(reason)
        self._on_end(reason)

    def _settle(self, error: Exception | None) -> None:
        if self._begun is None or self._begun.done():
            return
        if error is None:
            self._begun.set_result(None)
        else:
            self._begun.set_exception(error)
