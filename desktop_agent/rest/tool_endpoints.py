"""Tools, listed and called without a model, each call in its own session; and the background commands of open ones."""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import ArgumentsError, ToolError
from desktop_agent.core.jobs import read_tail
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Job
from desktop_agent.core.tools.access import Access, CallRules, tool_document
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.headless.single_call import CallOptions, CallReport, SingleCall
from desktop_agent.rest.endpoint import (
    ACCEPTED,
    Accepted,
    Asked,
    CallAnswer,
    Execution,
    JobList,
    JobOutput,
    NoQuery,
    RequestError,
    ToolList,
    get,
    post,
    refusal,
)
from desktop_agent.rest.open_sessions import OpenSession, OpenSessions
from desktop_agent.rest.session_endpoints import ONE, folder_meant


class _HowMuch(Struct, frozen=True, forbid_unknown_fields=True):
    max_bytes: Annotated[int, Meta(ge=1, le=2**20)] = 65_536


class ToolEndpoints:
    """The endpoints of tools and of background commands."""

    def __init__(self, bench: Workbench, sessions: OpenSessions, folder: Path) -> None:
        """`folder` is the default workspace."""
        self._bench = bench
        self._sessions = sessions
        self._folder = folder
        self._registry = ToolRegistry(builtin_tools(bench.paths.cache))
        self._calls: set[SingleCall] = set()

    @get(f"{ONE}/jobs", "listJobs", "List the background commands of a session that is open here.", JobList)
    async def _list_jobs(self, asked: Asked[None, NoQuery]) -> JobList:
        return JobList(jobs=self._open(asked).session.transcript.session.jobs)

    @get(
        f"{ONE}/jobs/{{job_id}}/output",
        "getJobOutput",
        "Show the end of what a background command printed.",
        JobOutput,
        query=_HowMuch,
    )
    async def _output(self, asked: Asked[None, _HowMuch]) -> JobOutput:
        job = self._job(asked)
        output = await asyncio.to_thread(read_tail, job.log, asked.query.max_bytes)
        return JobOutput(job_id=job.id, output=output)

    @post(
        f"{ONE}/jobs/{{job_id}}/stop",
        "stopJob",
        "End a background command with everything it started.",
        ACCEPTED,
    )
    async def _stop(self, asked: Asked[None, NoQuery]) -> Accepted:
        opened, job = self._open(asked), self._job(asked)
        return Accepted(session_id=opened.session.id, after=opened.hand(ops.StopJob(job_id=job.id)))

    def _open(self, asked: Asked[None, NoQuery] | Asked[None, _HowMuch]) -> OpenSession:
        opened = self._sessions.find(asked.path["session_id"])
        if opened is None:
            raise refusal(404, "not_open", "No such session is open here.", hint="Background commands end with theirs.")
        return opened

    def _job(self, asked: Asked[None, NoQuery] | Asked[None, _HowMuch]) -> Job:
        for job in self._open(asked).session.transcript.session.jobs:
            if job.id == asked.path["job_id"]:
                return job
        raise refusal(404, "job_not_found", "The session has no such background command.")

    def interrupt(self) -> None:
        for call in self._calls:
            call.interrupt()

    @get("/v1/tools", "listTools", "List the tools that can be called without a model.", ToolList)
    async def _list(self, _asked: Asked[None, NoQuery]) -> ToolList:
        settings = self._bench.settings_in(self._folder)
        await settings.refresh()
        access = Access(self._registry, CallRules(), lambda: settings.current.execution.sandbox)
        documents = await asyncio.to_thread(lambda: [tool_document(tool, access) for tool in access.permitted()])
        return ToolList(tools=tuple(documents))

    @post(
        "/v1/tools/{tool}/execute",
        "executeTool",
        "Call a tool. What needs an approval that no policy gives is refused: no user can answer.",
        CallAnswer,
        body=Execution,
    )
    async def _execute(self, asked: Asked[Execution, NoQuery]) -> CallAnswer:
        name, body = asked.path["tool"], asked.body
        try:
            self._registry.require(name).parse(body.arguments)
        except ToolError as error:
            raise _refused(error) from error
        options = CallOptions(
            tool=name,
            arguments=body.arguments,
            workspace=await folder_meant(body.workspace, self._folder),
            approval=body.approval,
            sandbox=body.sandbox,
        )
        call = SingleCall(self._bench.paths, self._bench.live, options, environ=self._bench.environ)
        self._calls.add(call)
        try:
            report = await call.run()
        finally:
            self._calls.discard(call)
        return _answer_to(report)


def _answer_to(report: CallReport) -> CallAnswer:
    """Return the answer for a finished call. Raises `RequestError` for one that was not carried out."""
    result = report.result
    if report.exit_code == 3 or result.error_type == "permission":
        code = "approval_required" if report.exit_code == 3 else "denied"
        hint = "A policy or a rule has to allow it, because no user is asked here."
        raise refusal(403, code, result.content, hint=hint)
    if report.exit_code == 2:
        raise refusal(400, "invalid", result.content)
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
