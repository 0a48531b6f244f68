"""Answers the questions of a session by asking a callback. Anything but a clear yes is a no."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Aborted, Allowed, ApprovalRequest, Decision, Denied

Approver = Callable[[ApprovalRequest], "bool | Decision | Awaitable[bool | Decision]"]
"""Asked about each call that needs an approval: `True` allows it once, `False` denies it, a `Decision` says more.

A sync one runs on the loop's thread, so it must not block; an async one can take its time. It is cancelled when the
question is settled in another way. An exception from it stops the turn, and `run` raises it.
"""

_NO_CALLBACK = "This program has no approval callback, so nothing that needs an approval is allowed."
_FAILED = "The approval callback failed, so the call was not approved."


class Answering:
    """The open questions of one session."""

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
    """Return the answer as a decision. Raises `TypeError` for anything but a clear one."""
    match answer:
        case True:
            return Allowed()
        case False:
            return Denied()
        case Allowed() | Denied() | Aborted():
            return answer
        case _:
            raise TypeError(f"an approval callback returns True, False or a decision, not {answer!r}")
