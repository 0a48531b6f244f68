"""Pending approvals: a question waits until somebody answers, and no answer is a no."""

import asyncio
from collections.abc import Awaitable, Callable

from desktop_agent.core.ids import CallId
from desktop_agent.core.model import Aborted, ApprovalRequest, Decision


class Approvals:
    """The open questions of one session."""

    def __init__(self) -> None:
        self._pending: dict[CallId, asyncio.Future[Decision]] = {}

    async def ask(
        self,
        request: ApprovalRequest,
        announce: Callable[[], Awaitable[None]],
        conclude: Callable[[Decision], Awaitable[None]],
    ) -> Decision:
        """Announce `request`, wait for its answer, and return it.

        The question is registered before it is announced, so that no answer can come too early. `conclude` always
        runs, also when the wait is cancelled: then the decision is `Aborted`.
        """
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._pending[request.call_id] = answer
        decision: Decision = Aborted(reason="The turn was stopped before an answer came.")
        try:
            await announce()
            decision = await answer
            return decision
        finally:
            self._pending.pop(request.call_id, None)
            await conclude(decision)

    def answer(self, call_id: CallId, decision: Decision) -> bool:
        """Answer a pending question. Returns whether one was waiting; late and double answers do nothing."""
        future = self._pending.get(call_id)
        if future is None or future.done():
            return False
        future.set_result(decision)
        return True

    def abort_all(self, reason: str) -> None:
        """Answer every pending question with `Aborted`: there is nobody left to ask."""
        for call_id in list(self._pending):
            self.answer(call_id, Aborted(reason=reason))
