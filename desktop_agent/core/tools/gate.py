"""The approval gate: every call passes it, and leaves it allowed or not at all."""

import json
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime

from desktop_agent.core import events as ev
from desktop_agent.core.approvals import Approvals
from desktop_agent.core.errors import ToolError
from desktop_agent.core.event_log import EventLog
from desktop_agent.core.files import digest_of
from desktop_agent.core.ids import Digest
from desktop_agent.core.model import (
    Aborted,
    Allowed,
    ApprovalPolicy,
    ApprovalRequest,
    Decision,
    Denied,
    FileChange,
    Rule,
    ToolCall,
)
from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.policy.engine import Allow, Forbid, decide
from desktop_agent.core.policy.offers import scope_offers

_NO_EXPIRY = datetime.max.replace(tzinfo=UTC)
"""Rules of a session do not expire; one that could would count as expired."""


class NotApprovedError(ToolError):
    """The call was asked about and not allowed. `is_unanswered`: there was nobody who could have answered."""

    def __init__(self, message: str, *, is_unanswered: bool) -> None:
        super().__init__(message, error_type="permission")
        self.is_unanswered = is_unanswered


class ApprovalGate:
    """Decides by the policy and by what was granted for the session; asks the person when it must."""

    def __init__(
        self, approvals: Approvals, log: EventLog, policy: Callable[[], ApprovalPolicy], grants: AbstractSet[Rule]
    ) -> None:
        """`grants` follows the log: it has what an answer granted as soon as the answer is on record."""
        self._approvals = approvals
        self._log = log
        self._policy = policy
        self._grants = grants

    async def enter(
        self,
        turn: int,
        call: ToolCall,
        facts: CallFacts,
        *,
        title: str,
        changes: tuple[FileChange, ...] = (),
    ) -> Allowed:
        """Return when `call` may act. Raises `ToolError` when it may not, with what the model should know."""
        context = PolicyContext(policy=self._policy(), now=_NO_EXPIRY, rules=tuple(self._grants))
        verdict = decide(facts, context)
        if isinstance(verdict, Allow):
            return Allowed()
        if isinstance(verdict, Forbid):
            raise ToolError(f"This call is not permitted: {verdict.reason}", error_type="permission")
        request = ApprovalRequest(
            call_id=call.id,
            tool=call.name,
            title=title,
            reason=verdict.reason,
            arguments_digest=arguments_digest(call),
            command=facts.command,
            cwd=facts.folder,
            details=facts.details,
            changes=changes,
            risks=verdict.risks,
            cause=verdict.cause,
            scopes=scope_offers(facts),
        )
        allowed = _require_allowed(await self._ask(turn, request))
        if request.arguments_digest != arguments_digest(call):
            raise ToolError("The arguments changed after they were approved; nothing was run.", error_type="fatal")
        return allowed

    async def _ask(self, turn: int, request: ApprovalRequest) -> Decision:
        async def announce() -> None:
            await self._log.record(ev.ApprovalRequested(turn=turn, request=request))

        async def conclude(decision: Decision) -> None:
            await self._log.record(ev.ApprovalResolved(turn=turn, call_id=request.call_id, decision=decision))

        return await self._approvals.ask(request, announce, conclude)


def arguments_digest(call: ToolCall) -> Digest:
    """What ties an answer to the very arguments it was given for."""
    return digest_of(json.dumps([call.name, call.arguments], sort_keys=True).encode())


def _require_allowed(decision: Decision) -> Allowed:
    match decision:
        case Allowed():
            return decision
        case Denied(message=message):
            said = f' They said: "{message}"' if message else ""
            text = f"The person denied this call; it was not run.{said} Do not repeat it: adapt, or ask."
            raise NotApprovedError(text, is_unanswered=False)
        case Aborted(reason=reason):
            raise NotApprovedError(f"This call needs an approval and did not get one: {reason}", is_unanswered=True)
