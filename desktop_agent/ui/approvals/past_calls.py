"""What was done in this session before: what a rule would have allowed shows what it will allow."""

from dataclasses import dataclass

from desktop_agent.core.model import ApprovalRequest, JsonObject
from desktop_agent.core.transcript import ToolEntry, Transcript

MAX_SUBJECTS = 200
"""More tell nobody more about a rule."""

_COMMAND_TOOL = "run_terminal_cmd"


@dataclass(frozen=True, slots=True)
class PastCalls:
    """What earlier calls were about, in the terms of one kind of rule: command lines, paths or names of tools."""

    subjects: tuple[str, ...] = ()
    """All different ones, newest first."""
    questions: tuple[tuple[str, ...], ...] = ()
    """What the person was asked about, question by question."""


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
    """Return what the calls before `request` were about, as rules of its kind see it."""
    seen: dict[str, None] = {}
    questions: list[tuple[str, ...]] = []
    for entry in reversed(transcript.entries):
        if not isinstance(entry, ToolEntry) or entry.call.id == request.call_id:
            continue
        about = _subjects(entry, request)
        seen.update(dict.fromkeys(about))
        if about and entry.approval is not None:
            questions.append(about)
    return PastCalls(tuple(seen)[:MAX_SUBJECTS], tuple(questions[:MAX_SUBJECTS]))


def _subjects(entry: ToolEntry, request: ApprovalRequest) -> tuple[str, ...]:
    match request.rule_kind:
        case "command":
            return _command(entry.call.arguments) if entry.call.name == _COMMAND_TOOL else ()
        case "edit":
            changes = entry.changes or (entry.approval.changes if entry.approval is not None else ())
            return tuple(change.path for change in changes)
        case "tool":
            return () if entry.is_read_only and entry.approval is None else (entry.call.name,)
        case None:
            return ()


def _command(arguments: JsonObject) -> tuple[str, ...]:
    command = arguments.get("command")
    return (command,) if isinstance(command, str) and command.strip() else ()
