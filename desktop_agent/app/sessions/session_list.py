"""The list of sessions: what the journals say of all, what those that are open are doing, and which one is shown."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try, in_background
from desktop_agent.app.navigator import Navigator, WaysToBegin
from desktop_agent.app.sessions.open_sessions import LiveSessions
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
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
"""Events after which the list says something else of their session."""


_MOST_RECENT = 8
"""Folders that the bar offers."""


class SessionListUpdater:
    """Keeps the panel up to date. There may be thousands of sessions: what happens in one reads that one only."""

    def __init__(self, panels: WindowPanels, bench: Workbench, live: LiveSessions) -> None:
        self._panels = panels
        self._bench = bench
        self._live = live
        self._summaries: dict[SessionId, SessionSummary] = {}
        self._followers: list[Callable[[Iterable[SessionSummary]], None]] = []
        self._reading = asyncio.Lock()
        """One reading after the other: what an earlier one found must not replace what a later one did."""

    def follow(self, tell: Callable[[Iterable[SessionSummary]], None]) -> None:
        """Call `tell` with all sessions whenever the list says something else of one."""
        self._followers.append(tell)

    def known(self) -> Mapping[SessionId, SessionSummary]:
        return self._summaries

    async def refresh(self) -> None:
        """Read all of it anew. Raises `StorageError`."""
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
        """Whether it is a conversation, or open; calls by hand would fill the list."""
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
        for tell in self._followers:
            tell(self._summaries.values())

    def _recent_folders(self) -> list[str]:
        """Return where the user worked last, the latest first, without what was put away and copies of the demo."""
        used = sorted(self._summaries.values(), key=_active_at, reverse=True)
        folders = dict.fromkeys(one.workspace for one in used if one.is_listed and not one.is_archived)
        own = self._bench.paths.data
        return [folder for folder in folders if not Path(folder).is_relative_to(own)][:_MOST_RECENT]


def _active_at(summary: SessionSummary) -> datetime:
    return summary.active_at


class SessionChoice(QObject):
    """Shows it, wherever in the window it was chosen. What goes wrong is in the banner."""

    def __init__(self, panels: WindowPanels, navigator: Navigator, ways: WaysToBegin, try_: Try) -> None:
        super().__init__(panels.window)
        self._session = panels.session
        self._navigator = navigator
        self._ways = ways
        self._try = try_
        actions, entries = panels.window.actions_, panels.transcript.entry_actions
        actions.connect(actions.new_session, self.begin)
        panels.sessions.new_requested.connect(self.begin)
        panels.sessions.session_chosen.connect(self.show)
        entries.session_requested.connect(self.show)
        entries.resend_requested.connect(self._on_resend)
        panels.search.hit_chosen.connect(in_background(try_, navigator.show_hit))
        panels.conversation.viewing_bar.take_over_requested.connect(self._on_take_over)

    def begin(self) -> None:
        """Show an empty conversation in the open folder; when none is open, the ways to begin."""
        if self._navigator.workspace is not None:
            self._try(self._navigator.show_folder(self._navigator.workspace))
        else:
            self._ways.welcome()

    def show(self, session_id: SessionId) -> None:
        self._try(self._navigator.show_session(session_id))

    def _on_take_over(self) -> None:
        if (shown := self._session.handle) is not None:
            self.show(shown.transcript.session.session_id)

    def _on_resend(self, turn: int, text: str, takes_files_back: bool) -> None:
        shown = self._session.handle
        if shown is not None and shown.transcript.session.session_id:
            self._try(self._navigator.resend(shown, turn, text, takes_files_back=takes_files_back))
