"""Tools, listed and called without a model, each call in its own session. Background commands of open sessions."""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import ArgumentsError, ToolError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.jobs import read_tail
from desktop_agent.core.mcp.definition_file import used_definitions
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Job
from desktop_agent.core.tools.access import Access, CallRules, tool_document
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.headless.single_call import CallOptions, CallReport, SingleCall, require_callable
from desktop_agent.rest.endpoint import (
    Accepted,
    CallAnswer,
    Execution,
    JobList,
    JobOutput,
    RequestError,
    ToolList,
    get,
    post,
    refusal,
)
from desktop_agent.rest.open_sessions import OpenSession, OpenSessions
from desktop_agent.rest.session_endpoints import ONE, requested_folder


class _HowMuch(Struct, frozen=True, forbid_unknown_fields=True):
    max_bytes: Annotated[int, Meta(ge=1, le=2**20)] = 65_536


class ToolEndpoints:
    def __init__(self, bench: Workbench, sessions: OpenSessions, folder: Path) -> None:
        self._bench = bench
        self._sessions = sessions
        self._folder = folder
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
