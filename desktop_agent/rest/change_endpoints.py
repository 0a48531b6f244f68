"""Endpoints of what sessions changed (list, show, undo, redo, export as files), and of pending questions."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.ids import CallId, SessionId
from desktop_agent.core.changes.net import NetChange, net_changes
from desktop_agent.core.changes.patch import patch_of
from desktop_agent.core.export import ExportForm, export_text
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.form_checking import mistake_in_answers
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, Decision, FileChange
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.transcript import replay
from desktop_agent.rest.endpoint import (
    AcceptedAnswer,
    Answers,
    Asked,
    ChangedFile,
    ChangeList,
    NoQuery,
    Outcomes,
    PendingApproval,
    PendingApprovals,
    Reversal,
    Undo,
    get,
    post,
    refusal,
)
from desktop_agent.rest.open_sessions import OpenSession, OpenSessions
from desktop_agent.rest.session_endpoints import ONE

_MEDIA_TYPES: dict[ExportForm, str] = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "jsonl": "application/jsonl",
    "patch": "text/x-diff",
}


_PATCH = Answers(media_types=("text/x-diff",))


class _Which(Struct, frozen=True, forbid_unknown_fields=True):
    path: str | None = None
    """Only this one; without it, all of them."""


class _Form(Struct, frozen=True, forbid_unknown_fields=True):
    format: ExportForm = "md"


class ChangeEndpoints:
    """The endpoints of changes and of questions."""

    def __init__(self, bench: Workbench, sessions: OpenSessions) -> None:
        self._bench = bench
        self._sessions = sessions

    @get(f"{ONE}/changes", "listChanges", "List the files that a session changed.", ChangeList)
    async def _list(self, asked: Asked[None, NoQuery]) -> ChangeList:
        shown = (
            ChangedFile(change=row.change, change_ids=row.change_ids, authors=row.authors, state=row.state)
            for row in await self._rows(asked.path["session_id"])
        )
        return ChangeList(changes=tuple(shown))

    @get(
        f"{ONE}/diff",
        "getDiff",
        "Show what a session changed, as a patch that `git apply` takes.",
        _PATCH,
        query=_Which,
    )
    async def _diff(self, asked: Asked[None, _Which]) -> Response:
        path = asked.query.path
        chosen = [row for row in await self._rows(asked.path["session_id"]) if path in (None, row.path)]
        if path is not None and not chosen:
            raise refusal(404, "no_change", "The session did not change this file.", field="$.path")
        return await self._patch([row.change for row in chosen])

    @post(f"{ONE}/undo", "undoChanges", "Undo changes of a session, which is opened for it.", Outcomes, body=Undo)
    async def _undo(self, asked: Asked[Undo, NoQuery]) -> Outcomes:
        opened = await self._at_rest(asked.path["session_id"])
        body = asked.body
        outcomes = await opened.changes.undo(body.selection, reason=body.reason, includes_others=body.includes_others)
        return Outcomes(outcomes=outcomes)

    @post(f"{ONE}/redo", "redoChanges", "Redo changes of a session, which is opened for it.", Outcomes, body=Reversal)
    async def _redo(self, asked: Asked[Reversal, NoQuery]) -> Outcomes:
        opened = await self._at_rest(asked.path["session_id"])
        return Outcomes(outcomes=await opened.changes.redo(asked.body.selection, reason=asked.body.reason))

    @get(
        f"{ONE}/export",
        "exportSession",
        "Export a session, as far as it has come.",
        Answers(media_types=tuple(kind.partition(";")[0] for kind in _MEDIA_TYPES.values())),
        query=_Form,
    )
    async def _export(self, asked: Asked[None, _Form]) -> Response:
        session_id, form = asked.path["session_id"], asked.query.format
        journal = await asyncio.to_thread(self._bench.catalog.journal_path, session_id)
        pieces = export_text(journal, form, self._bench.blobs)
        first = await asyncio.to_thread(next, pieces, b"")  # what cannot be read is an error, not half an answer
        headers = {
            "content-type": _MEDIA_TYPES[form],
            "content-disposition": f'attachment; filename="{session_id}.{form}"',
        }
        return StreamingResponse(chain((first,), pieces), headers=headers)

    @get(
        "/v1/approvals",
        "listApprovals",
        "List the questions that wait in all sessions that are open here.",
        PendingApprovals,
    )
    async def _list_approvals(self, _asked: Asked[None, NoQuery]) -> PendingApprovals:
        waiting = (one for opened in self._sessions.all for one in _waiting_in(opened))
        return PendingApprovals(approvals=tuple(waiting))

    @get(
        f"{ONE}/approvals",
        "listApprovalsOfSession",
        "List the questions that wait in a session, which is opened for it.",
        PendingApprovals,
    )
    async def _list_approvals_of(self, asked: Asked[None, NoQuery]) -> PendingApprovals:
        opened = await self._sessions.get(asked.path["session_id"])
        return PendingApprovals(approvals=tuple(_waiting_in(opened)))

    @get(
        f"{ONE}/approvals/{{call_id}}/diff",
        "getApprovalDiff",
        "Show what a call that waits would change, as a patch.",
        _PATCH,
    )
    async def _approval_diff(self, asked: Asked[None, NoQuery]) -> Response:
        opened = await self._sessions.get(asked.path["session_id"])
        return await self._patch(_waiting(opened, asked.path["call_id"]).changes)

    @post(
        f"{ONE}/approvals/{{call_id}}",
        "answerApproval",
        "Answer a question that waits.",
        Answers(status=202, kind=AcceptedAnswer),
        body=Decision,
    )
    async def _answer(self, asked: Asked[Decision, NoQuery]) -> AcceptedAnswer:
        opened = await self._sessions.get(asked.path["session_id"])
        request = _waiting(opened, asked.path["call_id"])
        call_id = request.call_id
        if request.question is not None and isinstance(asked.body, Allowed):
            mistake = mistake_in_answers(request.question, asked.body.answers)
            if mistake:
                raise refusal(400, "invalid", mistake, field="$.answers")
        after = opened.hand(ops.AnswerApproval(call_id=call_id, decision=asked.body))
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

    async def _at_rest(self, session_id: SessionId) -> OpenSession:
        opened = await self._sessions.get(session_id)
        if opened.session.transcript.turns.is_running:
            raise refusal(409, "busy", "A turn is running.", hint="Wait for its end, or stop it with `interrupt`.")
        return opened


def _waiting(opened: OpenSession, call_id: CallId) -> ApprovalRequest:
    """Return the pending question with this id. Raises `RequestError` if it is not pending."""
    for request in opened.session.transcript.pending_approvals:
        if request.call_id == call_id:
            return request
    raise refusal(404, "not_pending", "No such question waits.", hint="It was answered, or its turn is over.")


def _waiting_in(opened: OpenSession) -> Iterator[PendingApproval]:
    transcript, session_id = opened.session.transcript, opened.session.id
    for request in transcript.pending_approvals:
        yield PendingApproval(session_id=session_id, session_title=transcript.session.title, request=request)
