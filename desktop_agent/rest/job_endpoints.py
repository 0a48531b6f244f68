"""The background commands of sessions that are open here."""

import asyncio
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from desktop_agent.core.jobs import read_tail
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Job
from desktop_agent.rest.endpoint import Answers, AnyEndpoint, Asked, Endpoint, NoQuery, action
from desktop_agent.rest.open_sessions import OpenSession, OpenSessions
from desktop_agent.rest.problems import json_answer, refusal
from desktop_agent.rest.session_endpoints import ONE
from desktop_agent.rest.vocabulary import Accepted, JobList, JobOutput


class _HowMuch(Struct, frozen=True, forbid_unknown_fields=True):
    """How much of an output."""

    max_bytes: Annotated[int, Meta(ge=1, le=2**20)] = 65_536


class JobEndpoints:
    """The endpoints of background commands."""

    def __init__(self, sessions: OpenSessions) -> None:
        self._sessions = sessions

    def all(self) -> Iterator[AnyEndpoint]:
        """Yield them."""
        yield Endpoint(
            method="GET",
            path=f"{ONE}/jobs",
            name="listJobs",
            summary="List the background commands of a session that is open here.",
            handle=self._list,
            answers=Answers(kind=JobList),
            query=NoQuery,
        )
        yield Endpoint(
            method="GET",
            path=f"{ONE}/jobs/{{job_id}}/output",
            name="getJobOutput",
            summary="Show the end of what a background command printed.",
            handle=self._output,
            answers=Answers(kind=JobOutput),
            query=_HowMuch,
        )
        yield action(
            f"{ONE}/jobs/{{job_id}}/stop",
            "stopJob",
            "End a background command with everything it started.",
            self._stop,
            Answers(status=202, kind=Accepted),
        )

    async def _list(self, asked: Asked[None, NoQuery]) -> Response:
        return json_answer(JobList(jobs=self._open(asked).session.transcript.session.jobs))

    async def _output(self, asked: Asked[None, _HowMuch]) -> Response:
        job = self._job(asked)
        output = await asyncio.to_thread(read_tail, job.log, asked.query.max_bytes)
        return json_answer(JobOutput(job_id=job.id, output=output))

    async def _stop(self, asked: Asked[None, NoQuery]) -> Response:
        opened, job = self._open(asked), self._job(asked)
        after = opened.session.transcript.session.last_seq
        opened.session.submit(ops.StopJob(job_id=job.id))
        return json_answer(Accepted(session_id=opened.session.id, after=after), 202)

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
