"""What the user was asked in this session before: what a rule would have answered shows what it will allow."""

from msgspec import Struct

from desktop_agent.core.protocol.model import ApprovalRequest
from desktop_agent.core.transcript import ToolEntry, Transcript

MAX_SUBJECTS = 200
"""More of them would not show more about a rule."""


class PastCalls(Struct, frozen=True):
    """What earlier questions were about, in the terms of one kind of rule: command lines, paths or names of tools."""

    subjects: tuple[str, ...] = ()
    """All different ones, newest first."""
    questions: tuple[tuple[str, ...], ...] = ()
    """What the user was asked about, question by question."""


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
    """Return what earlier questions of the same kind as `request` were about. What ran unasked is none of them."""
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
    """Return what `asked` was about, when a rule of the kind of `request` could have answered it."""
    match request.rule_kind:
        case "command":
            return (asked.command,) if asked.command and asked.command.strip() else ()
        case "edit":  # what a command changed was not an edit call
            return tuple(change.path for change in asked.changes) if asked.command is None else ()
        case "tool":
            return (asked.tool,) if asked.command is None and not asked.changes else ()
        case None:
            return ()
