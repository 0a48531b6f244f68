"""Questions of servers to the user, within a call that was let through: one at a time, on record, answered once."""

import asyncio

from desktop_agent.core.approvals import Approvals
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import ApprovalRequest, Decision, Denied, ServerQuestion, ToolCall
from desktop_agent.core.tools.approval.judging import Policies, arguments_digest


class ServerQuestions:
    """Asks for the servers of one session. No rule answers for the user, and where nobody may be asked it is a no."""

    def __init__(self, approvals: Approvals, log: EventLog, policies: Policies) -> None:
        self._approvals = approvals
        self._log = log
        self._policies = policies
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, turn: int, call: ToolCall, question: ServerQuestion) -> Decision:
        """Return the answer. Cancelled, the question is concluded without one."""
        if self._policies.approval() == "never":
            return Denied()
        request = ApprovalRequest(
            call_id=call.id,
            tool=call.name,
            title=_title(question),
            reason="",
            arguments_digest=arguments_digest(call),
            question=question,
        )

        async def announce() -> None:
            await self._log.record(ev.ApprovalRequested(turn=turn, request=request))

        async def confirm(decision: Decision) -> Decision:
            return decision

        async def conclude(decision: Decision) -> None:
            await self._log.record(ev.ApprovalResolved(turn=turn, call_id=call.id, decision=decision))

        async with self._one_at_a_time:
            return await self._approvals.ask(request, announce, confirm, conclude)


def _title(question: ServerQuestion) -> str:
    if question.sampling is not None:
        return f"{question.server} wants to ask the model something"
    return f"{question.server} asks you something"
