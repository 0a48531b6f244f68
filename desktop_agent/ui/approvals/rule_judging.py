"""The rule editor's view of rules and earlier questions. This module parses no command and matches no pattern."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from desktop_agent.core.protocol.model import ApprovalRequest, Rule, RuleKind
from desktop_agent.core.transcript import ToolEntry, Transcript

MAX_SUBJECTS = 200


class PastCalls(Struct, frozen=True):
    """The subjects of earlier questions for one kind of rule: command lines, paths or tool names."""

    subjects: tuple[str, ...] = ()
    """The distinct subjects, newest first."""
    questions: tuple[tuple[str, ...], ...] = ()


def subjects_of(request: ApprovalRequest) -> tuple[str, ...]:
    """Return the texts that a rule must match to answer `request`."""
    match request.rule_kind:
        case "command":
            return (request.command,) if request.command else ()
        case "edit":
            return tuple(change.path for change in request.changes)
        case "tool":
            return (request.tool,)
        case None:
            return ()


def past_calls(transcript: Transcript, request: ApprovalRequest) -> PastCalls:
    """Return the earlier questions that such a rule could have answered. Calls without a question do not count."""
    seen: dict[str, None] = {}
    questions: list[tuple[str, ...]] = []
    for entry in reversed(transcript.entries):
        if not isinstance(entry, ToolEntry) or entry.approval is None or entry.call.id == request.call_id:
            continue
        if about := _subjects(entry.approval, request):
            seen.update(dict.fromkeys(about))
            questions.append(about)
    return PastCalls(tuple(seen)[:MAX_SUBJECTS], tuple(questions[:MAX_SUBJECTS]))


def _subjects(asked: ApprovalRequest, request: ApprovalRequest) -> tuple[str, ...]:
    """Return the subjects of `asked`; empty if a rule of the kind of `request` could not have answered it."""
    match request.rule_kind:
        case "command":
            return (asked.command,) if asked.command and asked.command.strip() else ()
        case "edit":  # changes by commands are no edit calls
            return tuple(change.path for change in asked.changes) if asked.command is None else ()
        case "tool":
            return (asked.tool,) if asked.command is None and not asked.changes else ()
        case None:
            return ()


class RuleMaths(Protocol):
    """Judges rules as the policy does, so that previews are accurate."""

    def would_allow(self, kind: RuleKind, rules: Sequence[Rule], subject: str) -> bool:
        """Whether `subject` (command line, path or tool name) would need no question if these rules were added."""
        ...

    def validate_pattern(self, kind: RuleKind, pattern: str) -> str | None:
        """Return why a rule with this pattern never matches or cannot be made; `None` for a valid pattern."""
        ...

    def runs_unconfined(self, request: ApprovalRequest) -> bool:
        """Whether a yes runs the call without a sandbox. Then only a rule that permits this can answer it."""
        ...


class RuleContext(Struct, frozen=True):
    maths: RuleMaths
    workspace: str
    """The folder in which a rule for the project applies, as an absolute path."""
    past: PastCalls
    now: Callable[[], datetime]
