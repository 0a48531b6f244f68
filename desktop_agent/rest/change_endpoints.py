"""Endpoints of sessions' changes (list, show, undo, redo, export as files), and of pending questions."""

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
    ChangedFile,
    ChangeList,
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

_PATCH = ("text/x-diff",)


class _Which(Struct, frozen=True, forbid_unknown_fields=True):
    path: str | None = None
    """Only this file; without it, all files."""


class _Form(Struct, frozen=True, forbid_unknown_fields=True):
    format: ExportForm = "md"


class ChangeEndpoints:
    def __init__(self, bench: Workbench, sessions: OpenSessions) -> None:
        self._bench = bench
        self._sessions = sessions

    @get(f"{ONE}/changes", "List the files that a session changed.")
    async def list_changes(self, session_id: SessionId) -> ChangeList:
        shown = (
            ChangedFile(change=row.change, change_ids=row.change_ids, authors=row.authors, state=row.state)
            for row in await self._rows(session_id)
        )
        return ChangeList(changes=tuple(shown))

    @get(f"{ONE}/diff", "Show what a session changed, as a patch that `git apply` takes.", media_types=_PATCH)
    async def get_diff(self, session_id: SessionId, query: _Which) -> Response:
        chosen = [row for row in await self._rows(session_id) if query.path in (None, row.path)]
        if query.path is not None and not chosen:
            raise refusal(404, "no_change", "The session did not change this file.", field="$.path")
        return await self._patch([row.change for row in chosen])

    @post(f"{ONE}/undo", "Undo changes of a session, which is opened for it.")
    async def undo_changes(self, session_id: SessionId, body: Undo) -> Outcomes:
        changes = (await self._idle_session(session_id)).changes
        outcomes = await changes.undo(body.selection, reason=body.reason, includes_others=body.includes_others)
        return Outcomes(outcomes=outcomes)

    @post(f"{ONE}/redo", "Redo changes of a session, which is opened for it.")
    async def redo_changes(self, session_id: SessionId, body: Reversal) -> Outcomes:
        changes = (await self._idle_session(session_id)).changes
        return Outcomes(outcomes=await changes.redo(body.selection, reason=body.reason))

    @get(
        f"{ONE}/export",
        "Export a session, as far as it has come.",
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

    @get("/v1/approvals", "List the questions that wait in all sessions that are open here.")
    async def list_approvals(self) -> PendingApprovals:
        waiting = (one for opened in self._sessions.all for one in _pending_in(opened))
        return PendingApprovals(approvals=tuple(waiting))

    @get(f"{ONE}/approvals", "List the questions that wait in a session, which is opened for it.")
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
