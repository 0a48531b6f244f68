"""Builds the window's frame, which is painted first. `serving` adds the panels and imports the core in a thread."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtGui import QSessionManager
from PySide6.QtWidgets import QApplication

from desktop_agent.app.startup.arguments import WindowArguments, hand_over, parse_arguments
from desktop_agent.app.startup.crash_report import CrashWatch
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.ui.runtime.painting import show_painted
from desktop_agent.ui.theme import Theme, last_interface_size, last_theme
from desktop_agent.ui.translation import install_language
from desktop_agent.ui.window.main_window import LAYOUT_NAME, MainWindow

if TYPE_CHECKING:
    from desktop_agent.app.startup.serving import Serving
    from desktop_agent.app.window_panels import WindowPanels


class Window(QObject):
    ready = Signal()  # the core is loaded, and the first content is shown

    def __init__(
        self, app: QApplication, arguments: WindowArguments, paths: AppPaths, environ: Mapping[str, str] = os.environ
    ) -> None:
        super().__init__(app)
        self._arguments = arguments
        self._paths = paths
        self._environ = environ
        store = QSettings(str(paths.config / LAYOUT_NAME), QSettings.Format.IniFormat)
        # The theme of the last run, until the settings are read: reading them takes as long as painting the frame.
        self.theme = Theme(app, last_theme(store), last_interface_size(store))
        self.theme.install()
        self.main_window = MainWindow(self.theme, store)
        self._serving: Serving | None = None
        self.main_window.close_requested.connect(self.request_quit)
        self.main_window.actions_.quit.triggered.connect(self.request_quit)
        # The session manager waits for the slot to return, so it must be called directly.
        app.commitDataRequest.connect(self._on_log_out, Qt.ConnectionType.DirectConnection)
        app.saveStateRequest.connect(_start_nothing, Qt.ConnectionType.DirectConnection)

    @property
    def panels(self) -> "WindowPanels":
        assert self._serving is not None, "`add_panels` comes first"
        return self._serving.panels

    def add_panels(self) -> None:
        if self._serving is None:
            from desktop_agent.app.startup.serving import Serving  # its imports are not needed for the first paint

            self._serving = Serving(self.main_window, self.theme, self._arguments, self._paths, self._environ)

    async def serve(self) -> int:
        """Run the application until it is asked to quit. Return the exit code."""
        self.add_panels()
        assert self._serving is not None
        await self._serving.run(self.ready.emit)
        return 0

    def request_quit(self) -> None:
        """Quit as if the user had closed the window, which asks the user first if an agent is working."""
        if self._serving is not None:
            self._serving.request_quit()

    def end(self) -> None:
        """Quit without a question, because the system ends this process soon. A running turn is stopped."""
        if self._serving is not None:
            self._serving.end()

    def _on_log_out(self, manager: QSessionManager) -> None:
        _start_nothing(manager)
        if self._serving is not None:
            self._serving.expect_log_out()


def build(argv: Sequence[str]) -> Window:
    """Build the application without entering its event loop. Raises `UsageError` if no window can be opened."""
    _require_display()
    window = _build_frame(parse_arguments(argv))
    window.add_panels()
    return window


def main(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """Open the window, and return the exit code after it has closed. `environ` has the API keys."""
    try:
        _require_display()
        arguments = parse_arguments(argv)
        paths = AppPaths.from_environment()
        if hand_over(arguments, paths, environ):
            return 0
        with CrashWatch(paths.logs, environ) as watch:
            return _run(_build_frame(arguments, environ), watch)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - there is no window to tell it
        return error.exit_code


def _run(window: Window, watch: CrashWatch) -> int:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    show_painted(app, window.main_window, window.main_window.top_bar)

    from desktop_agent.ui.runtime import eventloop

    async def serve() -> int:
        watch.note_shown()  # by now, signals are handled
        return await window.serve()

    def on_signal(number: signal.Signals) -> None:
        if number == signal.SIGINT:  # by the user, in a terminal
            window.request_quit()
        else:
            watch.close()
            window.end()

    return eventloop.run(app, serve, on_signal=on_signal)


def _start_nothing(manager: QSessionManager) -> None:
    """Otherwise Qt would make the next login start us with `-session`, an option that we do not have."""
    manager.setRestartHint(QSessionManager.RestartHint.RestartNever)


def _build_frame(arguments: WindowArguments, environ: Mapping[str, str] = os.environ) -> Window:
    existing = QApplication.instance()
    # The style by argument: naming it through QStyle would create 15 ms of enumerations before the first paint.
    app = existing if isinstance(existing, QApplication) else QApplication([sys.argv[0], "-style", "fusion"])
    app.setApplicationName("desktop-agent")
    app.setApplicationDisplayName("Desktop Agent")
    app.setDesktopFileName("desktop-agent")  # tells a desktop whose window it is
    paths = AppPaths.from_environment()
    install_language(app, paths.settings_file(environ))
    return Window(app, arguments, paths, environ)


def _require_display() -> None:
    """Raise `UsageError` if there is no display, because Qt itself would abort the process."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise UsageError(
            "There is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are unset).",
            hint="Without a display, use `desktop-agent run --prompt …`.",
        )
