"""Pending approvals: a question waits until the user answers, and no answer is a no."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from msgspec import Struct

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol.model import Aborted, ApprovalRequest, Decision


class HeldQuestion(Struct):
    """A question that an earlier process asked, as it stands on record, and its answer once there is one."""

    request: ApprovalRequest
    decision: Decision | None = None


class Approvals:
    """The open questions of one session."""

    def __init__(self) -> None:
        self._pending: dict[CallId, asyncio.Future[Decision]] = {}
        self._held: dict[CallId, HeldQuestion] = {}

    async def ask(
        self,
        request: ApprovalRequest,
        announce: Callable[[], Awaitable[None]],
        confirm: Callable[[Decision], Awaitable[Decision]],
        conclude: Callable[[Decision], Awaitable[None]],
    ) -> Decision:
        """Announce `request`, wait for its answer, and return what `confirm` makes of it.

        The question is registered before it is announced, so that no answer can come too early. `conclude` always
        runs, also when the wait is cancelled: then the decision is `Aborted`.
        """
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._pending[request.call_id] = answer
        decision: Decision = Aborted(reason="The turn was stopped before an answer came.")
        try:
            await announce()
            decision = await confirm(await answer)
            return decision
        finally:
            self._pending.pop(request.call_id, None)
            await conclude(decision)

    def answer(self, call_id: CallId, decision: Decision) -> bool:
        """Answer a pending or held question. Returns whether one was waiting; late and double answers do nothing."""
        held = self._held.get(call_id)
        if held is not None and held.decision is None:
            held.decision = decision
            return True
        future = self._pending.get(call_id)
        if future is None or future.done():
            return False
        future.set_result(decision)
        return True

    def hold(self, requests: Iterable[ApprovalRequest]) -> None:
        """Take over questions that an earlier process asked: they can be answered before their calls run again."""
        for request in requests:
            self._held.setdefault(request.call_id, HeldQuestion(request))

    def held(self, call_id: CallId) -> HeldQuestion | None:
        """Return the held question about a call. Its answer may come at any time until it is let go."""
        return self._held.get(call_id)

    def let_go(self, call_id: CallId) -> None:
        """Take no more answers to the held question about a call: the caller concludes it, or asks it now."""
        self._held.pop(call_id, None)

    def abort_all(self, reason: str) -> None:
        """Answer every pending question with `Aborted`: no user is left to ask. Held ones stay as they are."""
        for call_id in list(self._pending):
            self.answer(call_id, Aborted(reason=reason))
