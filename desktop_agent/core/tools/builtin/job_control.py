"""`job_control`: lists, reads and stops the background commands that the model started."""

import asyncio
import re
from typing import Literal

from pydantic import Field, model_validator

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.plain_text import shortened
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.protocol.model import Job, JsonObject, ToolResult
from desktop_agent.core.terminal.printout import plain_text
from desktop_agent.core.tools.output import MODEL_FORMAT
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext, json_text

LONGEST_WAIT_S = 600.0
MOST_LISTED = 50
_LONGEST_COMMAND = 200
_RAW_BYTES = 8 * MODEL_FORMAT.max_bytes
"""How many bytes of a log are read: in some logs, most are colours and progress bars."""


class JobControlArguments(ToolArguments):
    action: Literal["list", "output", "wait", "stop"] = Field(
        description="list: all jobs. output: the end of what one has printed. wait: until it ends. stop: end it."
    )
    job_id: str | None = Field(default=None, description="Which job. Needed for everything but list.")
    timeout: float = Field(
        default=30.0, gt=0, le=LONGEST_WAIT_S, allow_inf_nan=False, description="The longest to wait, in seconds."
    )
    tail_lines: int = Field(default=100, ge=1, le=MODEL_FORMAT.max_lines, description="Lines of output to return.")
    tail_bytes: int = Field(
        default=MODEL_FORMAT.max_bytes, ge=1, le=MODEL_FORMAT.max_bytes, description="Bytes of output to return."
    )

    @model_validator(mode="after")
    def _names_a_job(self) -> "JobControlArguments":
        if self.action != "list" and self.job_id is None:
            raise ValueError(f"{self.action} needs a job_id; the action list names them")
        return self


class JobControl(ReadTool[JobControlArguments]):
    name = "job_control"
    description = (
        "Look after the background commands that run_terminal_cmd started: list them, read the end of a job's output, "
        "wait until one ends (at most timeout seconds; its state is then still running), or stop one with everything "
        "it started. Jobs go on after your turn and end with the session."
    )
    capabilities = ()
    arguments_type = JobControlArguments

    @property
    def is_parallel(self) -> bool:
        return False

    def title(self, arguments: JobControlArguments) -> str:
        return f"{arguments.action} {arguments.job_id or 'jobs'}"

    async def run(self, arguments: JobControlArguments, context: ToolContext) -> ToolResult:
        jobs = context.jobs
        await jobs.look()
        if arguments.action == "list":
            return ToolResult(content=json_text(_listing(await jobs.snapshot())))
        job_id = arguments.job_id or ""
        if jobs.get(job_id) is None:
            known = ", ".join(job.id for job in jobs.list()[-MOST_LISTED:]) or "none has been started"
            raise ToolError(f"There is no job {job_id!r}. Known jobs: {known}.", error_type="not_found")
        match arguments.action:
            case "wait":
                await jobs.wait(job_id, arguments.timeout)
            case "stop":
                await jobs.stop(job_id)
            case _:
                pass
        return await _report(job_id, arguments, jobs)


async def _report(job_id: str, arguments: JobControlArguments, jobs: Jobs) -> ToolResult:
    output, is_truncated = await asyncio.to_thread(_tail, await jobs.tail(job_id, _RAW_BYTES), arguments)
    job = jobs.get(job_id)
    assert job is not None
    answer: JsonObject = {"job": _facts(job), "output": output, "truncated": is_truncated}
    if arguments.action == "wait":
        answer["timed_out"] = job.state == "running"
    return ToolResult(content=json_text(answer))


def _tail(text: str, arguments: JobControlArguments) -> tuple[str, bool]:
    plain = plain_text(text)
    lines = "".join(re.split(r"(?<=\n)", plain)[-arguments.tail_lines - plain.endswith("\n") :])
    shown = lines.encode()[-arguments.tail_bytes :].decode("utf-8", "ignore")
    return shown, len(shown) < len(plain) or len(text.encode()) >= _RAW_BYTES


def _listing(jobs: tuple[Job, ...]) -> JsonObject:
    by_interest = sorted(jobs, key=lambda job: (job.state == "running", job.started_at))
    shown = {job.id for job in by_interest[-MOST_LISTED:]}
    answer: JsonObject = {"jobs": [_facts(job) for job in jobs if job.id in shown]}
    if len(jobs) > len(shown):
        answer["omitted"] = len(jobs) - len(shown)
    return answer


def _facts(job: Job) -> JsonObject:
    facts: JsonObject = {
        "job_id": job.id,
        "command": shortened(job.command, _LONGEST_COMMAND),
        "state": job.state,
        "exit_code": job.exit_code,
        "pid": job.pid,
        "started_at": f"{job.started_at:%Y-%m-%dT%H:%M:%SZ}",
        "log": str(job.log),
    }
    if job.ended_at is not None:
        facts["duration_seconds"] = round((job.ended_at - job.started_at).total_seconds(), 1)
    if job.last_line:
        facts["last_line"] = shortened(job.last_line, _LONGEST_COMMAND)
    if job.memory_bytes:
        facts["memory_mb"] = round(job.memory_bytes / 1e6, 1)
    return facts
