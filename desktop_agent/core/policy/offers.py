"""What a yes means from now on: the offers that people are shown, and the rules that their answer makes.

Both come from the same patterns, so that a label says exactly what its rule does.
"""

from collections.abc import Sequence
from datetime import datetime

from desktop_agent.core.model import Allowed, ApprovalRequest, ApprovalScope, Rule, RuleKind, ScopeOffer
from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.policy.engine import CONFINEMENT_WORDS, Ask
from desktop_agent.core.policy.rules import patterns_for

EDITS = "**"
"""The pattern of a rule for all edits."""

_MOST_NAMED = 3
_WIDER: tuple[ApprovalScope, ...] = ("session", "project", "always")


def scope_offers(call: CallFacts, question: Ask | None = None) -> tuple[ScopeOffer, ...]:
    """The ways to say yes to this call, each with its consequence in words.

    Without the policy's `question` they are those for a command exactly as it is, or for all edits.
    """
    once = ScopeOffer(scope="once", label="Allow once")
    what = _what(call, question)
    if not what:
        return (once,)
    outside = " outside the sandbox" if question is not None and question.is_escalation else ""
    labels = {
        "session": f"Allow {what}{outside} in this session",
        "project": f"Allow {what}{outside} in this folder",
        "always": f"Always allow {what}{outside}",
    }
    scopes = _WIDER if question is not None else _WIDER[:1]
    if what == "edits":
        scopes = scopes[:2]  # every file of every folder, for ever, is nothing to offer with one press
    return (once, *(ScopeOffer(scope=scope, label=labels[scope]) for scope in scopes))


def rules_of(request: ApprovalRequest, answer: Allowed, *, now: datetime, workspace: str = "") -> tuple[Rule, ...]:
    """Return what the person allowed beyond this one call: the rules they made, else those that the scope stands for.

    An edited command is allowed as edited. A journal from before there were rules gives what its answers meant then:
    the exact command with its folder and details, or all edits.
    """
    if answer.rules:
        return answer.rules
    if answer.scope == "once":
        return ()
    kind, patterns, is_exact = _granted(request, answer)
    return tuple(
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


def suggested(patterns: Sequence[str]) -> str:
    """Return the pattern to offer of those from the narrowest to the widest: never the widest of three."""
    return patterns[-2] if len(patterns) > 2 else patterns[0]


def _what(call: CallFacts, question: Ask | None) -> str:
    if call.command is not None:
        patterns = [suggested(choices) for choices in question.rule_patterns] if question else []
        return _named(patterns) if patterns and len(patterns) <= _MOST_NAMED else f"`{call.command}`"
    if question is None:
        return "edits" if "write_fs" in call.capabilities else ""
    patterns = [suggested(choices) for choices in question.rule_patterns]
    match question.rule_kind:
        case "edit":
            return "edits" if patterns == [EDITS] else _named(patterns)
        case "tool":
            return _named(patterns)
        case _:
            return ""


def _named(patterns: Sequence[str]) -> str:
    quoted = [f"`{pattern}`" for pattern in patterns]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _granted(request: ApprovalRequest, answer: Allowed) -> tuple[RuleKind, tuple[str, ...], bool]:
    """Return kind and patterns of the rules, and whether they are exact."""
    if request.command is not None:
        command = answer.edited_command or request.command
        choices = request.rule_patterns if command == request.command else _again(request, command)
        if choices and len(choices) <= _MOST_NAMED and not request.details:
            return "command", tuple(suggested(patterns) for patterns in choices), False
        return "command", (command,), True
    if request.rule_patterns and request.rule_kind is not None:
        return request.rule_kind, tuple(suggested(patterns) for patterns in request.rule_patterns), False
    return "edit", (EDITS,) if request.changes else (), False


def _again(request: ApprovalRequest, command: str) -> tuple[tuple[str, ...], ...]:
    return patterns_for(command) if request.rule_kind is not None else ()


def is_unconfined(request: ApprovalRequest) -> bool:
    """Whether it ran open: it asked to, or nothing confined commands then, which older journals do not even mention."""
    return request.is_escalation or request.confinement in ("", CONFINEMENT_WORDS["none"])
