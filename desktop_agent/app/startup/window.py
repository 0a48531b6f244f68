"""Building and running the window.

The order is for the user who waits: the window's frame is built and painted first, then its panels, then the core is
imported in a thread while the window already answers.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtWidgets import QApplication

from desktop_agent.app.startup.arguments import WindowArguments, parse_arguments
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.ui.runtime.painting import show_painted
from desktop_agent.ui.theme import Theme, last_interface_size, last_theme
from desktop_agent.ui.translation.languages import install_language
from desktop_agent.ui.window.main_window import MainWindow

if TYPE_CHECKING:
    import asyncio

    from desktop_agent.app.startup.early_actions import EarlyActions
    from desktop_agent.app.startup.first_sight import FirstSight
    from desktop_agent.app.window_controller import WindowController
    from desktop_agent.app.window_panels import WindowPanels
    from desktop_agent.composition.workbench import Workbench
    from desktop_agent.core.settings.live_settings import LiveSettings

LAYOUT_NAME: Final = "window.ini"


class Window(QObject):
    """The whole application around one main window.

    Signals:
        ready: the core is loaded and what was asked for at the start is shown.
    """

    ready = Signal()
    keyring_waited = Signal(str)
    """What the keyring is waited for; empty when the wait is over. Emitted on another thread."""

    def __init__(
        self, app: QApplication, arguments: WindowArguments, paths: AppPaths, environ: Mapping[str, str] = os.environ
    ) -> None:
        """Build the frame of the window; `add_panels` fills it. `environ` has the keys."""
        super().__init__(app)
        self._app = app
        self._arguments = arguments
        self._paths = paths
        self._environ = environ
        self._store = QSettings(str(paths.config / LAYOUT_NAME), QSettings.Format.IniFormat)
        # The look of the last time, until the settings are read: reading them costs as much as painting the frame.
        self.theme = Theme(app, last_theme(self._store), last_interface_size(self._store))
        self.theme.install()
        self.main_window = MainWindow(self.theme, self._store)
        self._panels: WindowPanels | None = None
        self._controller: WindowController | None = None
        self._quit: asyncio.Event | None = None
        self._keyring_wait: AgentError | None = None
        self.main_window.close_requested.connect(self.request_quit)
        self.main_window.actions_.connect(self.main_window.actions_.quit, self.request_quit)

    @property
    def panels(self) -> "WindowPanels":
        assert self._panels is not None, "`add_panels` comes first"
        return self._panels

    def add_panels(self) -> None:
        if self._panels is None:
            from desktop_agent.app.window_panels import build_panels

            self._panels = build_panels(self.main_window, self.theme, self._paths, self._on_error)

    async def serve(self) -> int:
        """Run the application until it is asked to quit; then end everything it started. Returns the exit code."""
        import asyncio

        from desktop_agent.app.startup.data_folders import WindowLog
        from desktop_agent.app.startup.early_actions import EarlyActions
        from desktop_agent.app.startup.first_sight import show_first_sight
        from desktop_agent.ui.runtime.eventloop import idle
        from desktop_agent.ui.runtime.painting import Movement, make_widget_classes
        from desktop_agent.ui.runtime.watchdog import Watchdog

        self.add_panels()
        # Beside the first painting of the panels, which takes about as long.
        reading = asyncio.get_running_loop().run_in_executor(None, _read_first_sight, self._paths, self._arguments)
        early = EarlyActions(self.panels)
        self._quit = asyncio.Event()
        log = await asyncio.to_thread(WindowLog, self._paths.logs, self._environ)
        self.panels.spawner.start()
        self.panels.icons.load()
        watchdog = Watchdog(self.main_window)
        watchdog.start()
        movement = Movement(self._app, self.main_window, self.theme)
        try:
            self.keyring_waited.connect(self._on_keyring_waited, Qt.ConnectionType.QueuedConnection)
            self.panels.review.wait_for_preparation()
            begun = await show_first_sight(self.panels, await reading)
            await idle()  # an import beside it would take half of its time
            make_widget_classes()
            bench = await self._wait_for_core(early)
            early.stop_listening()
            from desktop_agent.app.window_controller import WindowController

            self._controller = controller = WindowController(self.panels, self.theme, self._arguments, bench, begun)
            early.watch_choices(controller.bring_along)
            await controller.start()
            if not self._quit.is_set():  # else what is written is kept
                early.repeat(controller.shown)
            self.ready.emit()
            controller.begin_upkeep()
            await self._quit.wait()
        finally:
            try:
                await self._end()
            finally:
                watchdog.stop()
                movement.stop()
                log.close()
                self.main_window.let_close()
        return 0

    async def _wait_for_core(self, early: "EarlyActions") -> "Workbench":
        """Import and build the core. An error is shown, and raised once the user has closed the window."""
        import asyncio

        assert self._quit is not None
        try:
            return await asyncio.to_thread(
                _load_core, self._paths, self.panels.live, self._environ, self.keyring_waited.emit
            )
        except Exception as error:
            logging.getLogger(__name__).critical("The core could not be loaded", exc_info=error)
            title = self.tr("Desktop Agent could not be loaded, so nothing can be sent or opened here.")
            hint = self.tr("Copy what you wrote in the field, close the window and start it again.")
            detail = f"{type(error).__name__}: {error}"
            reason = AgentError(title, hint=hint, detail=detail)

            def show() -> None:
                self.panels.conversation.banner.show_error(reason)

            early.stop_listening()
            self.panels.session.prompts.folder_requested.connect(show)  # to every message that is sent now
            show()
            await self._quit.wait()
            raise

    async def _end(self) -> None:
        self.main_window.save_layout()
        if self._controller is not None:
            await self._controller.aclose()
        await self.panels.diffs.aclose()
        await self.panels.spawner.aclose()

    def request_quit(self) -> None:
        """Quit as if the user had closed the window: with a question if an agent is working."""
        if self._panels is not None:
            self._panels.spawner.spawn(self._quit_if_allowed())

    async def _quit_if_allowed(self) -> None:
        if self._controller is None or await self._controller.may_close():
            assert self._quit is not None
            self._quit.set()

    def _on_keyring_waited(self, text: str) -> None:
        if text:
            self._keyring_wait = AgentError(text)
            self.panels.conversation.banner.show_error(self._keyring_wait)
        elif self._keyring_wait is not None:
            self.panels.conversation.banner.withdraw(self._keyring_wait)

    def _on_error(self, error: BaseException) -> None:
        """Log an exception of background work in full, and show it in the banner."""
        logging.getLogger(__name__).error("Background work failed", exc_info=error)
        title = self.tr("Something went wrong inside the application.")
        hint = self.tr("Your files and conversations are safe. The details are in the log.")
        self.panels.conversation.banner.show_error(
            AgentError(title, hint=hint, detail=f"{type(error).__name__}: {error}")
        )


def build(argv: Sequence[str]) -> Window:
    """Build the real application, whole, without entering its event loop.

    `window.main_window` is its `QMainWindow`. Raises `UsageError` when no window can be opened here.
    """
    window = _build_frame(argv)
    window.add_panels()
    return window


def main(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """Open the window and return the exit code when it has closed. `environ` has the keys."""
    try:
        window = _build_frame(argv, environ)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - there is no window to tell it
        return error.exit_code
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    show_painted(app, window.main_window, window.main_window.top_bar)

    from desktop_agent.ui.runtime import eventloop

    return eventloop.run(app, window.serve, on_signal=window.request_quit)


def _build_frame(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> Window:
    _require_display()
    arguments = parse_arguments(argv)
    existing = QApplication.instance()
    # The style by argument: naming it through QStyle would create 15 ms of enumerations before the first paint.
    app = existing if isinstance(existing, QApplication) else QApplication([sys.argv[0], "-style", "fusion"])
    app.setApplicationName("desktop-agent")
    app.setApplicationDisplayName("Desktop Agent")
    paths = AppPaths.from_environment()
    install_language(app, paths.settings_file(environ))
    return Window(app, arguments, paths, environ)


def _require_display() -> None:
    """Raise `UsageError` when there is no display: Qt itself would abort the process."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise UsageError(
            "There is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are unset).",
            hint="Without one use `desktop-agent run --prompt …`.",
        )


def _load_core(
    paths: AppPaths, live: "LiveSettings", environ: Mapping[str, str], tell: Callable[[str], None]
) -> "Workbench":
    from desktop_agent.app.startup.core_loading import load_core

    return load_core(paths, live, environ, tell)


def _read_first_sight(paths: AppPaths, arguments: WindowArguments) -> "FirstSight | None":
    from desktop_agent.app.startup.data_folders import close_data_folders
    from desktop_agent.app.startup.first_sight import read_first_sight

    close_data_folders(paths, LAYOUT_NAME)
    return read_first_sight(paths, arguments)
