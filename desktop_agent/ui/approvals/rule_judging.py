"""What the rule editor asks about rules and earlier questions. It parses no command and matches nothing itself."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from desktop_agent.core.protocol.model import ApprovalRequest, Rule, RuleKind
from desktop_agent.core.transcript import ToolEntry, Transcript

MAX_SUBJECTS = 200
"""How many earlier questions are judged at most. More would say nothing more about a rule."""


class PastCalls(Struct, frozen=True):
    """What earlier questions were about, as one kind of rule sees it: command lines, paths or tool names."""

    subjects: tuple[str, ...] = ()
    """The distinct subjects, newest first."""
    questions: tuple[tuple[str, ...], ...] = ()
    """The subjects of each question."""


def subjects_of(request: ApprovalRequest) -> tuple[str, ...]:
    """Return what a rule would have to match to answer `request`."""
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
    """Return the subjects of earlier questions of this request's kind. Calls that ran without one do not count."""
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
    """Return the subjects of `asked`; empty if no rule of the kind of `request` could have answered it."""
    match request.rule_kind:
        case "command":
            return (asked.command,) if asked.command and asked.command.strip() else ()
        case "edit":  # what a command changed was not an edit call
            return tuple(change.path for change in asked.changes) if asked.command is None else ()
        case "tool":
            return (asked.tool,) if asked.command is None and not asked.changes else ()
        case None:
            return ()


class RuleMaths(Protocol):
    """Judges rules as the policy itself does, so that the preview shows what will happen."""

    def would_allow(self, kind: RuleKind, rules: Sequence[Rule], subject: str) -> bool:
        """Whether `subject` (a command line, a path, a tool's name) would need no question if these rules held, too."""
        ...

    def validate_pattern(self, kind: RuleKind, pattern: str) -> str | None:
        """Return why a rule with this pattern never matches or cannot be made; None if it can."""
        ...

    def runs_unconfined(self, request: ApprovalRequest) -> bool:
        """Whether a yes lets the call run without a sandbox. If so, only a rule that allows this can answer it."""
        ...


class RuleContext(Struct, frozen=True):
    """What rules are made from and judged by."""

    maths: RuleMaths
    workspace: str
    """The folder in which a rule for the project applies, as an absolute path."""
    past: PastCalls
    now: Callable[[], datetime]
