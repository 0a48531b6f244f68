"""Drives one window from its start to its end: puts together what does what its panels ask for."""

import asyncio
from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, SignalInstance
from PySide6.QtWidgets import QMessageBox, QWidget

from desktop_agent.app.background_tasks import BackgroundTasks
from desktop_agent.app.composing import ContentPreviews, SpellChecking
from desktop_agent.app.content_windows import ContentWindows
from desktop_agent.app.file_changes import CodeApplying, FileChanging, FileWriting
from desktop_agent.app.file_viewing import FileViewing
from desktop_agent.app.palette import PaletteOpening
from desktop_agent.app.sessions.own_sessions import OwnSession
from desktop_agent.app.sessions.window_sessions import WindowSessions
from desktop_agent.app.settings.model_offering import ModelOffering, refresh_old_list
from desktop_agent.app.settings.settings_controller import SettingsController
from desktop_agent.app.settings.settings_dialog import Setup
from desktop_agent.app.shown_folder import ShownFolder
from desktop_agent.app.startup.arguments import WindowArguments
from desktop_agent.app.startup.first_view import FirstView, model_named_by
from desktop_agent.app.startup.news import News
from desktop_agent.app.usage_display import UsageDisplay
from desktop_agent.app.user_terminal import TerminalControl
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.ops import RevokeRule
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.theme import Theme


class QuitQuestion:
    """Asks one question at a time."""

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self._is_asking = False

    async def ask(self, working: int, busy: int = 0) -> bool:
        """Ask whether to stop that many turns, and the programs of that many shells of the user's.

        Closing the question is a no; so is asking while it is open.
        """
        if self._is_asking:
            return False
        self._is_asking = True
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        box = QMessageBox(self._window)
        box.setObjectName("quitDialog")
        box.setWindowTitle(_tr("Quit"))
        if working:
            box.setText(_tr("The agent is still working. Stop it and quit?"))
            box.setInformativeText(_tr("Its processes are ended. The conversation and its changes are kept."))
        else:
            box.setText(_tr("A program is still running in the terminal. End it and quit?"))
        stop = box.addButton(_tr("Stop and quit"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(_tr("Keep working"), QMessageBox.ButtonRole.RejectRole))

        def on_finished() -> None:
            answer.set_result(box.clickedButton() is stop)

        box.finished.connect(on_finished)
        box.open()
        try:
            return await answer
        finally:
            self._is_asking = False
            box.deleteLater()


def _tr(text: str) -> str:
    return QCoreApplication.translate("QuitQuestion", text)


class WindowController:
    def __init__(
        self,
        panels: WindowPanels,
        theme: Theme,
        arguments: WindowArguments,
        bench: Workbench,
        spawner: TaskSpawner,
        begun: OwnSession | None,
    ) -> None:
        """`begun` is the session that is shown already."""
        self._panels = panels
        self._bench = bench
        self._begun = begun
        self._try = try_ = BackgroundTasks(spawner, panels.conversation.banner)
        self._setup = Setup(panels.window, theme, bench, try_)
        ModelOffering(panels, bench, self._setup, try_)
        self._settings = SettingsController(panels, theme, bench, self._setup, spawner)
        self._sessions = WindowSessions(
            panels,
            theme,
            bench,
            self._setup,
            spawner,
            try_,
            begun,
            default_model=lambda: bench.model_meant(model_named_by(arguments)),
        )
        navigator, ways = self._sessions.navigator, self._sessions.ways
        self._first_view = FirstView(navigator, arguments, bench, ways, try_)
        self._quit_question = QuitQuestion(panels.window)
        self._contents = ContentWindows(panels.window, theme, bench.blobs, try_)
        ContentPreviews(panels, bench, navigator, self._contents, try_)
        SpellChecking(panels, theme, bench.live, try_)
        self._usage = UsageDisplay(panels.window, theme, bench, try_)
        self._terminal = TerminalControl(panels, theme, bench, navigator, self._sessions.pasting, spawner)
        saving = FileWriting(panels, navigator)
        FileChanging(panels, navigator, saving, try_)
        self._files = files = FileViewing(panels, navigator, self._sessions.files, saving, theme, spawner.spawn)
        CodeApplying(panels, theme, self._sessions.files, spawner.spawn)
        self._news = News(panels, try_)
        self._palette = PaletteOpening(
            panels, theme, bench, self._sessions, self._setup, try_, open_file=files.open_file
        )
        navigator.workspace_changed.connect(self._settings.show_workspace)
        ShownFolder(panels, bench, navigator, try_)
        self._connect()

    async def start(self) -> None:
        """Show what the command line asks for, else what was open last, else the welcome; then what is wrong."""
        try:
            await self._sessions.start()
            await self._first_view.show(self._begun.session_id if self._begun is not None else None)
        except AgentError as error:
            self._panels.conversation.banner.show_error(error)
            self._sessions.ways.welcome()
        self._settings.report_problems()
        self._news.tell()
        self._try(refresh_old_list(self._bench))

    @property
    def shown(self) -> SignalInstance:
        return self._sessions.navigator.shown

    def bring_along(self, text: str) -> None:
        self._sessions.bring_along(text)

    def make_ahead(self) -> Iterator[None]:
        yield from self._palette.make_ahead()
        yield from self._setup.make_ahead()

    async def aclose(self) -> None:
        """Stop everything that runs, and return when nothing of it is left."""
        self._settings.stop()
        self._usage.stop()
        self._bench.keys.give_up()
        await self._terminal.aclose()
        await self._sessions.aclose()

    async def may_close(self) -> bool:
        """Whether to close now; asks when files are not saved, or the agent or a program in the terminal would stop."""
        if not self._files.may_close():
            return False
        working, busy = self._sessions.working, self._terminal.busy
        return not (working or busy) or await self._quit_question.ask(working, busy)

    def _connect(self) -> None:
        panels, actions, entries = self._panels, self._panels.window.actions_, self._panels.transcript.entry_actions
        actions.connect(actions.settings, self._setup.open_settings)
        actions.connect(actions.usage, self._usage.open)
        panels.composer.controls.cost.clicked.connect(self._usage.open)
        entries.settings_requested.connect(self._setup.open_settings)
        entries.sign_in_requested.connect(self._on_sign_in)
        entries.output_requested.connect(self._contents.show_output)
        entries.attachment_requested.connect(self._contents.show_attachment)
        entries.picture_requested.connect(self._contents.show_picture)
        panels.jobs.output_requested.connect(self._contents.show_job_output)
        panels.session.rules_changed.connect(self._setup.show_rules)
        panels.session.submit_on(self._setup.rule_revoked, RevokeRule, "rule_id")

    def _on_sign_in(self) -> None:
        handle = self._panels.session.handle
        if handle is not None and (model := handle.transcript.session.model) is not None:
            self._setup.sign_in_again(model)
