import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.approvals import RuleBook
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.policy.engine import CONFINEMENT_WORDS, Allow, Ask, Verdict, decide
from desktop_agent.core.policy.offers import scope_offers
from desktop_agent.core.policy.rules import stale_rule
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import ApprovalPolicy, ApprovalRequest, SandboxMode, ScriptMark, ToolCall
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.processes.shell import find_shell
from desktop_agent.core.tools.execution.confiner import Confiner
from desktop_agent.core.tools.execution.safeguard import PlannedCommand, Safeguard
from desktop_agent.core.tools.script_marks import may_steer, repository_mark, script_marks

NEEDS_NO_QUESTION = "Your settings and rules let this run without a question."
_WIDTH = {words: width for width, words in enumerate(CONFINEMENT_WORDS.values())}
"""How much each confinement permits, by its words: 0 for the strict sandbox, the most for none."""


class Policies(Struct, frozen=True, kw_only=True, eq=False):
    approval: Callable[[], ApprovalPolicy]
    sandbox: Callable[[], SandboxMode]
    rulebook: RuleBook
    confiner: Confiner
    workspace: Path
    settings: WorkspaceSettings
    clock: Clock

    async def context_for(self, call: CallFacts) -> PolicyContext:
        """Return what the policy needs to know. The machine is searched for a sandbox only if the call is a command."""
        await self.rulebook.refresh()
        await self.settings.refresh()
        execution = self.settings.current.execution
        shell = await asyncio.to_thread(find_shell, self.confiner.probe.environ, self.workspace)
        return PolicyContext(
            policy=self.approval(),
            now=self.clock.now(),
            sandbox=self.sandbox(),
            is_sandbox_available=call.command is not None and await self.confiner.is_available(),
            rules=self.rulebook.rules,
            blocked_commands=execution.blocked_commands,
            workspace=str(self.workspace),
            shell=shell.kind if shell is not None else "",
            writable_folders=execution.allowed_paths,
        )


class Case(Struct, frozen=True, kw_only=True):
    """A call, and the facts by which it is judged. An edited command makes another case of the same call."""

    call: ToolCall
    facts: CallFacts
    request: ApprovalRequest
    """The part that the call itself determines. A `reason` says what just happened, and goes first."""

    def edited(self, command: str) -> "Case":
        return replace(self, facts=replace(self.facts, command=command))


class Judged(Struct, frozen=True):
    request: ApprovalRequest
    confinement: SandboxMode | None = None


class Judge(Struct, frozen=True, eq=False):
    _policies: Policies
    _safeguard: Safeguard

    async def verdict(self, facts: CallFacts) -> Verdict:
        context = await self._policies.context_for(facts)
        if facts.command is None:
            return decide(facts, context)
        if await asyncio.to_thread(stale_rule, facts, context) is not None:  # the rule may apply in this repository
            place = await self.repository(facts)
            facts = replace(facts, repository=place.path, repository_mark=place.mark)
        return await asyncio.to_thread(decide, facts, context)  # a hostile line takes tens of milliseconds to parse

    async def question(self, case: Case, verdict: Allow | Ask) -> Judged:
        facts, request = case.facts, draft(case, verdict)
        if facts.command is not None:
            safety, scripts = await asyncio.gather(self._safety(facts, verdict.confinement), self.scripts(facts))
            request = replace(request, safety=safety, scripts=scripts)
            if verdict.confinement == "none":
                request = await self._placed(request, facts)
        return Judged(request, verdict.confinement)

    async def _placed(self, request: ApprovalRequest, facts: CallFacts) -> ApprovalRequest:
        place = await self.repository(facts)
        if place.mark:
            return replace(request, repository=place.path, repository_mark=place.mark)
        once = tuple(offer for offer in request.scopes if offer.scope == "once")
        return replace(request, scopes=once, rule_kind=None, rule_patterns=())

    async def repository(self, facts: CallFacts) -> ScriptMark:
        if any(map(may_steer, facts.details)):
            return ScriptMark(path="", mark="")  # its variables may lead to another repository, or to other programs
        environ = self._policies.confiner.probe.environ
        return await asyncio.to_thread(repository_mark, facts.command or "", Path(facts.folder), environ)

    async def _safety(self, facts: CallFacts, confinement: SandboxMode | None) -> tuple[str, ...]:
        if facts.command is None or confinement == "strict":
            return ()
        run = PlannedCommand(facts.command, facts.folder, is_confined=confinement != "none")
        return await self._safeguard.describe(run)

    async def scripts(self, facts: CallFacts) -> tuple[ScriptMark, ...]:
        return await asyncio.to_thread(script_marks, facts.command or "", facts.folder)


def draft(case: Case, verdict: Allow | Ask) -> ApprovalRequest:
    """Return the question without safety copies and scripts, which would have to be read from the disk."""
    # An edited command is still shown as a question, even if it needs none.
    ask = verdict if isinstance(verdict, Ask) else Ask(NEEDS_NO_QUESTION, confinement=verdict.confinement)
    asked, change = case.request, case.request.tool_change
    # A tool that was never allowed is shown as new, unless a rule seemed to allow it.
    is_change = change is not None and (change.kind == "changed" or ask.standing is not None)
    return replace(
        asked,
        command=case.facts.command,
        reason=asked.reason or ask.reason,
        risks=ask.risks,
        scopes=scope_offers(case.facts, ask),
        cause=ask.cause,
        confinement=ask.confinement_words,
        is_escalation=ask.is_escalation,
        rule_kind=ask.rule_kind,
        rule_patterns=ask.rule_patterns,
        tool_change=change if is_change else None,
        tool_definition="" if is_change else asked.tool_definition,
    )


def is_worse(now: ApprovalRequest, shown: ApprovalRequest) -> bool:
    is_wider = _WIDTH.get(now.confinement, len(_WIDTH)) > _WIDTH.get(shown.confinement, len(_WIDTH))
    has_risk = not set(now.risks) <= set(shown.risks)
    destroys_more = not set(now.safety) <= set(shown.safety)
    return is_wider or has_risk or destroys_more or (now.is_escalation and not shown.is_escalation)


def arguments_digest(call: ToolCall) -> Digest:
    """Return a digest that ties an answer to exactly the arguments for which it was given."""
    return digest_of(json.dumps([call.name, call.arguments], sort_keys=True).encode())


def judgement_digest(request: ApprovalRequest) -> Digest:
    """Return a digest that ties an answer to all that was shown of a command: how it runs, risks, copies, scripts."""
    shown = encode(replace(request, changes=(), rule_patterns=(), scopes=()))
    return digest_of(json.dumps(shown, sort_keys=True, default=str).encode())
