"""Reads the usage of all sessions off the window's thread, and shows it in its own window."""

import asyncio
import threading
from datetime import UTC, date, timedelta
from importlib import import_module
from typing import TYPE_CHECKING

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import StorageError

if TYPE_CHECKING:
    from desktop_agent.core.usage.journal_usage import UsageReader
    from desktop_agent.core.usage.report import SessionFigures
    from desktop_agent.ui.usage.usage_report import Shown
    from desktop_agent.ui.usage.usage_window import UsageWindow

_CORE = ("core.usage.journal_usage", "core.usage.report")
_WIDGETS = ("ui.usage.usage_figures", "ui.usage.usage_report", "ui.usage.usage_plots", "ui.usage.usage_window")
"""The modules with widgets. Each is imported in its own turn of the loop, so that no turn takes a frame."""


class UsageDisplay(Controller):
    def __init__(self, context: WindowContext) -> None:
        super().__init__(context)
        self._clock = SystemClock()
        self._reader: UsageReader | None = None
        self._window: UsageWindow | None = None
        self._reading = asyncio.Lock()
        self._stopped = threading.Event()
        self._sessions: tuple[SessionFigures, ...] = ()
        self._choice = 0
        """The number of the user's latest choice. Only that is shown, whichever choice is ready first."""

    def open(self) -> None:
        self._launch(self._open())

    def stop(self) -> None:
        self._stopped.set()

    async def _open(self) -> None:
        reader = self._reader = self._reader or await self._make_reader()
        if (window := self._window) is None:
            self._window = window = self._make_window()
            await asyncio.sleep(0)  # building the window was enough for one turn of the loop
        if self._window is window:
            window.show()
            window.raise_()
            window.activateWindow()
            await self._read(window, reader)

    async def _make_reader(self) -> "UsageReader":
        for module in _CORE:
            await asyncio.to_thread(import_module, f"desktop_agent.{module}")
        for module in _WIDGETS:
            await asyncio.sleep(0)
            import_module(f"desktop_agent.{module}")
        from desktop_agent.core.usage.journal_usage import UsageReader

        return UsageReader.of(self._bench.paths, self._bench.catalog)

    def _make_window(self) -> "UsageWindow":
        from desktop_agent.ui.usage.usage_window import UsageWindow

        window = UsageWindow(self._theme, self._panels.window)
        window.period_chosen.connect(self._on_period)
        window.cancelled.connect(self.stop)
        window.finished.connect(self._on_closed)
        return window

    def _on_closed(self) -> None:
        self._window = None
        self._sessions = ()
        self.stop()

    def _on_period(self, days: int | None) -> None:
        if self._window is not None:
            self._launch(self._show(self._window, days))

    async def _read(self, window: "UsageWindow", reader: "UsageReader") -> None:
        self._stopped.set()
        async with self._reading:
            if self._window is not window:
                return
            self._stopped = stopped = threading.Event()
            loop, said = asyncio.get_running_loop(), -1

            def progress(done: int, total: int) -> None:
                nonlocal said
                if (percent := 100 * done // total) != said:
                    said = percent
                    loop.call_soon_threadsafe(self._on_progress, window, done, total)

            try:
                sessions = await asyncio.to_thread(reader.read, progress=progress, is_stopped=stopped.is_set)
            except StorageError as error:
                if self._window is window:
                    window.show_problem(f"{error.title} {error.hint}")
                return
            if self._window is window:
                self._sessions = sessions
                await self._show(window, window.period, is_part=stopped.is_set())

    def _on_progress(self, window: "UsageWindow", done: int, total: int) -> None:
        if self._window is window:
            window.show_reading(done, total)

    async def _show(self, window: "UsageWindow", days: int | None, *, is_part: bool = False) -> None:
        self._choice = choice = self._choice + 1
        today = self._clock.now().astimezone(UTC).date()
        first = today - timedelta(days=days - 1) if days is not None else None
        shown = await asyncio.to_thread(_shown, self._sessions, first, today)
        if self._window is window and choice == self._choice:
            note = self.tr("Not all sessions are counted: reading was stopped.") if is_part else ""
            window.show_figures(shown, note)


def _shown(sessions: "tuple[SessionFigures, ...]", first: date | None, today: date) -> "Shown":
    from desktop_agent.core.usage.report import report_of
    from desktop_agent.ui.usage.usage_report import shown_of

    return shown_of(report_of(sessions, first, today))
