"""The approval gate: every call passes it, and leaves it allowed or not at all."""

import asyncio
import json
from dataclasses import dataclass, replace

from desktop_agent.core import events as ev
from desktop_agent.core.approvals import Approvals, HeldQuestion
from desktop_agent.core.errors import ToolError
from desktop_agent.core.event_log import EventLog
from desktop_agent.core.files import digest_of
from desktop_agent.core.ids import CallId, Digest
from desktop_agent.core.model import (
    Aborted,
    Allowed,
    ApprovalRequest,
    Decision,
    Denied,
    FileChange,
    ToolCall,
)
from desktop_agent.core.policy.call import CallFacts, Confinement
from desktop_agent.core.policy.engine import Allow, Ask, Forbid, Verdict, decide
from desktop_agent.core.policy.offers import rules_of, scope_offers
from desktop_agent.core.tools.policies import Policies
from desktop_agent.core.tools.safeguard import CommandRun, Safeguard

CHANGED = "What it would do is no longer what was asked about."
NOT_ASKED = "It is no longer needed."


class NotApprovedError(ToolError):
    """The call was asked about and not allowed. `is_unanswered`: there was nobody who could have answered."""

    def __init__(self, message: str, *, is_unanswered: bool) -> None:
        super().__init__(message, error_type="permission")
        self.is_unanswered = is_unanswered


@dataclass(frozen=True, slots=True)
class Permit:
    """What lets a call act."""

    confinement: Confinement | None = None
    """How a command must run."""
    edited_command: str | None = None
    """What the person made of the command."""


class ApprovalGate:
    """Decides by the policy and the rules in force; asks the person when it must."""

    def __init__(self, approvals: Approvals, log: EventLog, policies: Policies, safeguard: Safeguard) -> None:
        self._approvals = approvals
        self._log = log
        self._policies = policies
        self._safeguard = safeguard

    async def enter(
        self,
        turn: int,
        call: ToolCall,
        facts: CallFacts,
        *,
        title: str,
        changes: tuple[FileChange, ...] = (),
        reason: str = "",
    ) -> Permit:
        """Return when `call` may act. Raises `ToolError` when it may not, with what the model should know.

        `reason` replaces the policy's own, for a question that comes of what just happened. When an earlier process
        asked about this call, its question and the answer to it count if it would be asked the same way now; a no
        always counts.
        """
        held = self._approvals.take(call.id)
        if held is not None and isinstance(held.decision, Denied | Aborted):
            await self._conclude(turn, call.id, held.decision)
            _require_allowed(held.decision, held.request)
        verdict = await self._decide(facts)
        match verdict:
            case Allow(confinement=confinement):
                return await self._permit_unasked(turn, facts, confinement, held)
            case Forbid(reason=why):
                if held is not None:
                    await self._conclude(turn, call.id, Aborted(reason=NOT_ASKED))
                raise ToolError(f"This call is not permitted: {why}", error_type="permission")
            case Ask():
                question = replace(verdict, reason=reason) if reason else verdict
        safety = await self._safety(facts, question)
        request = _request(call, facts, question, title, changes, safety)
        allowed = _require_allowed(await self._ask(turn, request, held), request)
        if request.arguments_digest != arguments_digest(call):
            raise ToolError("The arguments changed after they were approved; nothing was run.", error_type="fatal")
        if allowed.edited_command is not None:
            await self._require_possible(replace(facts, command=allowed.edited_command))
        await self._keep_rules(request, allowed)
        return Permit(question.confinement, allowed.edited_command)

    async def _permit_unasked(
        self, turn: int, facts: CallFacts, confinement: Confinement | None, held: HeldQuestion | None
    ) -> Permit:
        """Let a call act that would not be asked about now; what the person answered before that still counts."""
        if held is None:
            return Permit(confinement)
        answer = held.decision
        if not isinstance(answer, Allowed):
            await self._conclude(turn, held.request.call_id, Aborted(reason=NOT_ASKED))
            return Permit(confinement)
        await self._conclude(turn, held.request.call_id, answer)
        if answer.edited_command is not None:
            await self._require_possible(replace(facts, command=answer.edited_command))
        return Permit(confinement, answer.edited_command)

    async def withdraw(self, turn: int, call_id: CallId) -> None:
        """Conclude the question that an earlier process asked about a call, if the call ends without asking again."""
        if self._approvals.take(call_id) is not None:
            await self._conclude(turn, call_id, Aborted(reason=NOT_ASKED))

    async def _decide(self, facts: CallFacts) -> Verdict:
        context = await self._policies.context_for(facts)
        if facts.command is None:
            return decide(facts, context)
        return await asyncio.to_thread(decide, facts, context)  # a hostile line takes tens of milliseconds to parse

    async def _safety(self, facts: CallFacts, question: Ask) -> tuple[str, ...]:
        """What is copied before a command that destroys; one that may not write needs no copy."""
        if facts.command is None or question.confinement == "strict":
            return ()
        run = CommandRun(facts.command, facts.folder, is_confined=question.confinement != "none")
        return await self._safeguard.describe(run)

    async def _require_possible(self, facts: CallFacts) -> None:
        """Raise `ToolError` when what the person made of a command is what their own rules and settings forbid."""
        verdict = await self._decide(facts)
        if isinstance(verdict, Forbid):
            text = f"The person changed the command to one that is not permitted: {verdict.reason}"
            raise ToolError(text, error_type="permission")

    async def _keep_rules(self, request: ApprovalRequest, answer: Allowed) -> None:
        policies = self._policies
        rules = rules_of(request, answer, now=policies.clock.now(), workspace=str(policies.workspace))
        if rules:
            await policies.rulebook.keep(rules)

    async def _ask(self, turn: int, request: ApprovalRequest, held: HeldQuestion | None) -> Decision:
        is_same = held is not None and _is_same(held.request, request)
        if held is not None and not is_same:
            await self._conclude(turn, request.call_id, Aborted(reason=CHANGED))
        if held is not None and is_same and held.decision is not None:
            await self._conclude(turn, request.call_id, held.decision)
            return held.decision

        async def announce() -> None:
            if not is_same:  # else it stands on record, and the person has it before them
                await self._log.record(ev.ApprovalRequested(turn=turn, request=request))

        async def conclude(decision: Decision) -> None:
            await self._conclude(turn, request.call_id, decision)

        return await self._approvals.ask(request, announce, conclude)

    async def _conclude(self, turn: int, call_id: CallId, decision: Decision) -> None:
        await self._log.record(ev.ApprovalResolved(turn=turn, call_id=call_id, decision=decision))


def _is_same(asked: ApprovalRequest, now: ApprovalRequest) -> bool:
    """Whether a person who answered the one has answered the other. Changes are known by what they do."""
    return _without_ids(asked) == _without_ids(now)


def _without_ids(request: ApprovalRequest) -> ApprovalRequest:
    return replace(request, changes=tuple(replace(change, id="") for change in request.changes))


def _request(
    call: ToolCall,
    facts: CallFacts,
    question: Ask,
    title: str,
    changes: tuple[FileChange, ...],
    safety: tuple[str, ...],
) -> ApprovalRequest:
    return ApprovalRequest(
        call_id=call.id,
        tool=call.name,
        title=title,
        reason=question.reason,
        arguments_digest=arguments_digest(call),
        command=facts.command,
        cwd=facts.folder,
        details=facts.details,
        changes=changes,
        risks=question.risks,
        safety=safety,
        scopes=scope_offers(facts, question),
        cause=question.cause,
        confinement=question.confinement_words,
        is_escalation=question.is_escalation,
        rule_kind=question.rule_kind,
        rule_patterns=question.rule_patterns,
    )


def arguments_digest(call: ToolCall) -> Digest:
    """What ties an answer to the very arguments it was given for."""
    return digest_of(json.dumps([call.name, call.arguments], sort_keys=True).encode())


def _require_allowed(decision: Decision, request: ApprovalRequest) -> Allowed:
    match decision:
        case Allowed():
            return decision
        case Denied(message=message):
            said = f' They said: "{message}"' if message else ""
            text = f"The person denied this call; it was not run.{said} Do not repeat it: adapt, or ask."
            raise NotApprovedError(text, is_unanswered=False)
        case Aborted(reason=reason):
            text = f"This call needs an approval and did not get one: {reason} Why it asks: {request.reason}"
            raise NotApprovedError(text, is_unanswered=True)
