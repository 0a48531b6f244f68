"""The scopes of an approval: the offers that the user sees, and the rules that the answer creates."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.policy.destructive import losses_of
from desktop_agent.core.policy.engine import CONFINEMENT_WORDS, FORMER_UNCONFINED, Ask
from desktop_agent.core.policy.risks import PROJECT_SCRIPTS, acts_outward, writes_git
from desktop_agent.core.policy.rules import patterns_for
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, ApprovalScope, Rule, RuleKind, ScopeOffer

EDITS = "**"

LONGEST_QUICK = 48

_LONGEST_NAMED = 100
_WIDER: tuple[ApprovalScope, ...] = ("session", "project", "always")


def scope_offers(call: CallFacts, question: Ask) -> tuple[ScopeOffer, ...]:
    once = ScopeOffer(scope="once", label="Allow once")
    if (standing := question.standing) is not None:
        return once, ScopeOffer(scope=standing.scope, label=f"Allow `{call.tool}` as it is now", is_quick=True)
    what = _what(call, question)
    if not what or question.is_once:
        return (once,)
    outside = " outside the sandbox" if question.is_escalation else ""
    labels = {
        "session": f"Allow {what}{outside} in this session",
        "project": f"Allow {what}{outside} in this folder",
        "always": f"Always allow {what}{outside}",
    }
    # A rule for edits of every file in every folder, for ever, is not offered. A rule for outside the sandbox applies
    # in one repository only, so it cannot apply everywhere.
    is_outside = call.command is not None and question.confinement == "none"
    scopes = _WIDER[:2] if what == "edits" or is_outside else _WIDER
    quick = {"session"} if _is_quick(call, question) else set[str]()
    return (once, *(ScopeOffer(scope=scope, label=labels[scope], is_quick=scope in quick) for scope in scopes))


def rules_of(request: ApprovalRequest, answer: Allowed, *, now: datetime, workspace: str) -> tuple[Rule, ...]:
    """The rules that an approval creates beyond this call: the user's own, or else those of the scope.

    Answers in older journals keep their meaning: the exact command with its folder and details, or all edits.
    """
    if answer.rules:
        return tuple(_placed(rule, request) for rule in answer.rules)
    if answer.scope == "once":
        return ()
    kind, patterns, is_exact = _granted(request, answer)
    made = tuple(
        Rule(
            id=f"{request.call_id}-{number}",
            effect="allow",
            kind=kind,
            pattern=pattern,
            scope=answer.scope,
            created_at=now,
            is_exact=is_exact,
            folder=request.cwd if is_exact else "",
            details=request.details if is_exact else (),
            workspace=workspace if answer.scope == "project" else "",
            is_unconfined=request.command is not None and is_unconfined(request),
        )
        for number, pattern in enumerate(patterns, start=1)
    )
    return tuple(_placed(rule, request) for rule in made)


def _placed(rule: Rule, request: ApprovalRequest) -> Rule:
    if rule.kind != "command" or not rule.is_unconfined:
        return rule
    return replace(rule, repository=request.repository, repository_mark=request.repository_mark)


def _is_quick(call: CallFacts, question: Ask) -> bool:
    if question.is_escalation:
        return False
    match question.rule_kind:
        case "edit":
            return _are_all_edits(question.rule_patterns)
        case "tool":
            return call.source != "external" and call.capabilities == ("read_fs",)
        case "command" if call.command is not None and not call.details:
            parsed = parse(call.command)
            return (
                bool(question.rule_patterns)
                and _short_pattern(patterns_for(parsed)) is not None
                and set(question.risks) <= {PROJECT_SCRIPTS}
                and not any(loss.is_destructive for loss in losses_of(parsed, call.folder))
                and not any(acts_outward(segment) or writes_git(segment) for segment in parsed.segments)
            )
        case _:
            return False


def _short_pattern(choices: Sequence[Sequence[str]]) -> str | None:
    if len(choices) != 1:
        return None
    pattern = choices[0][0]
    is_plain = pattern.isascii() and pattern.isprintable() and "  " not in pattern
    return pattern if is_plain and len(pattern) <= LONGEST_QUICK else None


def _are_all_edits(choices: Sequence[Sequence[str]]) -> bool:
    return bool(choices) and all(patterns[-1] == EDITS for patterns in choices)


def _what(call: CallFacts, question: Ask) -> str:
    choices = question.rule_patterns
    if call.command is not None:
        is_outside = question.confinement == "none"  # the line itself is offered there
        shown = (None if call.details or is_outside else _short_pattern(choices)) or call.command
        return f"`{shown}`" if len(shown) <= _LONGEST_NAMED and "\n" not in shown else "exactly this command"
    match question.rule_kind:
        case "edit":
            return "edits" if _are_all_edits(choices) else _named([patterns[0] for patterns in choices])
        case "tool":
            return _named([patterns[0] for patterns in choices])
        case _:
            return ""


def _named(patterns: Sequence[str]) -> str:
    quoted = [f"`{pattern}`" for pattern in patterns]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _granted(request: ApprovalRequest, answer: Allowed) -> tuple[RuleKind, tuple[str, ...], bool]:
    if request.command is not None:
        command = answer.edited_command or request.command
        choices = request.rule_patterns
        if command != request.command:
            choices = patterns_for(parse(command)) if request.rule_kind is not None else ()
        pattern = None if request.details or is_unconfined(request) else _short_pattern(choices)
        return ("command", (command,), True) if pattern is None else ("command", (pattern,), False)
    if request.rule_kind == "edit" and _are_all_edits(request.rule_patterns):
        return "edit", (EDITS,), False
    if request.rule_patterns and request.rule_kind is not None:
        return request.rule_kind, tuple(patterns[0] for patterns in request.rule_patterns), False
    return "edit", (EDITS,) if request.changes else (), False


def is_unconfined(request: ApprovalRequest) -> bool:
    """Whether the command runs outside any sandbox: because the call asked for that, or because there is none."""
    return request.is_escalation or request.confinement in ("", CONFINEMENT_WORDS["none"], FORMER_UNCONFINED)
