"""Closes the sessions that the user has left and in which nothing goes on: each takes memory as long as it is open."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.sessions.sessions import LiveSessions
from desktop_agent.core.base.ids import SessionId
from desktop_agent.ui.runtime.garbage import return_memory
from desktop_agent.ui.window.bridge import SessionBridge

MOST_LEFT: Final = 2
"""So many stay open: to go back to one of them takes no time."""


class LeftSessions(QObject):
    """Looks, whenever something else is shown, which sessions are left.

    One with a turn, a question, a queued prompt or a background command stays, and so does one of which the inbox says
    something that the user has not seen. A long one is closed at once: its end is there again as quickly as any.
    """

    def __init__(
        self, live: LiveSessions, navigator: Navigator, waits: Callable[[SessionId], bool], try_: Try, parent: QObject
    ) -> None:
        """`waits` says whether the inbox has something of a session."""
        super().__init__(parent)
        self._live = live
        self._navigator = navigator
        self._waits = waits
        self._try = try_
        self._order: list[SessionId] = []
        """As they were chosen, the last at the end."""
        navigator.shown.connect(self._on_shown)

    def _on_shown(self) -> None:
        chosen = self._navigator.chosen
        self._order = [*(one for one in self._order if one != chosen), *([chosen] if chosen else [])]
        self._try(self._close_some())

    async def _close_some(self) -> None:
        left = [bridge for bridge in self._live.bridges if self._is_left(bridge)]
        left.sort(key=self._age)
        long = [bridge for bridge in left if bridge.transcript.pages]
        others = [bridge for bridge in left if not bridge.transcript.pages]
        closing = [*long, *others[: max(0, len(others) - MOST_LEFT)]]
        for bridge in closing:
            await self._live.close_if(bridge, self._is_left)
        if closing:
            await return_memory()

    def _is_left(self, bridge: SessionBridge) -> bool:
        transcript = bridge.transcript
        session_id = transcript.session.session_id
        turns = transcript.turns
        goes_on = (
            turns.is_running
            or turns.waiting
            or turns.queued
            or any(job.state == "running" for job in transcript.session.jobs)
        )
        return bool(session_id) and session_id != self._navigator.chosen and not goes_on and not self._waits(session_id)

    def _age(self, bridge: SessionBridge) -> int:
        """Order them by when they were chosen, those that never were first."""
        session_id = bridge.transcript.session.session_id
        return self._order.index(session_id) if session_id in self._order else -1
