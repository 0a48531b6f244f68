"""Updates the list of sessions from the journals, with the activity of open sessions."""

import asyncio
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import Signal

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.app.sessions.open_sessions import LiveSessions
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import SessionSummary

LISTED_EVENTS = frozenset(
    {
        "session_opened",
        "session_renamed",
        "session_pinned",
        "session_archived",
        "session_forked",
        "turn_started",
        "turn_ended",
        "approval_requested",
        "approval_resolved",
    }
)


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
        self._panels.window.top_bar.folder_menu.show_recent(self._recent_folders())
        if (shown := self._panels.session.handle) is not None:
            self._panels.sessions.set_current(shown.transcript.session.session_id or None)
        self.listed.emit(self._summaries.values())

    def _recent_folders(self) -> list[str]:
        used = sorted(self._summaries.values(), key=attrgetter("active_at"), reverse=True)
        folders = dict.fromkeys(one.workspace for one in used if one.is_listed and not one.is_archived)
        own = self._bench.paths.data
        return [folder for folder in folders if not Path(folder).is_relative_to(own)][:_MOST_RECENT]
