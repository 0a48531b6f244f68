"""Runs the window until the user quits: its panels, its first content, and the core loaded in the background.
Protects the application's folders from other users, and writes its log there.

Import this module after the window was painted: asyncio and qasync take 45 ms, the panels more.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from desktop_agent.app.startup.arguments import WindowArguments
from desktop_agent.app.startup.crash_report import take_report
from desktop_agent.app.startup.first_sight import EarlyActions, FirstSight, read_first_sight, show_first_sight
from desktop_agent.app.window_panels import build_panels
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.paths import AppPaths, resource_path
from desktop_agent.core.base.secrets import MaskingFormatter
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.system.private_files import close_to_others, make_private_file, make_private_folder
from desktop_agent.ui.runtime.eventloop import idle
from desktop_agent.ui.runtime.painting import Movement, make_widget_classes
from desktop_agent.ui.runtime.watchdog import Watchdog
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.main_window import LAYOUT_NAME, MainWindow

if TYPE_CHECKING:
    from desktop_agent.app.window_controller import WindowController
    from desktop_agent.composition.workbench import Workbench

_tr = partial(QCoreApplication.translate, "Window")

_log = logging.getLogger(__name__)

_LOG_OUT_MS = 60_000
"""How long after a session manager announced the log-out the window closes without a question."""


class Serving(QObject):
    _keyring_waited = Signal(str)
    """Carries the reason for waiting for the keyring; empty when the wait is over. Emitted on another thread."""

    def __init__(
        self, window: MainWindow, theme: Theme, arguments: WindowArguments, paths: AppPaths, environ: Mapping[str, str]
    ) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._arguments = arguments
        self._paths = paths
        self._environ = environ
        self.panels = build_panels(window, theme, paths, self._on_error)
        self._controller: WindowController | None = None
        self._quit = asyncio.Event()
        self._log_out = QTimer(self, singleShot=True, interval=_LOG_OUT_MS)
        self._keyring_wait: AgentError | None = None

    async def run(self, ready: Callable[[], object]) -> None:
        """Serve until the user quits, then stop everything that was started. `ready` is called once the core works."""
        # Concurrently with the first paint of the panels, which takes about as long.
        reading = asyncio.get_running_loop().run_in_executor(None, _read_first_sight, self._paths, self._arguments)
        early = EarlyActions(self.panels)
        report, log = await asyncio.to_thread(_open_log, self._paths.logs, self._environ)
        self.panels.spawner.start()
        self.panels.icons.load()
        QApplication.setWindowIcon(QIcon(str(resource_path("rest", "icon.svg"))))
        self.panels.composer.setFocus()  # Qt gave the focus to the first button
        watchdog = Watchdog(self._window)
        watchdog.start()
        movement = Movement(cast("QApplication", QApplication.instance()), self._window, self._theme)
        try:
            self._keyring_waited.connect(self._on_keyring_waited, Qt.ConnectionType.QueuedConnection)
            self.panels.review.wait_for_preparation()
            begun = await show_first_sight(self.panels, await reading)
            if report is not None:
                self.panels.conversation.crash_bar.offer(*report)
            await idle()  # a concurrent import would slow this down by half
            make_widget_classes()
            bench = await self._wait_for_core(early)
            early.stop_listening()
            from desktop_agent.app.window_controller import WindowController  # the core is loaded by now

            self._controller = controller = WindowController(self.panels, self._theme, self._arguments, bench, begun)
            early.watch_choices(controller.bring_along)
            await controller.start()
            if not self._quit.is_set():  # otherwise the text is saved
                early.repeat(controller.shown)
            ready()
            controller.begin_upkeep()
            await self._quit.wait()
        finally:
            try:
                self._window.save_layout()
                if self._controller is not None:
                    await self._controller.aclose()
                await self.panels.diffs.aclose()
                await self.panels.spawner.aclose()
            finally:
                watchdog.stop()
                movement.stop()
                log.close()
                self._window.let_close()

    async def _wait_for_core(self, early: EarlyActions) -> "Workbench":
        """Import and build the core. An error is shown, and raised after the user has closed the window."""
        try:
            return await asyncio.to_thread(
                _load_core, self._paths, self.panels.live, self._environ, self._keyring_waited.emit
            )
        except Exception as error:
            _log.critical("The core could not be loaded", exc_info=error)
            reason = AgentError(
                _tr("Desktop Agent could not be loaded, so nothing can be sent or opened here."),
                hint=_tr("Copy what you wrote in the field, close the window and start it again."),
                detail=f"{type(error).__name__}: {error}",
            )

            def show() -> None:
                self.panels.conversation.banner.show_error(reason)

            early.stop_listening()
            self.panels.session.prompts.folder_requested.connect(show)  # for every message sent from now on
            show()
            await self._quit.wait()
            raise

    def request_quit(self) -> None:
        self.panels.spawner.spawn(self._quit_if_allowed())

    def end(self) -> None:
        """Quit without a question: the system ends the process soon."""
        self._quit.set()

    def expect_log_out(self) -> None:
        """Ask nothing when the window is closed soon. Qt does not say whether the log-out was cancelled."""
        self._log_out.start()

    async def _quit_if_allowed(self) -> None:
        if self._log_out.isActive() or self._controller is None or await self._controller.may_close():
            self._quit.set()

    def _on_keyring_waited(self, text: str) -> None:
        if text:
            self._keyring_wait = AgentError(text)
            self.panels.conversation.banner.show_error(self._keyring_wait)
        elif self._keyring_wait is not None:
            self.panels.conversation.banner.withdraw(self._keyring_wait)

    def _on_error(self, error: BaseException) -> None:
        _log.error("Background work failed", exc_info=error)
        title = _tr("Something went wrong inside the application.")
        hint = _tr("Your files and conversations are safe. The details are in the log.")
        self.panels.conversation.banner.show_error(
            AgentError(title, hint=hint, detail=f"{type(error).__name__}: {error}")
        )


def _load_core(
    paths: AppPaths, live: LiveSettings, environ: Mapping[str, str], tell: Callable[[str], None]
) -> "Workbench":
    from desktop_agent.app.startup.preloading import load_core  # this import takes as long as several first paints

    return load_core(paths, live, environ, tell)


def _read_first_sight(paths: AppPaths, arguments: WindowArguments) -> FirstSight | None:
    close_data_folders(paths)
    return read_first_sight(paths, arguments)


def close_data_folders(paths: AppPaths) -> None:
    """Deny other users access to the folders, and to the layout file that Qt is about to write. Blocks."""
    close_to_others(paths.roots)
    with suppress(OSError):  # Qt keeps the mode of an existing file, but makes new files readable for all users
        make_private_folder(paths.config)
        make_private_file(paths.config / LAYOUT_NAME)


_LOG_NAME: Final = "desktop-agent.log"
_LOG_BYTES: Final = 1_000_000
_LOGS_KEPT: Final = 3
_QUIET_LOGGERS: Final = ("httpx2", "httpcore2", "asyncio")
"""The loggers kept at `WARNING`, because at `DEBUG` some of them write request headers."""


class _LogFile(RotatingFileHandler):
    """A log that fails silently, so that a full disk is not reported for each line of a log."""

    def _open(self) -> TextIOWrapper:
        make_private_file(Path(self.baseFilename))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name of the method it overrides
        pass


class WindowLog:
    """Logs to a file in `folder`, rotated at 1 MB, until `close`. Construction and `close` block briefly."""

    def __init__(self, folder: Path, environ: Mapping[str, str] = os.environ) -> None:
        """`environ` is the environment. Its API keys are masked in every line."""
        self._handler = _handler(folder)
        self._handler.setFormatter(MaskingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s", environ))
        levels = {"desktop_agent": logging.INFO} | dict.fromkeys(_QUIET_LOGGERS, logging.WARNING)
        self._levels_before = {name: logging.getLogger(name).level for name in levels}
        _set_levels(levels)
        logging.getLogger().addHandler(self._handler)

    def close(self) -> None:
        logging.getLogger().removeHandler(self._handler)
        _set_levels(self._levels_before)
        self._handler.close()


def _handler(folder: Path) -> logging.Handler:
    try:
        make_private_folder(folder)
        return _LogFile(folder / _LOG_NAME, maxBytes=_LOG_BYTES, backupCount=_LOGS_KEPT, encoding="utf-8")
    except OSError:
        return logging.NullHandler()  # a disk that cannot store a log must not keep the window from opening


def _set_levels(levels: Mapping[str, int]) -> None:
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def _open_log(folder: Path, environ: Mapping[str, str]) -> tuple[tuple[Path, str] | None, WindowLog]:
    report = take_report(folder, environ)  # which has the end of the log
    return report, WindowLog(folder, environ)
