"""The endpoints: sessions with their ops and events, changes and questions, tools and background commands."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse

from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import ArgumentsError, SessionNotFoundError, ToolError, ToolErrorType, UsageError
from desktop_agent.core.base.ids import CallId, ChangeId, SessionId
from desktop_agent.core.changes.net import NetChange, NetState, net_changes
from desktop_agent.core.changes.patch import patch_of
from desktop_agent.core.export import ExportForm, export_text
from desktop_agent.core.jobs import read_tail
from desktop_agent.core.mcp.definition_file import used_definitions
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import SessionArchived
from desktop_agent.core.protocol.forms import mistake_in_answers
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalPolicy,
    ApprovalRequest,
    Author,
    ChangeSelection,
    Decision,
    FileChange,
    FileOutcome,
    Job,
    JsonObject,
    SandboxMode,
    SessionSummary,
)
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.journal.records import read_last_records
from desktop_agent.core.system.workspace import usable_workspace
from desktop_agent.core.tools.access import Access, CallRules, ToolRegistry, tool_document
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.transcript import replay
from desktop_agent.core.worktrees.worktrees import NewWorktree
from desktop_agent.headless.single_call import CallOptions, CallReport, SingleCall, require_callable
from desktop_agent.rest.application import STREAM, RequestError, delete, get, json_answer, post, refusal
from desktop_agent.rest.guard import ServerLimits
from desktop_agent.rest.open_sessions import EventStream, OpenSession, OpenSessions

# -- what is asked --


class NewSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session to start; missing fields come from the settings."""

    workspace: str | None = None
    """The folder; by default, the one that the server was started in."""
    provider: str | None = None
    model: str | None = None
    agent: str | None = None
    """Instead of a model: an agent of another program, by its name or command line."""
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    worktree: NewWorktree | None = None
    """A git worktree to make from the folder, for the session to work in."""


class Prompt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A prompt, which waits while a turn is running."""

    text: str
    include: tuple[str, ...] = ()
    """Paths of files to attach, relative to the workspace or absolute."""


class Archiving(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether to archive a session or to restore it."""

    is_archived: bool = True


class Reversal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to redo; without a selection, the last undo."""

    selection: ChangeSelection | None = None
    reason: str = ""
    """A note to the model, which reads it with the next prompt."""


class Undo(Reversal, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to undo; without a selection, all changes of the agent."""

    includes_others: bool = False
    """Whether to undo also changes of others. Otherwise they are left alone and reported."""


class Execution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call of a tool, without a model."""

    arguments: JsonObject
    workspace: str | None = None
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None


# -- what is answered --


class SessionList(Struct, frozen=True, kw_only=True):
    """Sessions, the last used first."""

    sessions: tuple[SessionSummary, ...]


class SessionView(Struct, frozen=True, kw_only=True):
    """The current state of a session."""

    id: SessionId
    summary: SessionSummary
    is_open: bool
    """Whether this server has the session open. Ops open it."""
    last_seq: int
    is_running: bool
    approvals: tuple[ApprovalRequest, ...] = ()


class Accepted(Struct, frozen=True, kw_only=True):
    """An op was submitted to its session. Its results are among the events after number `after`."""

    session_id: SessionId
    after: int


class PendingApproval(Struct, frozen=True, kw_only=True):
    """A pending question of a session."""

    session_id: SessionId
    session_title: str
    request: ApprovalRequest


class PendingApprovals(Struct, frozen=True, kw_only=True):
    """Pending questions, the oldest of each session first."""

    approvals: tuple[PendingApproval, ...]


class AcceptedAnswer(Struct, frozen=True, kw_only=True):
    """An answer was submitted to its session; the event `approval_resolved` has the outcome."""

    session_id: SessionId
    call_id: CallId
    after: int


class ChangedFile(Struct, frozen=True, kw_only=True):
    """The net change of one file, and the ids to undo it."""

    change: FileChange
    change_ids: tuple[ChangeId, ...]
    authors: tuple[Author, ...]
    state: NetState


class ChangeList(Struct, frozen=True, kw_only=True):
    """The files that a session changed."""

    changes: tuple[ChangedFile, ...]


class Outcomes(Struct, frozen=True, kw_only=True):
    """The outcome of an undo or redo for each file."""

    outcomes: tuple[FileOutcome, ...]


class JobList(Struct, frozen=True, kw_only=True):
    """The background commands of an open session, oldest first. They end with the session."""

    jobs: tuple[Job, ...]


class JobOutput(Struct, frozen=True, kw_only=True):
    """The end of a background command's output."""

    job_id: str
    output: str


class ToolList(Struct, frozen=True, kw_only=True):
    """The tools that can be called without a model, as in `tools list --json`."""

    tools: tuple[JsonObject, ...]
    servers: tuple[str, ...] = ()
    """The MCP servers whose tools can be called, too, as `SERVER__TOOL`. A call starts its server."""


class CallAnswer(Struct, frozen=True, kw_only=True):
    """The outcome of a call."""

    tool: str
    status: Literal["completed", "failed"]
    content: str
    is_error: bool
    error_type: ToolErrorType | None
    metadata: JsonObject
    changes: tuple[FileChange, ...]
    session_id: SessionId
    """The session that recorded the call, in which it can be undone."""


# -- sessions: listed, started, opened, closed, filed; their ops and prompts; their events --


class _Endpoints:
    def __init__(self, bench: Workbench, sessions: OpenSessions, folder: Path, limits: ServerLimits) -> None:
        """`folder` is the workspace if the client names none."""
        self._bench = bench
        self._sessions = sessions
        self._folder = folder
        self._limits = limits


ONE = "/v1/sessions/{session_id}"


class _WhichSessions(Struct, frozen=True, forbid_unknown_fields=True):
    all: bool = False


class _From(Struct, frozen=True, forbid_unknown_fields=True):
    after: Annotated[int, Meta(ge=0, le=10**15)] = 0
    """The number of the last event that the client has. `Last-Event-ID` says the same, and takes precedence."""
    until: str = ""
    """The type of event that ends the stream; without it, the stream continues."""


class SessionEndpoints(_Endpoints):
    @get("/v1/sessions", "List sessions.")
    async def list_sessions(self, query: _WhichSessions) -> SessionList:
        summaries = await asyncio.to_thread(self._bench.catalog.summaries)
        shown = tuple(one for one in summaries if query.all or (one.is_listed and not one.is_archived))
        return SessionList(sessions=shown)

    @post("/v1/sessions", "Start a session.", status=201, kind=SessionView)
    async def start_session(self, body: NewSession) -> Response:
        named = NamedModel(provider=body.provider, model=body.model)
        if body.agent is not None:
            if not named.is_nothing:
                raise UsageError("A session has an agent or a model, not both.")
            named = NamedModel.of_agent(body.agent)
        options = SessionOptions(
            named=named,
            approval=body.approval,
            sandbox=body.sandbox,
            worktree=body.worktree,
        )
        opened = await self._sessions.create(await requested_folder(body.workspace, self._folder), options)
        view = await self._view(opened.session.id)
        return json_answer(view, 201, {"location": f"/v1/sessions/{view.id}"})

    @get(ONE, "Show a session, with the questions that wait in it.")
    async def get_session(self, session_id: SessionId) -> SessionView:
        return await self._view(session_id)

    @delete(ONE, "Remove a session with its undo history; files of the workspace stay.")
    async def delete_session(self, session_id: SessionId) -> None:
        await self._sessions.close(session_id)
        await self._bench.stored.delete(session_id)

    @post(f"{ONE}/open", "Open a session to continue it.")
    async def open_session(self, session_id: SessionId) -> SessionView:
        opened = await self._sessions.get(session_id)
        return await self._view(opened.session.id)

    @post(f"{ONE}/close", "Close a session with everything that runs in it. Its questions stay pending.")
    async def close_session(self, session_id: SessionId) -> SessionView:
        await self._sessions.close(session_id)
        return await self._view(session_id)

    @post(f"{ONE}/archive", "Archive a session, or restore it.")
    async def archive_session(self, session_id: SessionId, body: Archiving) -> None:
        if (opened := self._sessions.find(session_id)) is not None:
            opened.session.submit(ops.ArchiveSession(is_archived=body.is_archived))
        else:
            await self._bench.stored.file(session_id, SessionArchived(is_archived=body.is_archived))

    @post(f"{ONE}/ops", "Submit an op to a session, which is opened if necessary.", status=202)
    async def submit_op(self, session_id: SessionId, body: ops.Op) -> Accepted:
        opened = await self._sessions.get(session_id)
        return Accepted(session_id=opened.session.id, after=opened.hand(body))

    @post(f"{ONE}/prompts", "Submit a prompt to a session, which is opened if necessary.", status=202)
    async def submit_prompt(self, session_id: SessionId, body: Prompt) -> Accepted:
        if not body.text.strip():
            raise refusal(400, "invalid", "The message is empty.", field="$.text")
        opened = await self._sessions.get(session_id)
        prompt = ops.SubmitPrompt(text=body.text, include=body.include)
        return Accepted(session_id=opened.session.id, after=opened.hand(prompt))

    @get(
        f"{ONE}/events",
        "Stream the events of a session: those of the journal after `Last-Event-ID`, then live.",
        media_types=(STREAM,),
        words="Blocks `journal` with an `id`, and `live` without one; the data is an `Event`.",
    )
    async def stream_events(self, session_id: SessionId, query: _From, headers: Headers) -> Response:
        if len(self._sessions.streams) >= self._limits.streams:
            hint = "Close some that are not needed."
            raise refusal(429, "too_many_streams", "Too many streams of events are open.", hint=hint)
        journal = await asyncio.to_thread(self._bench.catalog.journal_path, session_id)
        after = _number(headers["last-event-id"]) if "last-event-id" in headers else query.after
        return EventStream(
            self._sessions, session_id, journal, after=after, until=query.until, tick_s=self._limits.tick_s
        )

    async def _view(self, session_id: SessionId) -> SessionView:
        summary = await asyncio.to_thread(self._bench.catalog.summary, session_id)
        if summary is None:
            raise SessionNotFoundError(f"There is no session {session_id} that can be read.")
        opened = self._sessions.find(session_id)
        if opened is None:
            last_seq = await asyncio.to_thread(self._last_seq, session_id)
            return SessionView(id=session_id, summary=summary, is_open=False, last_seq=last_seq, is_running=False)
        transcript = opened.session.transcript
        return SessionView(
            id=session_id,
            summary=summary,
            is_open=True,
            last_seq=transcript.session.last_seq,
            is_running=transcript.turns.is_running,
            approvals=tuple(transcript.pending_approvals),
        )

    def _last_seq(self, session_id: SessionId) -> int:
        """Return the number of the last event in the journal that can be read. Blocks."""
        journal = self._bench.catalog.journal_path(session_id)
        found = read_last_records(journal, self._bench.blobs, count=8, max_bytes=2**16, yield_gil=lambda: None)
        return max((record.event.seq for record in found if record.event is not None), default=0)


async def requested_folder(named: str | None, folder: Path) -> Path:
    """Return the folder that a client names, or else `folder`. Raises `RequestError` and `WorkspaceError`."""
    if named is None:
        return folder
    if "\0" in named or not Path(named).is_absolute():
        raise refusal(400, "invalid", "A folder is named by its absolute path.", field="$.workspace")
    return await asyncio.to_thread(usable_workspace, Path(named), "client")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise refusal(400, "invalid", "It is not the number of an event.", field="Last-Event-ID")
    return int(text)


# -- changes of sessions (list, show, undo, redo, export as files), and pending questions --

_MEDIA_TYPES: dict[ExportForm, str] = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "jsonl": "application/jsonl",
    "patch": "text/x-diff",
}

_PATCH = ("text/x-diff",)


class _WhichFile(Struct, frozen=True, forbid_unknown_fields=True):
    path: str | None = None
    """Only this file; without it, all files."""


class _Form(Struct, frozen=True, forbid_unknown_fields=True):
    format: ExportForm = "md"


class ChangeEndpoints(_Endpoints):
    @get(f"{ONE}/changes", "List the files that a session changed.")
    async def list_changes(self, session_id: SessionId) -> ChangeList:
        shown = (
            ChangedFile(change=row.change, change_ids=row.change_ids, authors=row.authors, state=row.state)
            for row in await self._rows(session_id)
        )
        return ChangeList(changes=tuple(shown))

    @get(f"{ONE}/diff", "Show what a session changed, as a patch that `git apply` takes.", media_types=_PATCH)
    async def get_diff(self, session_id: SessionId, query: _WhichFile) -> Response:
        chosen = [row for row in await self._rows(session_id) if query.path in (None, row.path)]
        if query.path is not None and not chosen:
            raise refusal(404, "no_change", "The session did not change this file.", field="$.path")
        return await self._patch([row.change for row in chosen])

    @post(f"{ONE}/undo", "Undo changes of a session, which is opened if necessary.")
    async def undo_changes(self, session_id: SessionId, body: Undo) -> Outcomes:
        changes = (await self._idle_session(session_id)).changes
        outcomes = await changes.undo(body.selection, reason=body.reason, includes_others=body.includes_others)
        return Outcomes(outcomes=outcomes)

    @post(f"{ONE}/redo", "Redo changes of a session, which is opened if necessary.")
    async def redo_changes(self, session_id: SessionId, body: Reversal) -> Outcomes:
        changes = (await self._idle_session(session_id)).changes
        return Outcomes(outcomes=await changes.redo(body.selection, reason=body.reason))

    @get(
        f"{ONE}/export",
        "Export a session in its present state.",
        media_types=tuple(kind.partition(";")[0] for kind in _MEDIA_TYPES.values()),
    )
    async def export_session(self, session_id: SessionId, query: _Form) -> Response:
        journal = await asyncio.to_thread(self._bench.catalog.journal_path, session_id)
        pieces = export_text(journal, query.format, self._bench.blobs)
        first = await asyncio.to_thread(next, pieces, b"")  # what cannot be read is an error, not half an answer
        headers = {
            "content-type": _MEDIA_TYPES[query.format],
            "content-disposition": f'attachment; filename="{session_id}.{query.format}"',
        }
        return StreamingResponse(chain((first,), pieces), headers=headers)

    @get("/v1/approvals", "List the open questions of all sessions that are open here.")
    async def list_approvals(self) -> PendingApprovals:
        waiting = (one for opened in self._sessions.all for one in _pending_in(opened))
        return PendingApprovals(approvals=tuple(waiting))

    @get(f"{ONE}/approvals", "List the open questions of a session, which is opened if necessary.")
    async def list_approvals_of_session(self, session_id: SessionId) -> PendingApprovals:
        return PendingApprovals(approvals=tuple(_pending_in(await self._sessions.get(session_id))))

    @get(
        f"{ONE}/approvals/{{call_id}}/diff", "Show what a call that waits would change, as a patch.", media_types=_PATCH
    )
    async def get_approval_diff(self, session_id: SessionId, call_id: CallId) -> Response:
        return await self._patch(_waiting(await self._sessions.get(session_id), call_id).changes)

    @post(f"{ONE}/approvals/{{call_id}}", "Answer a question that waits.", status=202)
    async def answer_approval(self, session_id: SessionId, call_id: CallId, body: Decision) -> AcceptedAnswer:
        opened = await self._sessions.get(session_id)
        request = _waiting(opened, call_id)
        if request.question is not None and isinstance(body, Allowed):
            mistake = mistake_in_answers(request.question, body.answers)
            if mistake:
                raise refusal(400, "invalid", mistake, field="$.answers")
        after = opened.hand(ops.AnswerApproval(call_id=call_id, decision=body))
        return AcceptedAnswer(session_id=opened.session.id, call_id=call_id, after=after)

    async def _patch(self, changes: Sequence[FileChange]) -> Response:
        patch = await asyncio.to_thread(patch_of, changes, self._bench.blobs.of_file)
        return Response(patch, headers={"content-type": "text/x-diff"})

    async def _rows(self, session_id: SessionId) -> Sequence[NetChange]:
        if (opened := self._sessions.find(session_id)) is not None:
            return net_changes(opened.session.transcript.changes.values())
        journal = await asyncio.to_thread(self._bench.catalog.journal_path, session_id)
        events, _ = await asyncio.to_thread(read_journal, journal, self._bench.blobs)
        return net_changes((await asyncio.to_thread(replay, events)).changes.values())

    async def _idle_session(self, session_id: SessionId) -> OpenSession:
        opened = await self._sessions.get(session_id)
        if opened.session.transcript.turns.is_running:
            raise refusal(409, "busy", "A turn is running.", hint="Wait for its end, or stop it with `interrupt`.")
        return opened


def _waiting(opened: OpenSession, call_id: CallId) -> ApprovalRequest:
    """Return the pending question with this id. Raises `RequestError` if there is none."""
    for request in opened.session.transcript.pending_approvals:
        if request.call_id == call_id:
            return request
    raise refusal(404, "not_pending", "No such question waits.", hint="It was answered, or its turn is over.")


def _pending_in(opened: OpenSession) -> Iterator[PendingApproval]:
    transcript, session_id = opened.session.transcript, opened.session.id
    for request in transcript.pending_approvals:
        yield PendingApproval(session_id=session_id, session_title=transcript.session.title, request=request)


# -- tools, each called in its own session; background commands of open sessions --


class _HowMuch(Struct, frozen=True, forbid_unknown_fields=True):
    max_bytes: Annotated[int, Meta(ge=1, le=2**20)] = 65_536


class ToolEndpoints(_Endpoints):
    def __init__(self, bench: Workbench, sessions: OpenSessions, folder: Path, limits: ServerLimits) -> None:
        super().__init__(bench, sessions, folder, limits)
        self._registry = ToolRegistry(builtin_tools(bench.paths.cache))
        self._calls: set[SingleCall] = set()

    @get(f"{ONE}/jobs", "List the background commands of a session that is open here.")
    async def list_jobs(self, session_id: SessionId) -> JobList:
        return JobList(jobs=self._open(session_id).session.transcript.session.jobs)

    @get(f"{ONE}/jobs/{{job_id}}/output", "Show the end of what a background command printed.")
    async def get_job_output(self, session_id: SessionId, job_id: str, query: _HowMuch) -> JobOutput:
        job = _job(self._open(session_id), job_id)
        output = await asyncio.to_thread(read_tail, job.log, query.max_bytes)
        return JobOutput(job_id=job.id, output=output)

    @post(f"{ONE}/jobs/{{job_id}}/stop", "End a background command with everything it started.", status=202)
    async def stop_job(self, session_id: SessionId, job_id: str) -> Accepted:
        opened = self._open(session_id)
        job = _job(opened, job_id)
        return Accepted(session_id=opened.session.id, after=opened.hand(ops.StopJob(job_id=job.id)))

    def _open(self, session_id: SessionId) -> OpenSession:
        opened = self._sessions.find(session_id)
        if opened is None:
            raise refusal(404, "not_open", "No such session is open here.", hint="Background commands end with theirs.")
        return opened

    def interrupt(self) -> None:
        for call in self._calls:
            call.interrupt()

    @get("/v1/tools", "List the tools that can be called without a model.")
    async def list_tools(self) -> ToolList:
        settings = self._bench.settings_in(self._folder)
        await settings.refresh()
        access = Access(self._registry, CallRules(), lambda: settings.current.execution.sandbox)
        documents = await asyncio.to_thread(lambda: [tool_document(tool, access) for tool in access.permitted()])
        servers = tuple(server.name for server in used_definitions(settings).servers)
        return ToolList(tools=tuple(documents), servers=servers)

    @post(
        "/v1/tools/{tool}/execute",
        "Call a tool. What needs an approval that no policy gives is refused: no user can answer.",
    )
    async def execute_tool(self, tool: str, body: Execution) -> CallAnswer:
        options = CallOptions(
            tool=tool,
            arguments=body.arguments,
            workspace=await requested_folder(body.workspace, self._folder),
            approval=body.approval,
            sandbox=body.sandbox,
        )
        settings = self._bench.settings_in(options.workspace)
        await settings.refresh()
        try:
            require_callable(options, self._registry, settings)
        except ToolError as error:
            raise _refused(error) from error
        call = SingleCall(self._bench.paths, self._bench.live, options, self._bench.environ)
        self._calls.add(call)
        try:
            report = await call.run()
        finally:
            self._calls.discard(call)
        return _answer_to(report)


def _job(opened: OpenSession, job_id: str) -> Job:
    for job in opened.session.transcript.session.jobs:
        if job.id == job_id:
            return job
    raise refusal(404, "job_not_found", "The session has no such background command.")


def _answer_to(report: CallReport) -> CallAnswer:
    """Return the answer for a call. Raises `RequestError` if the call was not carried out."""
    result = report.result
    if report.exit_code == 3 or result.error_type == "permission":
        code = "approval_required" if report.exit_code == 3 else "denied"
        hint = "A policy or a rule has to allow it, because no user is asked here."
        raise refusal(403, code, result.content, hint=hint)
    if report.exit_code == 2:
        raise _refused(ToolError(result.content, error_type=result.error_type or "validation"))
    return CallAnswer(
        tool=report.tool,
        status="failed" if result.is_error else "completed",
        content=result.content,
        is_error=result.is_error,
        error_type=result.error_type,
        metadata=result.metadata,
        changes=report.changes,
        session_id=report.session_id,
    )


def _refused(error: ToolError) -> RequestError:
    if error.error_type == "not_found":
        return refusal(404, "tool_not_found", str(error))
    fields = error.fields if isinstance(error, ArgumentsError) else ()
    return refusal(400, "invalid", str(error), field=f"$.arguments.{fields[0]}" if fields else "$.arguments")
