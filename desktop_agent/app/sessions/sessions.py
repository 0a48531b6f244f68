"""The sessions that are open in this process: several may run at once, whichever of them the window shows."""

import asyncio
import gc
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from desktop_agent.app.drafts.draft_autosave import DraftAutosave
from desktop_agent.app.sessions.pages import PageLoader
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import SessionId, new_prompt_id
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef
from desktop_agent.core.session.session import Session
from desktop_agent.core.store.drafts import session_draft
from desktop_agent.core.store.filing import Filing
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.window.bridge import SessionBridge

FILING_WAIT_S = 10.0
"""How long quitting waits for a session that the user has renamed or pinned while it was being opened."""


class LiveSession(Struct, frozen=True):
    """An open session: its running end, its task, and the window's side of it."""

    session: Session
    task: asyncio.Task[None]
    bridge: SessionBridge
    pages: PageLoader


class OpeningSession(Struct, frozen=True):
    """A long session of which only the end is there yet, and what the user asked for meanwhile."""

    bridge: SessionBridge
    task: asyncio.Task[None]
    waiting: "_Waiting"


class LiveSessions:
    """Opens, keeps and closes sessions. All methods run on the window's loop."""

    def __init__(self, bench: Workbench, unsent: DraftAutosave) -> None:
        """`unsent` keeps what is sent to a session before it can take it."""
        self._bench = bench
        self._unsent = unsent
        self._live: dict[SessionId, LiveSession] = {}
        self._opening: dict[SessionId, OpeningSession] = {}
        self._doors: dict[SessionId, asyncio.Lock] = {}
        """Held by who opens a session or files it: both hold it for writing."""

    @property
    def bridges(self) -> list[SessionBridge]:
        """The window's side of every open session."""
        return [known.bridge for known in (*self._live.values(), *self._opening.values())]

    @property
    def working(self) -> int:
        """How many sessions have a turn running that closing them would stop."""
        return sum(live.session.is_at_work for live in self._live.values())

    @property
    def ids(self) -> frozenset[SessionId]:
        """The ids of the open sessions."""
        return frozenset((*self._live, *self._opening))

    def id_of(self, bridge: SessionBridge) -> SessionId:
        """The session of a bridge; its transcript does not know before the session's first event."""
        return next(session_id for session_id, live in self._live.items() if live.bridge is bridge)

    async def create(self, workspace: Path, model: ModelRef, approval: ApprovalPolicy) -> SessionBridge:
        """Start a session. Raises `AgentError` when the folder or the disk does not allow it."""
        link = _Link(self._unsent)
        session = await self._bench.create_session(workspace, sink=link.take, model=model, approval=approval)
        bridge = link.connect(session, SessionBridge(Transcript(), link.submit))
        return self._serve(session, bridge, self._loader(session.id, bridge))

    async def open(self, session_id: SessionId) -> SessionBridge:
        """Return the session, opening it when it is not open yet. Raises `AgentError` when that is not possible.

        Of a long one the end comes at once, and the rest when it is there: the bridge signals that.
        """
        async with self._doors.setdefault(session_id, asyncio.Lock()):
            return await self._open(session_id)

    async def file(self, session_id: SessionId, filing: Filing) -> bool:
        """Rename, pin or archive a session, also one that is being opened; False when it is open and does so itself.

        Raises `AgentError` when that is not possible.
        """
        async with self._doors.setdefault(session_id, asyncio.Lock()):
            known = self._live.get(session_id) or self._opening.get(session_id)
            if known is None:
                await self._bench.stored.file(session_id, filing)
                return True
        known.bridge.submit(_op_of(filing))
        return False

    async def _open(self, session_id: SessionId) -> SessionBridge:
        known = self._live.get(session_id) or self._opening.get(session_id)
        if known is not None:
            return known.bridge
        if await self._bench.stored.is_long(session_id):
            return await self._open_end(session_id)
        link = _Link(self._unsent)
        opened = await self._bench.open_session(session_id, sink=link.take)
        bridge = link.connect(opened.session, SessionBridge(opened.transcript, link.submit))
        return self._serve(opened.session, bridge, self._loader(session_id, bridge))

    def is_running(self, session_id: SessionId) -> bool:
        """Whether the agent works in a session that is open here, or waits for an answer in it."""
        live = self._live.get(session_id)
        return live is not None and live.session.transcript.is_running

    async def close(self, session_id: SessionId) -> None:
        """Close one session, if it is open here or being opened; returns when it is. What waits for it is dropped."""
        opening = self._opening.get(session_id)
        if opening is not None:
            opening.waiting.forget()
            await asyncio.wait([opening.task])  # cancelled, it could leave the session locked
        live = self._live.pop(session_id, None)
        if live is not None:
            live.session.submit(ops.Shutdown(keeps_questions=True))
            await live.task

    async def aclose(self) -> None:
        """Stop everything and close every session; returns when nothing of them is left."""
        if filed := [opening.task for opening in self._opening.values() if opening.waiting.filings]:
            await asyncio.wait(filed, timeout=FILING_WAIT_S)
        for opening in self._opening.values():
            opening.task.cancel()
        if self._opening:
            await asyncio.wait([opening.task for opening in self._opening.values()])
        for live in self._live.values():
            await live.pages.aclose()
            live.session.submit(ops.Shutdown(keeps_questions=True))
        await asyncio.gather(*(live.task for live in self._live.values()))
        self._live.clear()

    async def _open_end(self, session_id: SessionId) -> SessionBridge:
        end = await self._bench.stored.read_end(session_id)
        # Before anything can be sent or go wrong: from here to who shows it nothing else gets a turn.
        await self._unsent.fetch(session_draft(session_id))
        waiting = _Waiting(partial(self._unsent.note_sent, session_draft(session_id)))
        waiting.bridge = SessionBridge(end, waiting.submit)
        task = asyncio.create_task(self._open_rest(session_id, waiting), name=f"open {session_id}")
        self._opening[session_id] = OpeningSession(waiting.bridge, task, waiting)
        return waiting.bridge

    async def _open_rest(self, session_id: SessionId, waiting: "_Waiting") -> None:
        assert waiting.bridge is not None
        link = _Link(self._unsent)
        try:
            opened = await self._bench.open_session(session_id, sink=link.take)
        except AgentError as error:
            self._unsent.give_back(session_draft(session_id))
            filings = waiting.filings
            waiting.refuse(error)
            await self._file_all(session_id, filings)
            return
        finally:
            del self._opening[session_id]
        gc.freeze()  # what is known of a session lives as long as it; looking through it would take a frame or two
        pages = self._loader(session_id, waiting.bridge)
        link.connect(opened.session, waiting.bridge)
        waiting.bridge.replace(opened.transcript, link.submit)
        self._serve(opened.session, waiting.bridge, pages)
        self._unsent.note_sent(session_draft(session_id), ())
        for op in waiting.asked:
            link.submit(op)

    async def _file_all(self, session_id: SessionId, filings: Sequence[Filing]) -> None:
        """Do what was asked for of a session that cannot be opened; why it cannot has been said."""
        for filing in filings:
            with suppress(AgentError):
                await self._bench.stored.file(session_id, filing)

    def _loader(self, session_id: SessionId, bridge: SessionBridge) -> PageLoader:
        stored = self._bench.stored
        return PageLoader(bridge, partial(stored.read_page, session_id), partial(stored.find_pages, session_id))

    def _serve(self, session: Session, bridge: SessionBridge, pages: PageLoader) -> SessionBridge:
        session_id = session.id
        task = asyncio.create_task(session.run(), name=f"session {session_id}")
        self._live[session_id] = LiveSession(session, task, bridge, pages)
        return bridge


class _Link:
    """Between an open session and its bridge: ops go in, events come out, and no prompt is lost on the way.

    A session takes one op after another, and a long undo may come before a prompt. Until the journal has the prompt, it
    is kept like what is typed.
    """

    def __init__(self, unsent: DraftAutosave) -> None:
        self._unsent = unsent
        self._session: Session | None = None
        self._bridge: SessionBridge | None = None
        self._sent: list[str] = []
        """The prompts that the session has not answered for."""

    def connect(self, session: Session, bridge: SessionBridge) -> SessionBridge:
        """Link these two from now on; returns `bridge`. A session is silent until it runs."""
        self._session, self._bridge = session, bridge
        return bridge

    def submit(self, op: ops.Op) -> None:
        """Ask the session for something."""
        assert self._session is not None
        if isinstance(op, ops.SubmitPrompt):
            self._sent.append(op.text)
            self._keep(self._session)
        self._session.submit(op)

    def take(self, event: ev.Event) -> None:
        """Tell the bridge what happened."""
        assert self._session is not None, "a session says nothing before it runs"
        assert self._bridge is not None
        is_answer = isinstance(event, ev.PromptSubmitted | ev.Queued | ev.PromptRejected)
        if is_answer and event.text in self._sent:
            self._sent.remove(event.text)
            self._keep(self._session)
        self._bridge.deliver(event)

    def _keep(self, session: Session) -> None:
        self._unsent.note_sent(session_draft(session.id), self._sent)


class _Waiting:
    """Takes what the user asks for while a session is being opened. Prompts are shown as waiting."""

    def __init__(self, keep: Callable[[Sequence[str]], None]) -> None:
        """`keep` gets all prompts that wait, whenever they change."""
        self.bridge: SessionBridge | None = None
        self._keep = keep
        self._asked: dict[str, ops.Op] = {}
        self._error: AgentError | None = None
        """Why nothing will come of it."""

    @property
    def asked(self) -> list[ops.Op]:
        """What was asked for, in its order."""
        return list(self._asked.values())

    @property
    def filings(self) -> list[Filing]:
        """What of it is kept even if the session cannot be opened."""
        return [filing for op in self.asked if (filing := _filing_of(op)) is not None]

    def submit(self, op: ops.Op) -> None:
        """Let `op` wait; once the session could not be opened, say so and give back what was written."""
        assert self.bridge is not None
        if self._error is not None:
            if isinstance(op, ops.SubmitPrompt | ops.RunCommand):
                self.bridge.deliver(ev.PromptRejected(text=op.text))
            self.bridge.failed.emit(self._error)
            return
        name = new_prompt_id()
        match op:
            case ops.Unqueue(prompt_id=prompt_id) if prompt_id in self._asked:
                del self._asked[prompt_id]
                self.bridge.deliver(ev.Unqueued(prompt_id=prompt_id))
            case ops.SubmitPrompt(text=text):
                self._asked[name] = op
                self.bridge.deliver(ev.Queued(prompt_id=name, text=text))
            case _:
                self._asked[name] = op
        self._keep([op.text for op in self.asked if isinstance(op, ops.SubmitPrompt | ops.RunCommand)])

    def forget(self) -> None:
        """Drop all prompts that wait: the user no longer wants them."""
        self._asked.clear()
        self._keep(())

    def refuse(self, error: AgentError) -> None:
        """Let nothing wait any more: the session could not be opened."""
        assert self.bridge is not None
        self._error = error
        for name, op in self._asked.items():
            if isinstance(op, ops.SubmitPrompt):
                self.bridge.deliver(ev.Unqueued(prompt_id=name))
        self._asked.clear()
        self.bridge.failed.emit(error)


def _op_of(filing: Filing) -> ops.Op:
    match filing:
        case ev.SessionRenamed(title=title):
            return ops.RenameSession(title=title)
        case ev.SessionPinned(is_pinned=is_pinned):
            return ops.PinSession(is_pinned=is_pinned)
        case ev.SessionArchived(is_archived=is_archived):
            return ops.ArchiveSession(is_archived=is_archived)


def _filing_of(op: ops.Op) -> Filing | None:
    match op:
        case ops.RenameSession(title=title):
            return ev.SessionRenamed(title=title.strip())
        case ops.PinSession(is_pinned=is_pinned):
            return ev.SessionPinned(is_pinned=is_pinned)
        case ops.ArchiveSession(is_archived=is_archived):
            return ev.SessionArchived(is_archived=is_archived)
        case _:
            return None
