"""Questions of sessions: which wait, and their answers. Enough for a phone."""

import asyncio
from collections.abc import Iterator

from starlette.responses import Response

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.form_checking import mistake_in_answers
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, Decision
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.rest.change_endpoints import patch_of
from desktop_agent.rest.endpoint import Answers, AnyEndpoint, Asked, Endpoint, NoQuery
from desktop_agent.rest.open_sessions import OpenSession, OpenSessions
from desktop_agent.rest.problems import json_answer, refusal
from desktop_agent.rest.session_endpoints import ONE
from desktop_agent.rest.vocabulary import AcceptedAnswer, PendingApproval, PendingApprovals


class ApprovalEndpoints:
    """The endpoints of questions."""

    def __init__(self, sessions: OpenSessions, blobs: Blobs) -> None:
        self._sessions = sessions
        self._blobs = blobs

    def all(self) -> Iterator[AnyEndpoint]:
        """Yield them."""
        yield Endpoint(
            method="GET",
            path="/v1/approvals",
            name="listApprovals",
            summary="List the questions that wait in all sessions that are open here.",
            handle=self._list,
            answers=Answers(kind=PendingApprovals),
            query=NoQuery,
        )
        yield Endpoint(
            method="GET",
            path=f"{ONE}/approvals",
            name="listApprovalsOfSession",
            summary="List the questions that wait in a session, which is opened for it.",
            handle=self._list_of,
            answers=Answers(kind=PendingApprovals),
            query=NoQuery,
        )
        yield Endpoint(
            method="GET",
            path=f"{ONE}/approvals/{{call_id}}/diff",
            name="getApprovalDiff",
            summary="Show what a call that waits would change, as a patch.",
            handle=self._diff,
            answers=Answers(media_types=("text/x-diff",)),
            query=NoQuery,
        )
        yield Endpoint(
            method="POST",
            path=f"{ONE}/approvals/{{call_id}}",
            name="answerApproval",
            summary="Answer a question that waits.",
            handle=self._answer,
            body=Decision,  # pyright: ignore[reportArgumentType] - a union is no type for the type checker
            answers=Answers(status=202, kind=AcceptedAnswer),
            query=NoQuery,
        )

    async def _list(self, _asked: Asked[None, NoQuery]) -> Response:
        waiting = [one for opened in self._sessions.all for one in _waiting_in(opened)]
        return json_answer(PendingApprovals(approvals=tuple(waiting)))

    async def _list_of(self, asked: Asked[None, NoQuery]) -> Response:
        opened = await self._sessions.get(asked.path["session_id"])
        return json_answer(PendingApprovals(approvals=tuple(_waiting_in(opened))))

    async def _diff(self, asked: Asked[None, NoQuery]) -> Response:
        opened = await self._sessions.get(asked.path["session_id"])
        changes = _waiting(opened, asked.path["call_id"]).changes
        patch = await asyncio.to_thread(patch_of, changes, self._blobs)
        return Response(patch, headers={"content-type": "text/x-diff"})

    async def _answer(self, asked: Asked[Decision, NoQuery]) -> Response:
        opened = await self._sessions.get(asked.path["session_id"])
        request = _waiting(opened, asked.path["call_id"])
        call_id = request.call_id
        if request.question is not None and isinstance(asked.body, Allowed):
            mistake = mistake_in_answers(request.question, asked.body.answers)
            if mistake:
                raise refusal(400, "invalid", mistake, field="$.answers")
        after = opened.session.transcript.session.last_seq
        opened.session.submit(ops.AnswerApproval(call_id=call_id, decision=asked.body))
        return json_answer(AcceptedAnswer(session_id=opened.session.id, call_id=call_id, after=after), 202)


def _waiting(opened: OpenSession, call_id: CallId) -> ApprovalRequest:
    """Return the question with this id. Raises `RequestError` when none waits."""
    for request in opened.session.transcript.pending_approvals:
        if request.call_id == call_id:
            return request
    raise refusal(404, "not_pending", "No such question waits.", hint="It was answered, or its turn is over.")


def _waiting_in(opened: OpenSession) -> Iterator[PendingApproval]:
    transcript, session_id = opened.session.transcript, opened.session.id
    for request in transcript.pending_approvals:
        yield PendingApproval(session_id=session_id, session_title=transcript.session.title, request=request)
