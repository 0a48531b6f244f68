"""The sessions that are open in this process, and the pages of long ones."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from desktop_agent.app.sessions.draft_autosave import DraftAutosave
from desktop_agent.app.sessions.session_ports import LivePort, OpeningPort
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef
from desktop_agent.core.session.session import FilingOp, Session, event_of
from desktop_agent.core.store.drafts import session_draft
from desktop_agent.core.store.session_upkeep import Filing
from desktop_agent.core.transcript import JournalPage, Transcript
from desktop_agent.ui.window.shown_session import SessionBridge

MAX_LOADED_BYTES: Final = 8 * 2**20
"""Of the journal: how much of it may be loaded besides what is in view or came since the session was opened."""

_log = logging.getLogger(__name__)


class PageLoader:
    """Serves one bridge. One page is read at a time, always the one that is most wanted by then."""

    def __init__(
        self,
        bridge: SessionBridge,
        read: Callable[[JournalPage], Awaitable[Transcript]],
        find: Callable[[Sequence[JournalPage], str], Awaitable[list[int]]],
    ) -> None:
        """`read` folds a page; `find` returns which pages may have a text."""
        self._bridge = bridge
        self._read = read
        self._find = find
        self._search: asyncio.Task[None] | None = None
        self._wanted: tuple[int, ...] = ()
        self._used: OrderedDict[int, None] = OrderedDict()
        """The pages that are loaded, the one not looked at for longest first."""
        self._failed: set[int] = set()
        self._task: asyncio.Task[None] | None = None
        bridge.pages_wanted.connect(self.want)
        bridge.pages_sought.connect(self.search)

    def want(self, numbers: Sequence[int]) -> None:
        """Load these pages, the first of them first; what was wanted before and is not there yet is wanted no more."""
        self._wanted = tuple(numbers)
        for number in self._bridge.transcript.paged.loaded_pages:
            self._used.setdefault(number)
        for number in reversed(self._wanted):
            if number in self._used:
                self._used.move_to_end(number)
        if self._next() is not None and self._task is None:
            self._task = asyncio.create_task(self._serve(), name="load pages")

    def search(self, text: str) -> None:
        """Find out which pages may have this text; an earlier search is cancelled."""
        if self._search is not None:
            self._search.cancel()
        pages = self._bridge.transcript.pages
        self._search = asyncio.create_task(self._answer(tuple(pages), text)) if text and pages else None

    async def aclose(self) -> None:
        """Load nothing any more."""
        tasks = [task for task in (self._task, self._search) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _answer(self, pages: Sequence[JournalPage], text: str) -> None:
        try:
            self._bridge.pages_found.emit(text, await self._find(pages, text))
        except AgentError as error:
            _log.warning("The pages of a session could not be searched: %s", error.detail)

    async def _serve(self) -> None:
        try:
            while (number := self._next()) is not None:
                await self._load(number)
                await asyncio.sleep(0)  # the page is shown in one turn of the loop, and room made in another
                self._let_go()
        finally:
            self._task = None

    def _next(self) -> int | None:
        transcript = self._bridge.transcript
        count = len(transcript.pages)
        missing = (n for n in self._wanted if n < count and n not in self._failed and not transcript.paged.is_loaded(n))
        return next(missing, None)

    async def _load(self, number: int) -> None:
        try:
            page = await self._read(self._bridge.transcript.pages[number])
        except AgentError as error:
            _log.warning("A page of a session could not be read: %s", error.detail)
            self._failed.add(number)
            return
        self._used[number] = None
        self._bridge.deliver_page(number, page)

    def _let_go(self) -> None:
        pages = self._bridge.transcript.pages
        size = sum(pages[number].end - pages[number].start for number in self._used)
        for number in list(self._used):
            if size <= MAX_LOADED_BYTES:
                return
            if number not in self._wanted:
                size -= pages[number].end - pages[number].start
                del self._used[number]
                self._bridge.drop_page(number)


FILING_WAIT_S = 10.0
"""How long quitting waits for a session that the user has renamed or pinned while it was being opened."""


class LiveSession(Struct, frozen=True):
    """An open session: its running end, its task, and the window's side of it."""

    session: Session
    task: asyncio.Task[None]
    bridge: SessionBridge
    pages: PageLoader
    port: LivePort

    @property
    def is_at_rest(self) -> bool:
        """Whether closing it now would interrupt nothing that the transcript does not show yet."""
        return self.session.is_at_rest and not self.port.has_sent


class OpeningSession(Struct, frozen=True):
    """A session of which only the end is there yet, and the task that reads the rest."""

    port: OpeningPort
    task: asyncio.Task[None]


class LiveSessions:
    """Opens, keeps and closes sessions. All methods run on the window's loop."""

    def __init__(self, bench: Workbench, drafts: DraftAutosave, begun: OpeningPort | None = None) -> None:
        """`drafts` keeps what is sent to a session before it can take it, `begun` is shown already and not open."""
        self._bench = bench
        self._drafts = drafts
        self._live: dict[SessionId, LiveSession] = {}
        self._begun = begun
        self._opening: dict[SessionId, OpeningSession] = {}
        self._doors: dict[SessionId, asyncio.Lock] = {}
        """Held by who opens a session or files it: both hold it for writing."""

    @property
    def bridges(self) -> list[SessionBridge]:
        """The window's side of every open session."""
        return [live.bridge for live in self._live.values()] + [end.port.bridge for end in self._opening.values()]

    @property
    def working(self) -> int:
        """How many sessions have a turn running that closing them would stop."""
        return sum(live.session.is_at_work for live in self._live.values())

    def id_of(self, bridge: SessionBridge) -> SessionId:
        """The session of a bridge; its transcript does not know before the session's first event."""
        return next(session_id for session_id, live in self._live.items() if live.bridge is bridge)

    async def create(self, workspace: Path, model: ModelRef, approval: ApprovalPolicy) -> SessionBridge:
        """Start a session. Raises `AgentError` when the folder or the disk does not allow it."""
        port = LivePort(self._drafts)
        session = await self._bench.create_session(workspace, sink=port.take, model=model, approval=approval)
        bridge = port.connect(session.id, session, SessionBridge(Transcript(), port))
        return self._serve(session, bridge, self._loader(session.id, bridge), port)

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
            known = self._known(session_id)
            if known is None:
                await self._bench.stored.file(session_id, filing)
                return True
        known.submit(_op_of(filing))
        return False

    def _known(self, session_id: SessionId) -> SessionBridge | None:
        if (live := self._live.get(session_id)) is not None:
            return live.bridge
        opening = self._opening.get(session_id)
        return opening.port.bridge if opening is not None else None

    async def _open(self, session_id: SessionId) -> SessionBridge:
        if (known := self._known(session_id)) is not None:
            return known
        is_long = await self._bench.stored.is_long(session_id)
        if self._begun is not None and self._begun.session_id == session_id:
            begun, self._begun = self._begun, None
            return await self._open_end(begun, is_long=is_long)
        if is_long:
            end = await self._bench.stored.read_end(session_id)
            return await self._open_end(OpeningPort(session_id, end), is_long=True)
        port = LivePort(self._drafts)
        opened = await self._bench.open_session(session_id, sink=port.take)
        bridge = port.connect(session_id, opened.session, SessionBridge(opened.transcript, port))
        return self._serve(opened.session, bridge, self._loader(session_id, bridge), port)

    def is_running(self, session_id: SessionId) -> bool:
        """Whether the agent works in a session that is open here, or waits for an answer in it."""
        live = self._live.get(session_id)
        return live is not None and live.session.transcript.turns.is_running

    async def close(self, session_id: SessionId) -> None:
        """Close one session, if it is open here or being opened; returns when it is. What waits for it is dropped."""
        opening = self._opening.get(session_id)
        if opening is not None:
            opening.port.forget()
            await asyncio.wait([opening.task])  # cancelled, it could leave the session locked
        live = self._live.pop(session_id, None)
        if live is not None:
            await live.pages.aclose()
            live.session.submit(ops.Shutdown(keeps_questions=True))
            await live.task

    async def close_if(self, bridge: SessionBridge, is_left: Callable[[SessionBridge], bool]) -> None:
        """Close the session of a bridge if it is still left when nothing else opens or files it any more."""
        session_id = bridge.transcript.session.session_id
        async with self._doors.setdefault(session_id, asyncio.Lock()):
            live = self._live.get(session_id)
            if live is not None and live.bridge is bridge and live.is_at_rest and is_left(bridge):
                await self.close(session_id)
                live.session.clear()
                bridge.clear()

    async def aclose(self) -> None:
        """Stop everything and close every session; returns when nothing of them is left."""
        if filed := [opening.task for opening in self._opening.values() if _filings(opening.port.asked)]:
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

    async def _open_end(self, opening: OpeningPort, *, is_long: bool) -> SessionBridge:
        session_id = opening.session_id
        # Before anything can be sent or go wrong: from here to who shows it nothing else gets a turn.
        await self._drafts.fetch(session_draft(session_id))
        opening.keep_with(partial(self._drafts.note_sent, session_draft(session_id)))
        if is_long:
            task = asyncio.create_task(self._open_meanwhile(opening), name=f"open {session_id}")
            self._opening[session_id] = OpeningSession(opening, task)
        else:
            await self._open_rest(opening)
        return opening.bridge

    async def _open_meanwhile(self, opening: OpeningPort) -> None:
        try:
            with suppress(AgentError):  # the bridge has said it
                await self._open_rest(opening)
        finally:
            del self._opening[opening.session_id]

    async def _open_rest(self, opening: OpeningPort) -> None:
        """Raises `AgentError` when it cannot be opened; what was asked for is given back by then."""
        session_id = opening.session_id
        port = LivePort(self._drafts)
        try:
            opened = await self._bench.open_session(session_id, sink=port.take)
        except AgentError as error:
            self._drafts.give_back(session_draft(session_id))
            filings = _filings(opening.asked)
            opening.refuse(error)
            await self._file_all(session_id, filings)
            raise
        pages = self._loader(session_id, opening.bridge)
        port.connect(session_id, opened.session, opening.bridge)
        opening.bridge.replace(opened.transcript, port)
        self._serve(opened.session, opening.bridge, pages, port)
        self._drafts.note_sent(session_draft(session_id), ())
        for op in opening.asked:
            port.submit(op)

    async def _file_all(self, session_id: SessionId, filings: Sequence[Filing]) -> None:
        """Do what was asked for of a session that cannot be opened; why it cannot has been said."""
        for filing in filings:
            with suppress(AgentError):
                await self._bench.stored.file(session_id, filing)

    def _loader(self, session_id: SessionId, bridge: SessionBridge) -> PageLoader:
        stored = self._bench.stored
        return PageLoader(bridge, partial(stored.read_page, session_id), partial(stored.find_pages, session_id))

    def _serve(self, session: Session, bridge: SessionBridge, pages: PageLoader, port: LivePort) -> SessionBridge:
        session_id = session.id
        task = asyncio.create_task(session.run(), name=f"session {session_id}")
        self._live[session_id] = LiveSession(session, task, bridge, pages, port)
        return bridge


def _op_of(filing: Filing) -> ops.Op:
    match filing:
        case ev.SessionRenamed(title=title):
            return ops.RenameSession(title=title)
        case ev.SessionPinned(is_pinned=is_pinned):
            return ops.PinSession(is_pinned=is_pinned)
        case ev.SessionArchived(is_archived=is_archived):
            return ops.ArchiveSession(is_archived=is_archived)


def _filings(asked: Iterable[ops.Op]) -> list[Filing]:
    """Return what of it is kept even if the session cannot be opened."""
    events = [event_of(op) for op in asked if isinstance(op, FilingOp)]
    return [event for event in events if isinstance(event, Filing)]
