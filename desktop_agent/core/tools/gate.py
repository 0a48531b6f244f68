import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.approvals import Approvals, HeldQuestion, RuleBook
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.extensions.hook_runs import NOTHING, HookOutcome, Hooks
from desktop_agent.core.extensions.script_marks import changed_scripts, may_steer, repository_mark, script_marks
from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.policy.engine import CONFINEMENT_WORDS, Allow, Ask, Forbid, Verdict, decide, refused
from desktop_agent.core.policy.offers import rules_of, scope_offers
from desktop_agent.core.policy.rules import stale_rule
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.forms import mistake_in_answers
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalPolicy,
    ApprovalRequest,
    Decision,
    Denied,
    FileChange,
    Rule,
    SandboxMode,
    ScriptMark,
    ServerQuestion,
    ToolCall,
)
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.processes.shell import find_shell
from desktop_agent.core.tools.execution.confiner import Confiner
from desktop_agent.core.tools.execution.safeguard import PlannedCommand, Safeguard

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
    hooked: HookOutcome = NOTHING
    """The decision of the hooks that ran before the policy."""
    written: str = ""
    """What the model wrote, in a sentence, if a hook changed it."""

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
        reason=f"{case.written} {asked.reason or ask.reason}".strip(),
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


def edit_question(changes: tuple[FileChange, ...]) -> str:
    verbs = {"created": "Create", "modified": "Change", "deleted": "Delete", "mode_changed": "Change the mode of"}
    files = [change for change in changes if not change.moved_to]  # a renamed file is one, at its new path
    if len(files) > 1:
        return f"Change {len(files)} files?"
    (change,) = files
    if change.moved_from:
        left = next(other.before for other in changes if other.moved_to)
        verb = "Rename" if left and change.after and left.digest == change.after.digest else "Rename and change"
        instead = " and replace the file there" if change.before is not None else ""
        return f"{verb} {change.moved_from} → {change.path}{instead}?"
    return f"{verbs[change.kind]} {change.path}?"


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


CHANGED = "What it would do is no longer what was asked about."
NOT_ASKED = "It is no longer needed."
_NEWS_END = "so nothing was run yet. "
_REPOSITORY_CHANGED = f"What git runs in this repository changed after you were asked, {_NEWS_END}".strip()
JUDGED_ANEW = "The edited command is judged differently than what was shown, so it is asked about as it is now."


class NotApprovedError(ToolError):
    """The user did not allow the call. If `is_unanswered`, no user was there to answer."""

    def __init__(self, message: str, *, is_unanswered: bool, said: str = "") -> None:
        """`said` is what the user wrote with the no."""
        super().__init__(message, error_type="permission")
        self.is_unanswered = is_unanswered
        self.said = said


class Permit(Struct, frozen=True):
    confinement: SandboxMode | None = None
    edited_command: str | None = None
    answer: Allowed | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def is_lasting(self) -> bool:
        return self.answer is not None and (self.answer.scope != "once" or bool(self.rules))


class _Settled(Struct, frozen=True):
    decision: Decision
    judged: Judged
    again: Case | None = None
    """What is asked instead, because the answer was to another question."""
    problem: str = ""


class ApprovalGate(Struct, frozen=True, eq=False):
    """Decides by the policy and the current rules. Asks the user if necessary."""

    _approvals: Approvals
    _policies: Policies
    _judge: Judge
    _hooks: Hooks
    asked: dict[CallId, Case] = field(default_factory=dict[CallId, Case])

    async def enter(self, turn: int, case: Case) -> Permit:
        """Return when the call may run. Raises `ToolError` when it may not, with a text for the model.

        An answer to an earlier process counts if the question would be the same now; a no always counts. Only what was
        judged runs.
        """
        call, facts = case.call, case.facts
        held = self._approvals.held(call.id)
        if held is not None and isinstance(held.decision, Denied | Aborted):
            await self._approvals.conclude(turn, call.id, held.decision)
            _require_allowed(held.decision, held.request)
        verdict = self._with_hook(await self._judge.verdict(facts), case.hooked)
        answer = held.decision if held is not None else None
        if isinstance(verdict, Allow) and isinstance(answer, Allowed) and answer.edited_command is not None:
            case = case.edited(answer.edited_command)
            verdict = self._with_hook(await self._judge.verdict(case.facts), case.hooked)
        if isinstance(verdict, Forbid):
            if held is not None:
                await self._approvals.conclude(turn, call.id, Aborted(reason=NOT_ASKED))
            raise _not_permitted(verdict)
        if isinstance(verdict, Allow):
            return await self._permit_unasked(turn, case, verdict, held, _if_edited(case.facts.command, facts.command))
        judged = await self._judge.question(case, verdict)
        if held is None and not facts.agent and await self._is_waived(turn, case, verdict):
            return Permit(judged.confinement)
        while (settled := await self._ask(turn, case, judged, held)).again is not None:
            case, judged, held = settled.again, settled.judged, None
        if settled.problem:
            raise ToolError(settled.problem, error_type="permission")
        allowed = _require_allowed(settled.decision, settled.judged.request)
        if settled.judged.request.arguments_digest != arguments_digest(call):
            raise ToolError("The arguments changed after they were approved; nothing was run.", error_type="fatal")
        rules = await self._keep_rules(settled.judged.request, allowed)
        return Permit(
            settled.judged.confinement, _if_edited(settled.judged.request.command, facts.command), allowed, rules
        )

    def _with_hook(self, verdict: Verdict, hooked: HookOutcome) -> Verdict:
        """Return the verdict with what the hooks of a call decided. They never allow what is forbidden."""
        match verdict:
            case Ask() if hooked.decision == "allow" and verdict.is_waivable:
                return Allow(verdict.confinement)
            case Allow() | Ask() if hooked.decision == "ask":
                reason = hooked.reason or f"A hook wants you to decide about this: `{hooked.by}`."
                asked = verdict if isinstance(verdict, Ask) else Ask("", confinement=verdict.confinement)
                asked = replace(
                    asked, reason=f"{reason} {asked.reason}".strip(), is_once=True, rule_kind=None, rule_patterns=()
                )
                return refused(asked) if self._policies.approval() == "never" else asked
            case _:
                return verdict

    async def _is_waived(self, turn: int, case: Case, question: Ask) -> bool:
        """Let the hooks answer instead of the user. Raises `NotApprovedError` if one says no."""
        answer = await self._hooks.at_question(turn, case.call)
        if answer.decision in ("deny", "stop"):
            text = f"A hook of the user's denied this call; it was not run. {answer.reason}".strip()
            raise NotApprovedError(text, is_unanswered=False)
        # Changed input would have to be judged again: the hooks before the policy are for that.
        return answer.decision == "allow" and answer.changed is None and question.is_waivable

    async def require_possible(self, facts: CallFacts) -> None:
        """Raise `ToolError` if the call is not permitted, whatever the user says."""
        if isinstance(verdict := await self._judge.verdict(facts), Forbid):
            raise _not_permitted(verdict)

    async def _permit_unasked(
        self, turn: int, case: Case, verdict: Allow, held: HeldQuestion | None, edited: str | None
    ) -> Permit:
        if held is not None:
            answer = held.decision
            await self._approvals.conclude(turn, held.request.call_id, answer or Aborted(reason=NOT_ASKED))
            if answer is not None:
                allowed = _require_allowed(answer, held.request)
                is_edited = case.facts.command != held.request.command
                await self._keep_rules(draft(case, verdict) if is_edited else held.request, allowed)
        return Permit(verdict.confinement, edited)

    async def withdraw(self, turn: int, call_id: CallId) -> None:
        """Close the question of an earlier process if its call ends without asking again."""
        if self._approvals.held(call_id) is not None:
            await self._approvals.conclude(turn, call_id, Aborted(reason=NOT_ASKED))

    async def _settle(self, case: Case, asked: Judged, answer: Decision) -> _Settled:
        """Judge again what would run now: an edited command by the policy, and the scripts on the disk."""
        if not isinstance(answer, Allowed) or case.facts.command is None:
            return _Settled(answer, asked)
        is_edited = answer.edited_command is not None and answer.edited_command != case.facts.command
        if is_edited and case.request.is_fixed:
            text = f"{case.facts.agent or 'The agent'} runs its own command, which cannot be edited."
            return _Settled(Aborted(reason=text), asked, problem=text)
        target = case.edited(answer.edited_command) if is_edited and answer.edited_command is not None else case
        verdict = await self._judge.verdict(target.facts) if is_edited else None
        if isinstance(verdict, Forbid):
            text = f"The user changed the command to one that is not permitted: {verdict.reason}"
            return _Settled(Aborted(reason=text), asked, problem=text)
        if verdict is None:
            scripts = await self._judge.scripts(target.facts)
            changed = changed_scripts(asked.request.scripts, scripts)
            place = await self._judge.repository(target.facts) if asked.request.repository_mark else None
            is_other = place is not None and place.mark != asked.request.repository_mark
            if not changed and not is_other:
                return _Settled(answer, asked)
            reason = _changed_words(changed) if changed else _REPOSITORY_CHANGED
            own_reason = asked.request.reason.rpartition(_NEWS_END)[2]  # drops the earlier reason
            again = replace(asked.request, scripts=scripts, reason=f"{reason} {own_reason}")
            if place is not None:
                again = replace(again, repository=place.path, repository_mark=place.mark)
            return _Settled(Aborted(reason=reason), Judged(again, asked.confinement), again=case)
        now = await self._judge.question(target, verdict)
        if answer.judged is not None:
            is_shown = answer.judged == judgement_digest(now.request)
        else:
            is_shown = not is_worse(now.request, asked.request)
        if not is_shown:
            return _Settled(Aborted(reason=JUDGED_ANEW), now, again=target)
        rules = rules_of(now.request, answer, now=self._policies.clock.now(), workspace=str(self._policies.workspace))
        return _Settled(replace(answer, rules=rules), now)

    async def _keep_rules(self, request: ApprovalRequest, answer: Allowed) -> tuple[Rule, ...]:
        policies = self._policies
        rules = rules_of(request, answer, now=policies.clock.now(), workspace=str(policies.workspace))
        if rules:
            await policies.rulebook.keep(rules)
        return rules

    async def _ask(self, turn: int, case: Case, judged: Judged, held: HeldQuestion | None) -> _Settled:
        request = judged.request
        is_same = held is not None and _is_same(held.request, request)
        settled = _Settled(Aborted(reason=CHANGED), judged)
        if held is not None:
            answer = held.decision
            if isinstance(answer, Allowed) and is_same:
                settled = await self._settle(case, judged, answer)
                await self._approvals.conclude(turn, request.call_id, settled.decision)
                return settled
            if answer is not None and not isinstance(answer, Allowed):
                await self._approvals.conclude(turn, request.call_id, answer)
                return _Settled(answer, judged)
            if not is_same:
                await self._approvals.conclude(turn, request.call_id, Aborted(reason=CHANGED))
            self._approvals.let_go(request.call_id)

        async def confirm(decision: Decision) -> Decision:
            nonlocal settled
            settled = await self._settle(case, judged, decision)
            return settled.decision

        self.asked[request.call_id] = case
        try:
            # An unchanged question is already recorded and shown.
            await self._approvals.ask(turn, request, confirm, is_recorded=is_same)
        finally:
            self.asked.pop(request.call_id, None)
        return settled


def _is_same(asked: ApprovalRequest, now: ApprovalRequest) -> bool:
    one, other = ([replace(change, id="") for change in request.changes] for request in (asked, now))
    return one == other and replace(asked, changes=()) == replace(now, changes=())


def _if_edited(command: str | None, asked: str | None) -> str | None:
    return command if command != asked else None


def _changed_words(paths: tuple[str, ...]) -> str:
    names = ", ".join(f"`{path}`" for path in paths[:3]) + (" …" if len(paths) > 3 else "")
    return f"{names} changed after you were asked, {_NEWS_END}".strip()


def _require_allowed(decision: Decision, request: ApprovalRequest) -> Allowed:
    match decision:
        case Allowed():
            return decision
        case Denied(message=message):
            said = f' They said: "{message}"' if message else ""
            text = f"The user denied this call; it was not run.{said} Do not repeat it: adapt, or ask."
            raise NotApprovedError(text, is_unanswered=False, said=message)
        case Aborted(reason=reason):
            text = f"This call needs an approval and did not get one: {reason} Why it asks: {request.reason}"
            raise NotApprovedError(text, is_unanswered=True)


class LiveJudging(Struct, frozen=True, eq=False):
    """Judges the command of a question while the user edits it. Of several edits, only the latest is judged."""

    _gate: ApprovalGate
    _approvals: Approvals
    _judge: Judge
    _log: EventLog
    _wanted: dict[CallId, str] = field(default_factory=dict[CallId, str])
    _tasks: dict[CallId, asyncio.Task[None]] = field(default_factory=dict[CallId, "asyncio.Task[None]"])

    def want(self, call_id: CallId, command: str) -> None:
        """Judge `command`, the edit of the command that `call_id` asks about. `CommandJudged` reports the result."""
        self._wanted[call_id] = command
        if call_id not in self._tasks:
            self._tasks[call_id] = asyncio.create_task(self._judge_wanted(call_id), name=f"judge {call_id}")

    async def aclose(self) -> None:
        """No `CommandJudged` is emitted afterwards."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _judge_wanted(self, call_id: CallId) -> None:
        try:
            while (command := self._wanted.pop(call_id, None)) is not None:
                if (case := self._case(call_id)) is not None:
                    await self._emit_judgement(call_id, case.edited(command), command)
        finally:
            self._tasks.pop(call_id, None)

    async def _emit_judgement(self, call_id: CallId, case: Case, command: str) -> None:
        verdict = await self._judge.verdict(case.facts)
        if isinstance(verdict, Forbid):
            refused = ev.CommandJudged(call_id=call_id, command=command, request=None, obstacle=verdict.reason)
            self._log.emit(refused)
            return
        first = ev.CommandJudged(call_id=call_id, command=command, request=draft(case, verdict))
        self._log.emit(first)
        if call_id in self._wanted:
            return  # the user has typed more meanwhile
        request = (await self._judge.question(case, verdict)).request
        digest = judgement_digest(request)
        self._log.emit(ev.CommandJudged(call_id=call_id, command=command, request=request, digest=digest))

    def _case(self, call_id: CallId) -> Case | None:
        if (case := self._gate.asked.get(call_id)) is not None:
            return case
        held = self._approvals.held(call_id)
        return _recorded(held.request) if held is not None else None


def _recorded(request: ApprovalRequest) -> Case:
    call = ToolCall(id=request.call_id, name=request.tool, arguments={})
    facts = CallFacts(
        tool=request.tool,
        capabilities=("exec_shell",),
        command=request.command,
        folder=request.cwd,
        details=request.details,
        wants_unconfined=request.is_escalation,
    )
    unjudged = replace(
        request,
        reason="",
        arguments_digest=arguments_digest(call),
        safety=(),
        scripts=(),
        repository="",
        repository_mark="",
    )
    return Case(call=call, facts=facts, request=unjudged)


def _not_permitted(verdict: Forbid) -> ToolError:
    return ToolError(f"This call is not permitted: {verdict.reason}", error_type="permission")


class ServerQuestions(Struct, frozen=True, eq=False):
    """Puts an MCP server's questions to the user while its call runs. Answers are recorded first."""

    _approvals: Approvals
    _policies: Policies
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, turn: int, call: ToolCall, question: ServerQuestion) -> Decision:
        if self._policies.approval() == "never":
            return Denied()
        verb = "asks you" if question.sampling is None else "wants to ask the model"
        request = ApprovalRequest(
            call_id=call.id,
            tool=call.name,
            title=f"{question.server} {verb} something",
            reason="",
            arguments_digest=arguments_digest(call),
            question=question,
        )

        async def confirmed(decision: Decision) -> Decision:
            answers = decision.answers if isinstance(decision, Allowed) else None
            mistake = "" if answers is None else mistake_in_answers(question, answers)
            return Aborted(reason=f"the answers do not fit the form. {mistake}") if mistake else decision

        async with self._one_at_a_time:
            return await self._approvals.ask(turn, request, confirmed)
