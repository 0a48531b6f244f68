"""The approval gate: every call passes it, and leaves it allowed or not at all."""

import asyncio
import json
from dataclasses import dataclass, replace

from desktop_agent.core import events as ev
from desktop_agent.core.approvals import Approvals
from desktop_agent.core.errors import ToolError
from desktop_agent.core.event_log import EventLog
from desktop_agent.core.files import digest_of
from desktop_agent.core.ids import Digest
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

        `reason` replaces the policy's own, for a question that comes of what just happened.
        """
        verdict = await self._decide(facts)
        match verdict:
            case Allow(confinement=confinement):
                return Permit(confinement)
            case Forbid(reason=why):
                raise ToolError(f"This call is not permitted: {why}", error_type="permission")
            case Ask():
                question = replace(verdict, reason=reason) if reason else verdict
        safety = await self._safety(facts, question)
        request = _request(call, facts, question, title, changes, safety)
        allowed = _require_allowed(await self._ask(turn, request), request)
        if request.arguments_digest != arguments_digest(call):
            raise ToolError("The arguments changed after they were approved; nothing was run.", error_type="fatal")
        if allowed.edited_command is not None:
            await self._require_possible(replace(facts, command=allowed.edited_command))
        await self._keep_rules(request, allowed)
        return Permit(question.confinement, allowed.edited_command)

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

    async def _ask(self, turn: int, request: ApprovalRequest) -> Decision:
        async def announce() -> None:
            await self._log.record(ev.ApprovalRequested(turn=turn, request=request))

        async def conclude(decision: Decision) -> None:
            await self._log.record(ev.ApprovalResolved(turn=turn, call_id=request.call_id, decision=decision))

        return await self._approvals.ask(request, announce, conclude)


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
