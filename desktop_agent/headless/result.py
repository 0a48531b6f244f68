"""The result of a run: a fold of its transcript into the keys of `run --json`, and its log files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from desktop_agent.core.base.errors import AgentError, StorageError, UsageError
from desktop_agent.core.base.file_names import legible_names, name_on_a_line
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import number_of, on_one_line
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.events import CommandRun, Notice, TurnEnded, TurnEndReason
from desktop_agent.core.protocol.model import Aborted, ApprovalPolicy, FileOutcome, JsonObject, Usage
from desktop_agent.core.tools.tool import SKIPPED_KEY
from desktop_agent.core.transcript import ChangeRecord, NoticeEntry, TextEntry, ToolEntry, Transcript
from desktop_agent.core.undo.refusals import describe_outcome

StopReason = TurnEndReason | Literal["invalid_output"]
"""Why a run ended: the reason of its last turn, or an answer of a wrong form."""

EXIT_CODES: dict[StopReason, int] = {
    "completed": 0, "tool_error": 1, "fatal_tool_error": 1, "provider_error": 1, "storage_error": 1,
    "workspace_error": 1, "internal_error": 1, "refused": 1, "invalid_output": 1, "approval_required": 3,
    "max_turns": 4, "limit": 4, "interrupted": 130,
}  # fmt: skip

_LONGEST_REASON = 300


class RunResult(Struct, frozen=True, kw_only=True):
    session_id: SessionId
    """Empty after a command that left no session behind."""
    stopped_reason: StopReason
    final_response: str
    turns_used: int = 0
    edited_files: tuple[str, ...] = ()
    tools: tuple[JsonObject, ...] = ()
    turn_summaries: tuple[JsonObject, ...] = ()
    usage: Usage
    plan: str = ""
    """The plan as it is at the end; empty if there is none."""
    worktree: str = ""
    """The name of the worktree in which the session works; empty if it works in none."""
    problems: tuple[str, ...] = ()
    """The errors, without duplicates: what happened, what to do, and details on a second line."""
    is_command: bool = False
    limit: str = ""
    """The limit that ended the run, as a notice code: `max_cost`, `max_time`, `max_tokens` …"""
    undo_operations: tuple[str, ...] | None = None
    """The operations of the undo at the end of the run; `None` if there was none."""
    output: object = UNSET
    """The final answer as a JSON value, if the caller gave a schema; otherwise `UNSET`."""

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.stopped_reason]

    @property
    def fatal_event(self) -> JsonObject | None:
        if self.stopped_reason != "fatal_tool_error":
            return None
        return next((event for event in reversed(self.tools) if event["is_error"]), None)

    def failed(self, reason: StopReason, problem: str) -> "RunResult":
        return replace(self, stopped_reason=reason, problems=(*self.problems, problem))

    def as_json(self) -> JsonObject:
        document: JsonObject = {
            "session_id": self.session_id or None,
            **picked(self, "final_response", "stopped_reason", "turns_used", "edited_files", "tools", "turn_summaries"),
            "usage": asdict(self.usage),
            "plan": self.plan or None,
            "worktree": self.worktree or None,
            "problems": self.problems,
        }
        if self.limit:
            document["limit"] = self.limit
        if self.output is not UNSET:
            document["output"] = self.output
        if self.undo_operations is not None:
            document["undo_operations"] = self.undo_operations
        if self.fatal_event is not None:
            document["fatal_event"] = self.fatal_event
        return document


def collect_result(
    transcript: Transcript, ends: Sequence[TurnEnded], *, usage: Usage, undone: tuple[FileOutcome, ...] | None
) -> RunResult:
    turns, last = {end.turn for end in ends}, ends[-1]
    entries = [entry for entry in transcript.entries if getattr(entry, "turn", None) in turns]
    texts = [entry.text.strip() for entry in entries if isinstance(entry, TextEntry) and entry.kind == "text"]
    tools = [entry for entry in entries if isinstance(entry, ToolEntry)]
    records = [record for record in transcript.changes.values() if record.turn in turns and record.change.is_by_agent]
    notices = [entry.notice for entry in transcript.entries if isinstance(entry, NoticeEntry)]
    codes = [notice.code for notice in notices if notice.turn == last.turn]
    summaries = (
        turn_summary(turn, [record for record in records if record.turn == turn], tools) for turn in sorted(turns)
    )
    return RunResult(
        session_id=transcript.session.session_id,
        stopped_reason=last.reason,
        final_response="\n".join(text for text in texts if text).strip(),
        turns_used=sum(end.requests for end in ends),
        edited_files=tuple(dict.fromkeys(record.change.path for record in records if not record.is_undone)),
        tools=tuple(tool_event(entry, transcript.session.approval) for entry in tools),
        turn_summaries=tuple(summary for summary in summaries if summary["paths"]),
        usage=usage,
        plan=transcript.turns.plan,
        worktree=transcript.session.worktree.name if transcript.session.worktree is not None else "",
        problems=tuple(
            dict.fromkeys(  # a full disk fails more than one write
                (
                    *(
                        describe(notice)
                        for notice in notices
                        if notice.level == "error" and notice.turn in (None, *turns)
                    ),
                    *(
                        _describe_unanswered(entry)
                        for entry in tools
                        if entry.unanswered or isinstance(entry.decision, Aborted)
                    ),
                    *_describe_end(last, tools, transcript.session.session_id),
                )
            )
        ),
        limit=codes[-1] if last.reason == "limit" and codes else "",
        undo_operations=None if undone is None else tuple(describe_outcome(outcome) for outcome in undone),
    )


def command_result(command: CommandRun, session_id: SessionId, usage: Usage) -> RunResult:
    """Return the result of a slash command. Raises `UsageError` when it could not be carried out."""
    if command.is_error:
        title, _, rest = command.output.partition("\n")
        raise UsageError(title, detail=rest.strip())
    return RunResult(
        session_id=session_id, stopped_reason="completed", final_response=command.output, usage=usage, is_command=True
    )


def describe(problem: Notice | AgentError) -> str:
    """Return a problem in words. Its details are on a line of their own, because text output cannot fold them."""
    return "\n".join(filter(None, (f"{problem.title} {problem.hint}".strip(), problem.detail)))


def _describe_end(end: TurnEnded, tools: Sequence[ToolEntry], session_id: SessionId) -> tuple[str, ...]:
    if end.reason == "max_turns":
        count = number_of(end.requests, "request")
        made = f"The run is not done: it has made {count} to the model, as many as it may."
        return (
            f'{made} Give more with --max-turns, or go on: `desktop-agent run --resume {session_id} --prompt "…"`.',
        )
    if end.reason in ("tool_error", "fatal_tool_error"):
        failed = [
            entry for entry in tools if entry.result is not None and entry.result.is_error and not _is_skipped(entry)
        ]
        return tuple(_describe_failure(entry) for entry in failed[-1:])
    return ()


def _describe_failure(entry: ToolEntry) -> str:
    assert entry.result is not None
    said = entry.result.content.strip().partition("\n")[0]
    return on_one_line(f"{_call_of(entry)} failed, which ends the run: {said[:_LONGEST_REASON]}")


def _call_of(entry: ToolEntry) -> str:
    name = entry.call.name
    return name if entry.title in ("", name) else f"{name} {entry.title}"


def _describe_unanswered(entry: ToolEntry) -> str:
    if entry.unanswered is None:
        assert isinstance(entry.decision, Aborted)
        needs, why, answer = "needs an approval.", "", entry.decision.reason
    else:
        request, aborted = entry.unanswered
        answer, question = aborted.reason, request.question
        needs, why = "needs an approval.", f" {request.reason}"
        if question is not None:
            needs, why = "needs an answer.", f" {request.title}: {question.message}".removesuffix(": ")
            why += "" if why.endswith((".", "?", "!")) else "."
    return on_one_line(f"{_call_of(entry)} {needs}{why} {answer[:1].upper()}{answer[1:]}")


def tool_event(entry: ToolEntry, policy: ApprovalPolicy) -> JsonObject:
    result = entry.result
    return {
        "turn": entry.turn,
        "tool": entry.call.name,
        "input": entry.call.arguments,
        "result": result.content if result else "",
        "is_error": result.is_error if result else True,
        "skipped": _is_skipped(entry),
        "paths": [change.path for change in entry.changes],
        "metadata": _metadata(entry, policy),
    }


def _is_skipped(entry: ToolEntry) -> bool:
    is_denied = entry.decision is not None and entry.decision.outcome != "allowed"
    return is_denied or (entry.result is not None and entry.result.metadata.get(SKIPPED_KEY) is True)


def turn_summary(turn: int, records: list[ChangeRecord], tools: list[ToolEntry]) -> JsonObject:
    names = {entry.call.id: entry.call.name for entry in tools}
    lines = [f"Turn {turn} modifications:"]
    for path in sorted({record.change.path for record in records}):
        mine = [record for record in records if record.change.path == path]
        actions = ", ".join(record.change.kind for record in mine)
        via = ", ".join(dict.fromkeys(names.get(record.call_id, "?") for record in mine))
        lines.append(f"  {name_on_a_line(path)}: {actions} (via {via})")
    return {
        "turn": turn,
        "summary": "\n".join(lines),
        "paths": sorted({record.change.path for record in records}),
        "added": sum(record.change.added for record in records),
        "removed": sum(record.change.removed for record in records),
    }


def _metadata(entry: ToolEntry, policy: ApprovalPolicy) -> JsonObject:
    metadata: JsonObject = dict(entry.result.metadata) if entry.result else {}
    if entry.result is not None and entry.result.error_type is not None:
        metadata["error_type"] = entry.result.error_type
    if entry.approval is not None:
        metadata["approval_required"] = True
        metadata["approval_granted"] = entry.decision is not None and entry.decision.outcome == "allowed"
        metadata["approval_policy"] = policy
        metadata["approval_reason"] = entry.approval.reason
        metadata["approval_paths"] = [change.path for change in entry.approval.changes]
        if isinstance(entry.decision, Aborted):
            metadata["approval_error"] = entry.decision.reason
    if entry.duration_s is not None:
        metadata["duration_s"] = entry.duration_s
    return metadata


class RunLogs:
    def __init__(self, *, audit: Path | None = None, changes: Path | None = None, debug: Path | None = None) -> None:
        self._audit = audit
        self._changes = changes
        self._debug = debug

    def check(self) -> None:
        """Make sure, before anything runs, that every log can be written. Raises `UsageError`."""
        for path in filter(None, (self._audit, self._changes, self._debug)):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.open("ab").close()
            except OSError as error:
                raise UsageError(f"The log {path} cannot be written: {error.strerror}.") from error

    def note(self, event: ev.Event, transcript: Transcript) -> None:
        """Write `event` to the logs. `transcript` must already include it. Raises `StorageError`, which names a log."""
        match event:
            case ev.ToolCallFinished(call_id=call_id):
                entry = transcript.paged.tool_entry(call_id)
                if entry is not None:
                    record = tool_event(entry, transcript.session.approval)
                    self._append(self._audit, record)
                    self._append(self._debug, record)
            case ev.ChangesRecorded(turn=turn, call_id=call_id, changes=changes):
                for change in changes:
                    kind, author = change.kind, change.author
                    line: JsonObject = {"turn": turn, "call": call_id, "path": change.path, "kind": kind}
                    self._append(self._changes, {**line, "author": author, "id": change.id})
            case ev.ChangesUndone(outcomes=outcomes) | ev.ChangesRedone(outcomes=outcomes):
                operations = [describe_outcome(outcome) for outcome in outcomes]
                paths = [outcome.path for outcome in outcomes]
                is_undo = isinstance(event, ev.ChangesUndone)
                self._append(self._changes, {"undo": is_undo, "operations": operations, "paths": paths})
            case _:
                pass

    def _append(self, path: Path | None, record: JsonObject) -> None:
        if path is None:
            return
        try:
            with path.open("ab") as file:
                line = json.dumps(legible_names(record), ensure_ascii=False)
                file.write(line.encode(errors="backslashreplace") + b"\n")
        except OSError as error:
            raise StorageError(
                f"The log {path} could not be written, so the run was stopped.",
                hint="Free some disk space, or write it elsewhere.",
                detail=str(error),
            ) from error
