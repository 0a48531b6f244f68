"""The sessions that the server has open: each is opened once, serves every client, and ends with the server."""

import asyncio
import logging
from collections import defaultdict
from pathlib import Path

from desktop_agent.composition.session_plan import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.session.session import Session
from desktop_agent.library.results import error_of
from desktop_agent.library.turns import Changes, closed_error, to_its_end
from desktop_agent.rest.feed import Feed

_log = logging.getLogger(__name__)


class OpenSession:
    """One of them. Its events go to a feed."""

    def __init__(self, bench: Workbench) -> None:
        self.feed = Feed()
        self.changes = Changes(self._running, bench.blobs)
        """Lists, undoes and redoes what it changed."""
        self._session: Session | None = None
        self._is_new = False
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the session has ended, and nothing of it is left."""

    @property
    def session(self) -> Session:
        """What takes the ops."""
        assert self._session is not None, "it is begun before a client gets it"
        return self._session

    def hear(self, event: ev.Event) -> None:
        """The session's sink."""
        if self._is_new and not self._begun.done() and isinstance(event, ev.Notice) and event.code == "storage":
            self._begun.set_exception(error_of(event))
        self.changes.hear(event)
        self.feed.hear(event)

    async def begin(self, session: Session, *, is_new: bool) -> None:
        """Serve the session.

        Returns when it takes ops; a new one, when it is on disk. Raises `StorageError` if that fails. An existing one
        can be read even then.
        """
        self._session, self._is_new = session, is_new
        asyncio.create_task(session.run(), name=f"session {session.id}").add_done_callback(self._on_end)
        asyncio.create_task(session.wait_until_ready()).add_done_callback(self._on_ready)
        try:
            await self._begun
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """End it with all that it started, but keep a question that waits: it waits for the next opening."""
        if not self.over.done():
            self.session.submit(ops.Shutdown(keeps_questions=True))
        await to_its_end(self.over)

    def _running(self) -> Session:
        if self._session is None or self.over.done():
            raise closed_error()
        return self._session

    def _on_ready(self, _waiting: asyncio.Task[None]) -> None:
        if not self._begun.done():
            self._begun.set_result(None)

    def _on_end(self, serving: asyncio.Task[None]) -> None:
        error = None if serving.cancelled() else serving.exception()
        if error is not None:
            _log.error("Session %s ended unexpectedly", self.session.id, exc_info=error)
        reason = error if isinstance(error, Exception) else closed_error()
        if not self._begun.done():
            self._begun.set_exception(reason)
        self.changes.fail(reason)
        self.feed.end()
        self.over.set_result(None)


class OpenSessions:
    """All of them, by their ids."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._open: dict[SessionId, OpenSession] = {}
        self._locks: defaultdict[SessionId, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changed = asyncio.Event()
        self.is_closing = False

    def find(self, session_id: SessionId) -> OpenSession | None:
        """Return a session that is open here."""
        return self._open.get(session_id)

    @property
    def all(self) -> tuple[OpenSession, ...]:
        """Those that are open, in the order they were opened."""
        return tuple(self._open.values())

    async def wait_for_change(self, seconds: float) -> None:
        """Return when a session was opened or the server ends, or after some time."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def create(self, workspace: Path, options: SessionOptions) -> OpenSession:
        """Start a session. Raises what `SessionOpener.open_unattended` raises, and `StorageError`."""
        self._refuse_late()
        opened = OpenSession(self._bench)
        made = await self._bench.opener.open_unattended(workspace, None, options, opened.hear, is_attended=True)
        await self._begin(opened, made.session, is_new=True)
        return opened

    async def get(self, session_id: SessionId) -> OpenSession:
        """Return a session, opened if it was not. Raises what `SessionOpener.open` raises."""
        await asyncio.to_thread(self._bench.catalog.journal_path, session_id)  # there must be one
        async with self._locks[session_id]:
            known = self._open.get(session_id)
            if known is not None and not known.over.done():
                return known
            self._refuse_late()
            opened = OpenSession(self._bench)
            again = await self._bench.opener.open(session_id, opened.hear)
            await self._begin(opened, again.session, is_new=False)
            return opened

    async def close(self, session_id: SessionId) -> None:
        """Close a session, if it is open here."""
        if (opened := self._open.get(session_id)) is not None:
            await opened.aclose()

    async def aclose(self) -> None:
        """Close all of them, and take no more."""
        self.end_streams()
        await asyncio.gather(*map(self.close, tuple(self._open)))

    def end_streams(self) -> None:
        """Let clients that listen go, because the server ends."""
        self.is_closing = True
        self._tell_changed()
        for opened in self._open.values():
            opened.feed.end()

    def _refuse_late(self) -> None:
        if self.is_closing:
            raise closed_error()

    async def _begin(self, opened: OpenSession, session: Session, *, is_new: bool) -> None:
        self._open[session.id] = opened
        opened.over.add_done_callback(lambda _: self._forget(session.id, opened))
        await opened.begin(session, is_new=is_new)
        self._tell_changed()

    def _forget(self, session_id: SessionId, opened: OpenSession) -> None:
        if self._open.get(session_id) is opened:
            del self._open[session_id]
        self._tell_changed()

    def _tell_changed(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
