"""Building and running the window."""

import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, Signal
from PySide6.QtWidgets import QApplication

from desktop_agent.app.arguments import WindowArguments, parse_arguments
from desktop_agent.app.desk import Desk, build_desk
from desktop_agent.app.later import LaterDiffs
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.settings import LoadedSettings, load_settings
from desktop_agent.ui import eventloop
from desktop_agent.ui.garbage import WindowThreadCollector
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.watchdog import Watchdog

if TYPE_CHECKING:
    import asyncio

    from desktop_agent.app.conductor import Conductor
    from desktop_agent.workbench import Workbench

logger = logging.getLogger(__name__)


class Window(QObject):
    """The whole application around one main window.

    Signals:
        ready: the core is loaded and what was asked for at the start is shown.
    """

    ready = Signal()

    def __init__(self, app: QApplication, arguments: WindowArguments, paths: AppPaths, loaded: LoadedSettings) -> None:
        super().__init__(app)
        self._app = app
        self._arguments = arguments
        self._paths = paths
        self._loaded = loaded
        ui = loaded.settings.ui
        self.theme = Theme(app, ui.theme, is_colour_blind_safe=ui.colour_blind_safe_diff)
        self.theme.install()
        self._spawner = eventloop.TaskSpawner(self._on_error)
        self._diffs = LaterDiffs()
        layout_store = QSettings(str(paths.config / "window.ini"), QSettings.Format.IniFormat)
        self.desk: Desk = build_desk(self.theme, layout_store, self._diffs, self._spawner)
        self.main_window = self.desk.window
        self._watchdog = Watchdog(self)
        self._collector = WindowThreadCollector(self)
        self._quit: asyncio.Event | None = None
        self._conductor: Conductor | None = None
        self.main_window.close_requested.connect(self._on_close_requested)
        self.main_window.actions_.connect(self.main_window.actions_.quit, self._on_close_requested)

    async def serve(self) -> int:
        """Run the application until it is asked to quit; then end everything it started. Returns the exit code."""
        import asyncio

        self._quit = asyncio.Event()
        self._spawner.start()
        self._watchdog.start()
        self._collector.start()
        try:
            bench = await asyncio.to_thread(_load_core, self._paths, self._loaded)
            self._conductor = self._build_conductor(bench)
            await self._conductor.start()
            self.ready.emit()
            await self._quit.wait()
        finally:
            self.main_window.save_layout()
            if self._conductor is not None:
                await self._conductor.aclose()
            await self._spawner.aclose()
            self._watchdog.stop()
            self._collector.stop()
            self.main_window.let_close()
        return 0

    def request_quit(self) -> None:
        """Quit as if the person had closed the window."""
        self._on_close_requested()

    def _build_conductor(self, bench: "Workbench") -> "Conductor":
        from desktop_agent.app.conductor import Conductor

        return Conductor(self.desk, self._arguments, bench, self._diffs, self._spawner)

    def _on_close_requested(self) -> None:
        self._spawner.spawn(self._close_if_allowed())

    async def _close_if_allowed(self) -> None:
        if self._conductor is None or await self._conductor.may_close():
            assert self._quit is not None
            self._quit.set()

    def _on_error(self, error: BaseException) -> None:
        """Where every exception of background work ends: in the log, whole, and in the banner, in words."""
        from desktop_agent.core.errors import AgentError

        logger.error("Background work failed", exc_info=error)
        told = self.tr("Something went wrong inside the application.")
        hint = self.tr("Your files and conversations are safe. The details are in the log.")
        self.desk.banner.show_error(AgentError(told, hint=hint, detail=f"{type(error).__name__}: {error}"))


def build(argv: Sequence[str]) -> Window:
    """Build the real application without entering its event loop. `window.main_window` is its `QMainWindow`."""
    arguments = parse_arguments(argv)
    paths = AppPaths.from_environment()
    loaded = load_settings(paths.settings_file())
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication([sys.argv[0]])
    app.setApplicationName("desktop-agent")
    app.setApplicationDisplayName("Desktop Agent")
    return Window(app, arguments, paths, loaded)


def main(argv: Sequence[str]) -> int:
    """Open the window and return the exit code when it has closed."""
    if problem := _platform_problem():
        print(problem, file=sys.stderr)  # noqa: T201 - there is no window to tell it
        return 2
    window = build(argv)
    window.main_window.show()
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return eventloop.run(app, window.serve, on_signal=window.request_quit)


def _platform_problem() -> str:
    """Why no window can be opened here, in words; Qt itself would abort the process."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return ""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return ""
    return (
        "Desktop Agent needs a display to open its window, and there is none (DISPLAY and WAYLAND_DISPLAY are unset).\n"
        "Without one use `desktop-agent run --prompt …`."
    )


def _load_core(paths: AppPaths, loaded: LoadedSettings) -> "Workbench":
    """Import the core, in a thread: it takes as long as ten first paints."""
    from desktop_agent.workbench import Workbench

    return Workbench(paths, loaded.settings)
