"""The sessions of the window: listed with their activity, searched, and closed once the user has left them."""

import asyncio
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from PySide6.QtCore import Signal

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.sessions.open_sessions import LiveSessions
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import SearchQuery, SessionSummary
from desktop_agent.core.search.session_index_process import update_beside
from desktop_agent.ui.runtime.garbage import return_memory
from desktop_agent.ui.window.session_handle import SessionHandle

LISTED_EVENTS = frozenset({
    "session_opened", "session_renamed", "session_pinned", "session_archived", "session_forked", "turn_started",
    "turn_ended", "approval_requested", "approval_resolved",
})  # fmt: skip

_MOST_RECENT = 8


class SessionListUpdater(Controller):
    """Keeps the panel up to date. An event reads only the event's session, because there may be thousands."""

    listed = Signal(object)  # all `SessionSummary`s

    def __init__(self, context: WindowContext, live: LiveSessions) -> None:
        super().__init__(context)
        self._live = live
        self._summaries: dict[SessionId, SessionSummary] = {}
        self._reading = asyncio.Lock()
        """Held while sessions are read, so that an earlier result never replaces a later one."""

    def known(self) -> Mapping[SessionId, SessionSummary]:
        return self._summaries

    async def refresh(self) -> None:
        """Read all sessions again. Raises `StorageError`."""
        async with self._reading:
            listed = await asyncio.to_thread(self._bench.catalog.summaries)
            self._summaries = {summary.id: summary for summary in listed}
        self._show()

    async def refresh_session(self, session_id: SessionId) -> None:
        async with self._reading:
            summary = await asyncio.to_thread(self._bench.catalog.summary, session_id)
            if summary is not None:
                self._summaries[session_id] = summary
        self._show()

    def _is_shown(self, summary: SessionSummary) -> bool:
        """Whether the list shows a session: conversations and open sessions. Sessions of manual calls would fill it."""
        is_open = any(handle.transcript.session.session_id == summary.id for handle in self._live.handles)
        return summary.is_listed or summary.is_archived or is_open

    def _show(self) -> None:
        listed = dict(self._summaries)
        for handle in self._live.handles:
            transcript = handle.transcript
            if (summary := listed.get(transcript.session.session_id)) is not None and transcript.turns.status != "idle":
                listed[summary.id] = replace(summary, state=transcript.turns.status)
        self._panels.sessions.set_sessions(item for item in listed.values() if self._is_shown(item))
        used = sorted(self._summaries.values(), key=attrgetter("active_at"), reverse=True)
        folders = dict.fromkeys(one.workspace for one in used if one.is_listed and not one.is_archived)
        own = self._bench.paths.data
        self._panels.window.top_bar.folder_menu.show_recent(
            [folder for folder in folders if not Path(folder).is_relative_to(own)][:_MOST_RECENT]
        )
        if (shown := self._panels.session.handle) is not None:
            self._panels.sessions.set_current(shown.transcript.session.session_id or None)
        self.listed.emit(self._summaries.values())


MOST_LEFT: Final = 2


class IdleSessionCloser(Controller):
    """Closes left sessions without work or news: long ones, which reload quickly, and others beyond `MOST_LEFT`."""

    def __init__(
        self, context: WindowContext, live: LiveSessions, navigator: Navigator, waits: Callable[[SessionId], bool]
    ) -> None:
        super().__init__(context)
        self._live = live
        self._navigator = navigator
        self._waits = waits
        self._order: list[SessionId] = []
        navigator.shown.connect(self._on_shown)

    def _on_shown(self) -> None:
        chosen = self._navigator.chosen
        self._order = [*(one for one in self._order if one != chosen), *([chosen] if chosen else [])]
        self._launch(self._close_some())

    async def _close_some(self) -> None:
        left = [handle for handle in self._live.handles if self._is_left(handle)]
        left.sort(key=self._age)
        long = [handle for handle in left if handle.transcript.pages]
        others = [handle for handle in left if not handle.transcript.pages]
        closing = [*long, *others[: max(0, len(others) - MOST_LEFT)]]
        for handle in closing:
            await self._live.close_if(handle, self._is_left)
        if closing:
            await return_memory()

    def _is_left(self, handle: SessionHandle) -> bool:
        transcript = handle.transcript
        session_id = transcript.session.session_id
        turns = transcript.turns
        goes_on = (
            turns.is_running
            or turns.waiting
            or turns.queued
            or any(job.state == "running" for job in transcript.session.jobs)
        )
        return bool(session_id) and session_id != self._navigator.chosen and not goes_on and not self._waits(session_id)

    def _age(self, handle: SessionHandle) -> int:
        session_id = handle.transcript.session.session_id
        return self._order.index(session_id) if session_id in self._order else -1


QUIET_S = 3.0
"""The delay in seconds between the end of a turn and its indexing, because another turn often follows at once."""


class Searching(Controller):
    def __init__(self, context: WindowContext, sessions: Callable[[], Mapping[str, SessionSummary]]) -> None:
        super().__init__(context)
        self._panel = self._panels.search
        self._clock = SystemClock()
        self._sessions = sessions
        self._is_wanted = False
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self._panel.set_tools(sorted(tool.name for tool in self._bench.tools))
        self._panel.query_changed.connect(in_background(self._panels.spawner.spawn, self._ask))

    def note_news(self) -> None:
        self._is_wanted = True
        if self._task is None and not self._is_closed:
            self._task = asyncio.create_task(self._keep_up(), name="session search")

    async def aclose(self) -> None:
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _keep_up(self) -> None:
        try:
            while self._is_wanted:
                await self._clock.sleep(QUIET_S)
                self._is_wanted = False
                self._panel.set_reading(is_reading=True)
                await update_beside(self._bench.paths.sessions, self._bench.paths.blobs, self._bench.paths.cache)
                self._panel.set_reading(is_reading=False)
        finally:
            self._task = None

    async def _ask(self, query: SearchQuery) -> None:
        if query is self._panel.query:  # otherwise the user has typed more
            hits = await asyncio.to_thread(self._bench.search.ask, query)
            self._panel.show_hits(query, hits, self._sessions())
