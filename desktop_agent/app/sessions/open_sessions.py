"""The open sessions of this process, the pages of long sessions, and the session that is only viewed."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from PySide6.QtCore import QCoreApplication

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.app.sessions.draft_autosave import DraftAutosave
from desktop_agent.composition.stored_sessions import POLL_S, ViewedSession
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, SessionBusyError, StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.session.session import FilingOp, Session, event_of
from desktop_agent.core.store.drafts import session_draft
from desktop_agent.core.store.session_upkeep import Filing
from desktop_agent.core.transcript import JournalPage, Transcript, replay
from desktop_agent.ui.window.session_handle import DraftSession, OwnSession, SessionHandle

MAX_LOADED_BYTES: Final = 8 * 2**20
"""How many bytes of a journal may be loaded besides what is in view and what was added since it was opened."""

_log = logging.getLogger(__name__)


class PageLoader:
    """Loads pages of one session, one at a time, the most urgent page first."""

    def __init__(
        self,
        handle: SessionHandle,
        read: Callable[[JournalPage], Awaitable[Transcript]],
        find: Callable[[Sequence[JournalPage], str], Awaitable[list[int]]],
    ) -> None:
        """`read` returns the transcript of a page. `find` returns the numbers of the pages that may contain a text."""
        self._handle = handle
        self._read = read
        self._find = find
        self._search: asyncio.Task[None] | None = None
        self._wanted: tuple[int, ...] = ()
        self._used: OrderedDict[int, None] = OrderedDict()
        self._failed: set[int] = set()
        self._task: asyncio.Task[None] | None = None
        handle.pages_wanted.connect(self.want)
        handle.pages_sought.connect(self.search)

    def want(self, numbers: Sequence[int]) -> None:
        self._wanted = tuple(numbers)
        for number in self._handle.transcript.paged.loaded_pages:
            self._used.setdefault(number)
        for number in reversed(self._wanted):
            if number in self._used:
                self._used.move_to_end(number)
        if self._next() is not None and self._task is None:
            self._task = asyncio.create_task(self._serve(), name="load pages")

    def search(self, text: str) -> None:
        if self._search is not None:
            self._search.cancel()
        pages = self._handle.transcript.pages
        self._search = asyncio.create_task(self._answer(tuple(pages), text)) if text and pages else None

    async def aclose(self) -> None:
        tasks = [task for task in (self._task, self._search) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _answer(self, pages: Sequence[JournalPage], text: str) -> None:
        try:
            self._handle.pages_found.emit(text, await self._find(pages, text))
        except AgentError as error:
            _log.warning("The pages of a session could not be searched: %s", error.detail)

    async def _serve(self) -> None:
        try:
            while (number := self._next()) is not None:
                await self._load(number)
                await asyncio.sleep(0)  # show the page in one turn of the loop, and drop other pages in the next
                self._let_go()
        finally:
            self._task = None

    def _next(self) -> int | None:
        transcript = self._handle.transcript
        count = len(transcript.pages)
        missing = (n for n in self._wanted if n < count and n not in self._failed and not transcript.paged.is_loaded(n))
        return next(missing, None)

    async def _load(self, number: int) -> None:
        try:
            page = await self._read(self._handle.transcript.pages[number])
        except AgentError as error:
            _log.warning("A page of a session could not be read: %s", error.detail)
            self._failed.add(number)
            return
        self._used[number] = None
        self._handle.deliver_page(number, page)

    def _let_go(self) -> None:
        pages = self._handle.transcript.pages
        size = sum(pages[number].end - pages[number].start for number in self._used)
        for number in list(self._used):
            if size <= MAX_LOADED_BYTES:
                return
            if number not in self._wanted:
                size -= pages[number].end - pages[number].start
                del self._used[number]
                self._handle.drop_page(number)


FILING_WAIT_S = 10.0
"""How many seconds quitting waits for a session that was renamed or pinned while it was being opened."""


class LiveSession(Struct, frozen=True):
    session: Session
    task: asyncio.Task[None]
    handle: OwnSession
    pages: PageLoader

    @property
    def is_at_rest(self) -> bool:
        """Whether the session can be closed without interrupting work, even ops that are not in the transcript yet."""
        return self.session.is_at_rest and not self.handle.has_sent


class OpeningSession(Struct, frozen=True):
    """A session with only its end read so far, and the task that reads the rest."""

    handle: OwnSession
    task: asyncio.Task[None]


class LiveSessions:
    """Opens, holds and closes sessions. All methods run on the window's loop."""

    def __init__(self, bench: Workbench, drafts: DraftAutosave, begun: OwnSession | None = None) -> None:
        self._bench = bench
        self._drafts = drafts
        self._live: dict[SessionId, LiveSession] = {}
        self._begun = begun
        self._opening: dict[SessionId, OpeningSession] = {}
        self._locks: dict[SessionId, asyncio.Lock] = {}
        """A lock for each session, held while opening, renaming, pinning or archiving it writes to its journal."""

    @property
    def handles(self) -> list[OwnSession]:
        return [live.handle for live in self._live.values()] + [opening.handle for opening in self._opening.values()]

    @property
    def working(self) -> int:
        return sum(live.session.is_at_work for live in self._live.values())

    def is_working_in(self, folder: Path) -> bool:
        return any(
            live.session.is_at_work and live.handle.transcript.session.workspace == str(folder)
            for live in self._live.values()
        )

    async def begin(self, draft: DraftSession) -> None:
        """Start the session of a draft. Raises `AgentError` if the folder or the disk does not allow one."""
        mode = draft.mode
        session = await self._bench.create_session(
            draft.workspace,
            sink=draft.receive,
            model=mode.model,
            approval=mode.approval,
            sandbox=mode.sandbox,
            is_planning=mode.is_planning,
        )
        draft.open_with(session.id, session.submit)
        self._serve(session, draft)
        if (now := draft.mode) != mode:  # the user picked another mode meanwhile
            draft.submit(
                ops.SetMode(model=now.model, approval=now.approval, sandbox=now.sandbox, is_planning=now.is_planning)
            )

    async def open(self, session_id: SessionId) -> OwnSession:
        """Return the session as soon as its end is read; the handle signals the rest. Raises `AgentError`."""
        async with self._locks.setdefault(session_id, asyncio.Lock()):
            return await self._open(session_id)

    async def file(self, session_id: SessionId, filing: Filing) -> bool:
        """Return False if an open session does this itself. Raises `AgentError` if the change is not possible."""
        async with self._locks.setdefault(session_id, asyncio.Lock()):
            known = self._known(session_id)
            if known is None:
                await self._bench.stored.file(session_id, filing)
                return True
        known.submit(_op_of(filing))
        return False

    def submit(self, session_id: SessionId, op: ops.Op) -> None:
        """Submit an op to a session if it is open here."""
        if (known := self._known(session_id)) is not None:
            known.submit(op)

    def _known(self, session_id: SessionId) -> OwnSession | None:
        found = self._live.get(session_id) or self._opening.get(session_id)
        return found.handle if found is not None else None

    async def _open(self, session_id: SessionId) -> OwnSession:
        if (known := self._known(session_id)) is not None:
            return known
        is_long = await self._bench.stored.is_long(session_id)
        if self._begun is not None and self._begun.session_id == session_id:
            begun, self._begun = self._begun, None
            return await self._open_end(begun, is_long=is_long)
        if is_long:
            end = await self._bench.stored.read_end(session_id)
            return await self._open_end(OwnSession(session_id, end), is_long=True)
        handle = OwnSession()
        opened = await self._bench.open_session(session_id, sink=handle.receive)
        handle.open_with(session_id, opened.session.submit, opened.transcript)
        return self._serve(opened.session, handle)

    def is_running(self, session_id: SessionId) -> bool:
        live = self._live.get(session_id)
        return live is not None and live.session.transcript.turns.is_running

    async def close(self, session_id: SessionId) -> None:
        opening = self._opening.get(session_id)
        if opening is not None:
            opening.handle.drop_waiting()
            await asyncio.wait([opening.task])  # cancelling it could leave the session locked
        live = self._live.pop(session_id, None)
        if live is not None:
            await live.pages.aclose()
            live.session.submit(ops.Shutdown(keeps_questions=True))
            await live.task

    async def close_if(self, handle: SessionHandle, is_left: Callable[[SessionHandle], bool]) -> None:
        session_id = handle.transcript.session.session_id
        async with self._locks.setdefault(session_id, asyncio.Lock()):
            live = self._live.get(session_id)
            if live is not None and live.handle is handle and live.is_at_rest and is_left(handle):
                await self.close(session_id)
                live.session.clear()
                handle.clear()

    async def aclose(self) -> None:
        if filed := [opening.task for opening in self._opening.values() if _filings(opening.handle.waiting_ops)]:
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

    async def _open_end(self, handle: OwnSession, *, is_long: bool) -> OwnSession:
        session_id = handle.session_id
        # Before anything can be sent or fail: nothing else runs until the session is shown.
        await self._drafts.fetch(session_draft(session_id))
        handle.keep_with(partial(self._drafts.note_sent, session_draft(session_id)))
        if is_long:
            task = asyncio.create_task(self._open_meanwhile(handle), name=f"open {session_id}")
            self._opening[session_id] = OpeningSession(handle, task)
        else:
            await self._open_rest(handle)
        return handle

    async def _open_meanwhile(self, handle: OwnSession) -> None:
        try:
            with suppress(AgentError):  # the handle has reported the error
                await self._open_rest(handle)
        finally:
            del self._opening[handle.session_id]

    async def _open_rest(self, handle: OwnSession) -> None:
        """Open the rest of a session. If that fails, return its prompts to the user and raise `AgentError`."""
        session_id = handle.session_id
        try:
            opened = await self._bench.open_session(session_id, sink=handle.receive)
        except AgentError as error:
            self._drafts.give_back(session_draft(session_id))
            filings = _filings(handle.waiting_ops)
            handle.refuse(error)
            for filing in filings:
                with suppress(AgentError):
                    await self._bench.stored.file(session_id, filing)
            raise
        self._serve(opened.session, handle)  # first: the view requests pages once it has the whole transcript
        handle.open_with(session_id, opened.session.submit, opened.transcript)
        handle.send_waiting()

    def _serve(self, session: Session, handle: OwnSession) -> OwnSession:
        session_id, stored = session.id, self._bench.stored
        handle.keep_with(partial(self._drafts.note_sent, session_draft(session_id)))
        pages = PageLoader(handle, partial(stored.read_page, session_id), partial(stored.find_pages, session_id))
        task = asyncio.create_task(session.run(), name=f"session {session_id}")
        self._live[session_id] = LiveSession(session, task, handle, pages)
        return handle


def _op_of(filing: Filing) -> ops.Op:
    match filing:
        case ev.SessionRenamed(title=title):
            return ops.RenameSession(title=title)
        case ev.SessionPinned(is_pinned=is_pinned):
            return ops.PinSession(is_pinned=is_pinned)
        case ev.SessionArchived(is_archived=is_archived):
            return ops.ArchiveSession(is_archived=is_archived)


def _filings(asked: Iterable[ops.Op]) -> list[Filing]:
    """Return the ops that rename, pin or archive, as events. They apply even if the session cannot be opened."""
    events = [event_of(op) for op in asked if isinstance(op, FilingOp)]
    return [event for event in events if isinstance(event, Filing)]


class Viewing(Controller):
    """Follows a session that is only read, at most one at a time."""

    def __init__(self, context: WindowContext, lost: Callable[[SessionId], None]) -> None:
        """`lost` is called if the journal was replaced, so that the session should be reopened."""
        super().__init__(context)
        self._lost = lost
        self._handle: SessionHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, session_id: SessionId) -> SessionHandle:
        """View this session instead of the previous one. Raises `AgentError` if it cannot be read."""
        handle = SessionHandle(Transcript(), self._refuse, read_only=_reason(Transcript()))
        viewed = await self._bench.view_session(session_id, sink=handle.deliver)
        handle.transcript = await asyncio.to_thread(replay, viewed.events)
        handle.read_only = _reason(handle.transcript)
        self.leave()  # only now, because the user may have opened another session meanwhile
        self._handle = handle
        for work in (self._follow(viewed, handle), self._watch(viewed, handle)):
            task = asyncio.create_task(work, name=f"view {session_id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return handle

    def is_viewing(self, handle: SessionHandle) -> bool:
        return handle is self._handle

    def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._handle = None

    async def aclose(self) -> None:
        self.leave()
        for task in list(self._tasks):
            with suppress(asyncio.CancelledError):
                await task

    def _refuse(self, _op: ops.Op) -> None:
        title = QCoreApplication.translate("Viewing", "This session is read-only here. Nothing was done.")
        hint = QCoreApplication.translate("Viewing", "Close it in the other window, then take it over.")
        self._panels.conversation.banner.show_error(SessionBusyError(title, hint=hint))

    async def _follow(self, viewed: ViewedSession, handle: SessionHandle) -> None:
        try:
            await viewed.run()
        except StorageError:
            if self.is_viewing(handle):
                self._lost(viewed.id)

    async def _watch(self, viewed: ViewedSession, handle: SessionHandle) -> None:
        clock, was_free = SystemClock(), False
        while True:
            if (is_free := await viewed.is_free()) != was_free:
                was_free = is_free
                self._panels.conversation.viewing_bar.show_state("" if is_free else handle.read_only)
                take_over = QCoreApplication.translate("WindowSessions", "Take this session over to continue it here.")
                self._panels.composer.set_blocked(take_over if is_free else handle.read_only)
            await clock.sleep(POLL_S)


def _reason(transcript: Transcript) -> str:
    """Return why a session is only read: its parent holds that of a sub-agent until it has reported."""
    if transcript.session.task is not None and transcript.turn <= 1:
        return QCoreApplication.translate("Viewing", "A sub-agent works in this session. You can read along.")
    return QCoreApplication.translate("Viewing", "This session is open in another window. You can read it here.")
