"""The search of the window: asks the index in a thread, and keeps it up to date in a process of its own."""

import asyncio
from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.protocol.model import SearchQuery, SessionSummary
from desktop_agent.core.search.session_index_process import update_beside
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.sessions.session_search import SearchPanel

QUIET_S = 3.0
"""After a turn: the next one often follows it, and users do not search for what they just saw."""


class Searching(QObject):
    """Serves one search panel. Runs on the window's loop until it is closed."""

    def __init__(
        self,
        panel: SearchPanel,
        bench: Workbench,
        clock: Clock,
        spawner: TaskSpawner,
        sessions: Callable[[], Mapping[str, SessionSummary]],
    ) -> None:
        """`sessions` gives what is known of all sessions."""
        super().__init__(panel)
        self._panel = panel
        self._bench = bench
        self._clock = clock
        self._spawner = spawner
        self._sessions = sessions
        self._is_wanted = False
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        panel.set_tools(sorted(tool.name for tool in bench.tools))
        panel.query_changed.connect(self._on_query)

    def note_news(self, delay_s: float = QUIET_S) -> None:
        """Something was written that is not found yet: take it in soon."""
        self._is_wanted = True
        if self._task is None and not self._is_closed:
            self._task = asyncio.create_task(self._keep_up(delay_s), name="session search")

    async def aclose(self) -> None:
        """Stop, and return when the process has ended."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _keep_up(self, delay_s: float) -> None:
        try:
            while self._is_wanted:
                await self._clock.sleep(delay_s)
                self._is_wanted = False
                self._panel.set_reading(is_reading=True)
                await update_beside(self._bench.paths.sessions, self._bench.paths.blobs, self._bench.paths.cache)
                self._panel.set_reading(is_reading=False)
        finally:
            self._task = None

    def _on_query(self, query: SearchQuery) -> None:
        self._spawner.spawn(self._ask(query))

    async def _ask(self, query: SearchQuery) -> None:
        if query is self._panel.query:  # or the user has typed on
            hits = await asyncio.to_thread(self._bench.search.ask, query)
            self._panel.show_hits(query, hits, self._sessions())
