"""Runs prompts to their end without a user, or a session that another program controls.

Without an approver, an approval request is aborted and ends the run. The result is a fold of the transcript.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, StorageError, UsageError
from desktop_agent.core.base.file_names import legible_names, name_on_a_line
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import number_of, on_one_line
from desktop_agent.core.policy.offers import is_unconfined
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.events import CommandRun, Notice, TurnEnded, TurnEndReason
from desktop_agent.core.protocol.model import (
    Aborted,
    ApprovalPolicy,
    ApprovalRequest,
    ChangeSelection,
    Decision,
    FileOutcome,
    JsonObject,
    Usage,
)
from desktop_agent.core.session.failure_notices import NOT_FETCHED, UNSAFE_SETTINGS
from desktop_agent.core.session.session import Session
from desktop_agent.core.slash.declarations import is_command, prompt_of
from desktop_agent.core.tools.tool import SKIPPED_KEY
from desktop_agent.core.transcript import ChangeRecord, NoticeEntry, TextEntry, ToolEntry, Transcript
from desktop_agent.core.undo.refusals import describe_outcome
from desktop_agent.library.results import OutputSchema, error_of
from desktop_agent.library.turns import Approver, OpenQuestions, ServedSession

StopReason = TurnEndReason | Literal["invalid_output"]
"""Why a run ended: the reason of its last turn, or an answer of a wrong form."""

EXIT_CODES: dict[StopReason, int] = {
    "completed": 0, "tool_error": 1, "fatal_tool_error": 1, "provider_error": 1, "storage_error": 1,
    "workspace_error": 1, "internal_error": 1, "refused": 1, "invalid_output": 1, "approval_required": 3,
    "hook": 1,    "max_turns": 4, "limit": 4, "interrupted": 130,
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
    """Return a problem in words. Its details are on a separate line, because text output cannot fold them."""
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
            case ev.ToolCallFinished(call_id=call_id) | ev.SubagentEnded(call_id=call_id):
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


T = TypeVar("T")

UNATTENDED = "no user can answer here."
_POLICY = " With the approval policy on_request edits need no answer, and neither do commands that a sandbox confines."
_PROGRAM = " A program can answer it: --approval-command."
_CONVERSATION = " Only you can allow it: ask for it in a conversation."
_ACCEPTED = " Accept the server's tools for it, too: `desktop-agent mcp test {} --accept`."


class RunOptions(Struct, frozen=True, kw_only=True):
    prompts: tuple[str, ...]
    """The prompts, each one turn, in order. The first turn that does not complete ends the run.

    A prompt that begins with `/` is a slash command, and `//` stands for one slash.
    """
    workspace: Path
    resume: SessionId | None = None
    session: SessionOptions = SessionOptions()
    """In a resumed session, `None` keeps the current value."""
    include: tuple[str, ...] = ()
    """The absolute paths of files that are attached to the first prompt."""
    carries_out_plan: bool = False
    """Whether the only prompt is a plan that the user accepted."""
    undo_last_turn: bool = False
    """Whether to undo the run's own changes at its end, to see only what it would do."""
    output: OutputSchema | None = None
    """The form of the final answer. If it is wrong, the model is asked again, `OutputSchema.corrections` times."""


def unattended(request: ApprovalRequest) -> Decision:
    """Refuse a call, and say how a run can make it nevertheless."""
    return Aborted(reason=UNATTENDED + (_POLICY if _is_free_on_request(request) else _PROGRAM))


def unattended_call(request: ApprovalRequest) -> Decision:
    """Refuse a call, and say how it can be made where no program can answer."""
    return Aborted(reason=UNATTENDED + (_POLICY if _is_free_on_request(request) else _rule_for(request)))


def _is_free_on_request(request: ApprovalRequest) -> bool:
    is_own = request.command is not None or bool(request.changes)
    return is_own and "approval policy asks before" in request.reason


def _rule_for(request: ApprovalRequest) -> str:
    is_outside = request.command is not None and is_unconfined(request)
    if request.rule_kind is None or is_outside or len(request.rule_patterns) != 1:
        return _CONVERSATION
    pattern = request.rule_patterns[0][0]
    rule = f" A rule in rules.toml can allow it: kind {request.rule_kind!r}, pattern {pattern!r}."
    return rule + (_ACCEPTED.format(request.server) if request.server else "")


class _Run:
    def __init__(
        self, workbench: Workbench, options: RunOptions, logs: RunLogs, listener: Callable[[ev.Event], None] | None
    ) -> None:
        self._bench = workbench
        self._options = options
        self._logs = logs
        self._listener = listener
        self._transcript = Transcript()
        """A fold that also sees when the disk failed, which the session's own transcript does not."""
        self._session: Session | None = None
        self._is_interrupted = False
        self._delivery_error: AgentError | None = None
        """Why an event could not be logged or passed on. The run was stopped for this reason."""

    def interrupt(self) -> None:
        self._is_interrupted = True
        self._submit(ops.Interrupt())

    async def _open(self, *, is_attended: bool) -> Session:
        self._logs.check()
        options = self._options
        opened = await self._bench.opener.open_unattended(
            options.workspace, options.resume, options.session, self._on_event, is_attended=is_attended
        )
        self._transcript, self._session = opened.transcript, opened.session
        return opened.session

    def _submit(self, op: ops.Op) -> None:
        if self._session is not None:
            self._session.submit(op)

    def _on_event(self, event: ev.Event) -> None:
        self._transcript.apply(event)
        self._follow(event)
        if self._delivery_error is not None:
            return
        try:
            self._logs.note(event, self._transcript)
            if self._listener is not None:
                self._listener(event)
        except AgentError as error:  # the run is stopped: its rest would be lost
            self._delivery_error = error
            self.interrupt()

    def _follow(self, event: ev.Event) -> None:
        """Handle `event` before logs and listener do: the run must end even if they fail."""
        raise NotImplementedError

    def _with_delivery_error(self, result: RunResult) -> RunResult:
        error = self._delivery_error
        return result if error is None else result.failed("storage_error", describe(error))


class HeadlessRun(_Run):
    """One run without a user. Call `run` once."""

    def __init__(
        self,
        workbench: Workbench,
        options: RunOptions,
        logs: RunLogs | None = None,
        listener: Callable[[ev.Event], None] | None = None,
        approve: Approver | None = None,
        refuse: Approver = unattended,
    ) -> None:
        """`listener` gets every event, including live ones. If it raises `AgentError`, the run stops.

        `approve` answers approval requests. Aborting one ends the run. Without `approve`, `refuse` gives the reason.
        """
        super().__init__(workbench, options, logs or RunLogs(), listener)
        self._questions = OpenQuestions(approve or refuse, self._submit)
        self._is_attended = approve is not None
        self._served = ServedSession(workbench.blobs, lambda error: _set(self._ended, error))
        self._has_content = options.resume is not None
        """Whether the session holds more than the output of slash commands."""
        self._include = options.include
        self._is_dropped = False
        self._turn_before = 0
        self._ended: asyncio.Future[ev.TurnEnded | ev.CommandRun] | None = None

    async def run(self) -> RunResult:
        """Run the prompts to their end. Raises `AgentError` when the session cannot be opened at all."""
        session = await self._open(is_attended=self._is_attended)
        first_turn = self._transcript.turn + 1
        before = self._transcript.turns.usage
        self._served.serve(session)
        try:
            ended = await self._run_prompts()
            problem = await self._correct_output(ended)
            turns = [end for end in ended if isinstance(end, ev.TurnEnded)]
            undone = await self._undo(first_turn, turns[-1].turn) if self._options.undo_last_turn and turns else None
        except UsageError:
            await self._close()
            await self._drop_empty()  # nothing was sent
            raise
        finally:
            await self._close()
        usage = self._transcript.turns.usage - before
        if not turns:
            assert isinstance(ended[-1], ev.CommandRun)
            await self._drop_empty()
            return command_result(ended[-1], "" if self._is_dropped else session.id, usage)
        return self._checked(collect_result(self._transcript, turns, usage=usage, undone=undone), problem)

    async def _close(self) -> None:
        await self._served.aclose()
        await self._questions.aclose()

    async def _run_prompts(self) -> list[ev.TurnEnded | ev.CommandRun]:
        ended: list[ev.TurnEnded | ev.CommandRun] = []
        for prompt in self._options.prompts:
            end = await self._take(prompt)
            ended.append(end)
            if end.is_error if isinstance(end, ev.CommandRun) else end.reason != "completed":
                break
        return ended

    async def _take(self, prompt: str) -> ev.TurnEnded | ev.CommandRun:
        self._turn_before = self._transcript.turn
        self._ended = asyncio.get_running_loop().create_future()
        if self._options.carries_out_plan:
            self._submit(ops.CarryOutPlan(text=prompt))
        elif is_command(prompt):
            self._submit(ops.RunCommand(text=prompt))
        else:
            text, include = prompt_of(prompt) if prompt.startswith("//") else prompt, self._include
            self._include = ()
            self._submit(ops.SubmitPrompt(text=text, include=include))
        if self._is_interrupted:  # before there was a session, or a turn
            self._submit(ops.Interrupt())
        return await self._ended

    async def _correct_output(self, ended: list[ev.TurnEnded | ev.CommandRun]) -> str:
        output, last = self._options.output, ended[-1]
        if output is None or not isinstance(last, ev.TurnEnded):
            return ""
        turns = [last]
        problem = await output.correct(self._transcript, turns, self._ask)
        ended += turns[1:]
        return problem

    async def _ask(self, prompt: str) -> ev.TurnEnded:
        end = await self._take(prompt)
        assert isinstance(end, ev.TurnEnded)
        return end

    def _checked(self, result: RunResult, output_problem: str) -> RunResult:
        output = self._options.output
        if self._delivery_error is not None or output is None or result.stopped_reason != "completed":
            return self._with_delivery_error(result)
        if output_problem:
            words = f"The final answer is not what --output-schema asks for: {output_problem}."
            return result.failed("invalid_output", words)
        return replace(result, output=output.value_in(self._transcript, self._transcript.turn))

    async def _drop_empty(self) -> None:
        """Remove the session if it ran only slash commands."""
        assert self._session is not None
        if not self._has_content:
            with suppress(AgentError):  # then it stays, and does no harm
                await self._bench.stored.delete(self._session.id)
                self._is_dropped = True

    async def _undo(self, first_turn: int, last_turn: int) -> tuple[FileOutcome, ...]:
        if not any(self._transcript.changed.active(turn) for turn in range(first_turn, last_turn + 1)):
            return ()
        try:
            return await self._served.changes.undo(ChangeSelection(since_turn=first_turn))
        except AgentError:  # a notice says why
            return ()

    def _follow(self, event: ev.Event) -> None:
        is_remark = isinstance(event, ev.SessionOpened | ev.CommandRun | ev.Notice | ev.GuidanceLoaded)
        self._has_content = self._has_content or (isinstance(event, ev.DurableEvent) and not is_remark)
        self._questions.hear(event)
        self._served.hear(event)
        match event:
            case ev.TurnEnded(turn=turn) if turn > self._turn_before:
                _set(self._ended, event)
            case ev.CommandRun():
                _set(self._ended, event)
            case ev.Notice(code=code) if code in (UNSAFE_SETTINGS, NOT_FETCHED):
                _set(self._ended, error_of(event))
            case ev.PromptRejected() if self._is_interrupted:
                _set(self._ended, _unrecorded_end(self._turn_before + 1, "interrupted"))
            case ev.Notice(code="storage"):
                # The end itself cannot be recorded then, so its event may never arrive.
                _set(self._ended, _unrecorded_end(self._turn_before + 1, "storage_error"))
            case _:
                pass


def _unrecorded_end(turn: int, reason: ev.TurnEndReason) -> ev.TurnEnded:
    return ev.TurnEnded(turn=turn, reason=reason, requests=0, duration_s=0.0)


def _set(future: "asyncio.Future[T] | None", value: T | Exception) -> None:
    if future is not None and not future.done():
        if isinstance(value, Exception):
            future.set_exception(value)
        else:
            future.set_result(value)


_INPUT_ENDED = "the input had ended, so no program could answer"


class StreamedRun(_Run):
    """One run that another program controls. Call `run` once."""

    def __init__(
        self,
        workbench: Workbench,
        options: RunOptions,
        asked: AsyncIterator[ops.Op],
        logs: RunLogs,
        listener: Callable[[ev.Event], None],
    ) -> None:
        """`asked` are the ops of the program; `options` has no prompts.

        `listener` gets every event, including live ones. If it raises `AgentError`, the run stops.
        """
        super().__init__(workbench, options, logs, listener)
        self._asked = asked
        self._ends: list[ev.TurnEnded] = []
        self._is_input_over = False

    def interrupt(self) -> None:
        super().interrupt()
        self._submit(ops.Shutdown())

    async def run(self) -> RunResult:
        """Serve the program until its input has ended and all its requests are done. Raises `AgentError`."""
        session = await self._open(is_attended=True)
        before = self._transcript.turns.usage
        reading = asyncio.create_task(self._read(session), name="streamed ops")
        try:
            if self._is_interrupted:
                session.submit(ops.Shutdown())
            await session.run()
        finally:
            reading.cancel()
            await asyncio.wait([reading])
        if not reading.cancelled() and (error := reading.exception()) is not None:
            raise error
        if not self._ends and self._is_interrupted:
            self._ends = [_unrecorded_end(self._transcript.turn + 1, "interrupted")]
        if not self._ends:
            raise UsageError("No turn was run.", hint='Write {"type": "submit_prompt", "text": "…"} to standard input.')
        usage = self._transcript.turns.usage - before
        return self._with_delivery_error(collect_result(self._transcript, self._ends, usage=usage, undone=None))

    async def _read(self, session: Session) -> None:
        try:
            async for op in self._asked:
                session.submit(op)
        finally:
            self._is_input_over = True
            for request in self._transcript.pending_approvals:
                self._abort_request(request.call_id)
            session.submit(ops.Shutdown(when_idle=True))

    def _follow(self, event: ev.Event) -> None:
        match event:
            case ev.ApprovalRequested(request=request) if self._is_input_over:
                self._abort_request(request.call_id)
            case ev.TurnEnded():
                self._ends.append(event)
            case _:
                pass

    def _abort_request(self, call_id: str) -> None:
        self._submit(ops.AnswerApproval(call_id=call_id, decision=Aborted(reason=_INPUT_ENDED)))
