"""Sessions: listed, started, opened, closed, filed; their ops and prompts; their events."""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from starlette.datastructures import Headers
from starlette.responses import Response

from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import SessionNotFoundError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import SessionArchived
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.store.journal.records import read_last_records
from desktop_agent.core.system.workspace import usable_workspace
from desktop_agent.rest.endpoint import (
    STREAM,
    Accepted,
    Archiving,
    NewSession,
    Prompt,
    SessionList,
    SessionView,
    delete,
    get,
    json_answer,
    post,
    refusal,
)
from desktop_agent.rest.guard import ServerLimits
from desktop_agent.rest.open_sessions import EventStream, OpenSessions

ONE = "/v1/sessions/{session_id}"


class _Which(Struct, frozen=True, forbid_unknown_fields=True):
    all: bool = False


class _From(Struct, frozen=True, forbid_unknown_fields=True):
    after: Annotated[int, Meta(ge=0, le=10**15)] = 0
    """The number of the last event that the client has. `Last-Event-ID` says the same, and takes precedence."""
    until: str = ""
    """The type of event that ends the stream; without it, the stream continues."""


class SessionEndpoints:
    def __init__(self, bench: Workbench, sessions: OpenSessions, folder: Path, limits: ServerLimits) -> None:
        self._bench = bench
        self._sessions = sessions
        self._folder = folder
        self._limits = limits

    @get("/v1/sessions", "List sessions.")
    async def list_sessions(self, query: _Which) -> SessionList:
        summaries = await asyncio.to_thread(self._bench.catalog.summaries)
        shown = tuple(one for one in summaries if query.all or (one.is_listed and not one.is_archived))
        return SessionList(sessions=shown)

    @post("/v1/sessions", "Start a session.", status=201, kind=SessionView)
    async def start_session(self, body: NewSession) -> Response:
        options = SessionOptions(
            named=NamedModel(provider=body.provider, model=body.model),
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

    @post(f"{ONE}/open", "Open a session, so that it goes on.")
    async def open_session(self, session_id: SessionId) -> SessionView:
        opened = await self._sessions.get(session_id)
        return await self._view(opened.session.id)

    @post(f"{ONE}/close", "End what runs in a session, and let others open it. Questions wait on.")
    async def close_session(self, session_id: SessionId) -> SessionView:
        await self._sessions.close(session_id)
        return await self._view(session_id)

    @post(f"{ONE}/archive", "Put a session away, or take it back.")
    async def archive_session(self, session_id: SessionId, body: Archiving) -> None:
        if (opened := self._sessions.find(session_id)) is not None:
            opened.session.submit(ops.ArchiveSession(is_archived=body.is_archived))
        else:
            await self._bench.stored.file(session_id, SessionArchived(is_archived=body.is_archived))

    @post(f"{ONE}/ops", "Hand an op to a session, which is opened for it.", status=202)
    async def submit_op(self, session_id: SessionId, body: ops.Op) -> Accepted:
        opened = await self._sessions.get(session_id)
        return Accepted(session_id=opened.session.id, after=opened.hand(body))

    @post(f"{ONE}/prompts", "Hand a prompt to a session, which is opened for it.", status=202)
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
