"""Runs one window from start to end: makes the controllers of its panels, and opens what later starts ask for."""

import asyncio
import logging
import os
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal

import msgspec
from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal, SignalInstance
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.app.composing import ContentPreviews, Pasting, SpellChecking
from desktop_agent.app.connections import has_key
from desktop_agent.app.content_windows import ContentWindows, UsageDisplay
from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.desktop_bus import follow_desktop
from desktop_agent.app.file_changes import CodeApplying, FileViewing, FileWriting
from desktop_agent.app.inbox import Inbox, InboxNotifier
from desktop_agent.app.mention_finding import MentionFinding
from desktop_agent.app.navigator import DEMO, Navigator, demo_follow_up
from desktop_agent.app.palette import PaletteOpening
from desktop_agent.app.sessions.draft_autosave import DraftAutosave
from desktop_agent.app.sessions.open_sessions import LiveSessions
from desktop_agent.app.sessions.session_actions import SessionActions
from desktop_agent.app.sessions.window_sessions import LISTED_EVENTS, IdleSessionCloser, Searching, SessionListUpdater
from desktop_agent.app.sessions.worktree_control import WorktreeControl
from desktop_agent.app.settings.model_offering import ModelOffering
from desktop_agent.app.settings.settings_controller import SettingsController
from desktop_agent.app.settings.settings_dialog import Setup
from desktop_agent.app.shown_folder import Branches, FolderFiles, ShownFolder
from desktop_agent.app.startup.arguments import ANSWER, TOKEN, Asked, WindowArguments, is_served, place_of
from desktop_agent.app.startup.first_sight import first_session
from desktop_agent.app.startup.news import News
from desktop_agent.app.startup.preloading import preload
from desktop_agent.app.startup.tidying import tidy
from desktop_agent.app.user_terminal import TerminalControl
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, WorkspaceError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.protocol.events import CommandRun, Event, TurnEnded
from desktop_agent.core.protocol.ops import RevokeRule
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.slash.declarations import parse
from desktop_agent.core.system.workspace import current_folder, why_no_workspace
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.question import Question
from desktop_agent.ui.window.session_handle import OwnSession, SessionHandle

_log = logging.getLogger(__name__)
_MOST_BYTES = 64 * 2**10


class LaterStarts(QObject):
    """Listens for later starts. A window that is not the first does nothing."""

    asked = Signal(object)  # WindowArguments, or None to show only the window

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._server: QLocalServer | None = None

    def listen(self, place: str) -> None:
        """Listen, unless another window does. Blocks for some milliseconds."""
        if not place or is_served(place):
            return
        self._server = server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(place)  # of a window that was killed
        server.newConnection.connect(self._on_connection)
        if not server.listen(place):
            _log.info("Later starts open windows of their own: %s", server.errorString())

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def _on_connection(self) -> None:
        assert self._server is not None
        while self._server.hasPendingConnections():
            connection = self._server.nextPendingConnection()
            connection.disconnected.connect(connection.deleteLater)
            connection.readyRead.connect(self._on_line)

    def _on_line(self) -> None:
        connection: QLocalSocket = self.sender()  # pyright: ignore[reportAssignmentType] - connected above
        if not connection.canReadLine():
            if connection.bytesAvailable() > _MOST_BYTES:
                connection.abort()
            return
        try:
            asked = msgspec.json.decode(connection.readLine().data(), type=learned(Asked))
        except (msgspec.MsgspecError, ValueError):
            connection.abort()
            return
        if asked.activation:
            os.environ[TOKEN] = asked.activation  # where Qt looks for it when a window is to be activated
        connection.write(ANSWER)
        connection.flush()
        connection.disconnectFromServer()
        self.asked.emit(asked.arguments)


_tr = partial(QCoreApplication.translate, "QuitQuestion")


Leaving = Literal["quit", "stay", "hide"]


async def how_to_leave(window: QWidget, working: int, busy: int) -> Leaving:
    """Ask what becomes of `working` turns and programs in `busy` shells. While it asks, further calls return `stay`."""
    open_box = window.findChild(Question, "quitDialog")
    if isinstance(open_box, Question) and open_box.isVisible():
        return "stay"
    answer: asyncio.Future[Leaving] = asyncio.get_running_loop().create_future()
    text, more = _tr("A program is still running in the terminal. End it and quit?"), ""
    if working:
        text, ended = (
            _tr("The agent is still working. Stop it and quit?"),
            _tr("Its processes are ended. The conversation and its changes are kept."),
        )
        way_back = _tr("Or let it go on without the window. Starting Desktop Agent again brings the window back.")
        more = f"{ended}\n\n{way_back}"
    question = Question(window, "quitDialog", _tr("Quit"), text, more)
    if working:
        question.add_answer(_tr("Work in the background"), "", partial(answer.set_result, "hide"))
    question.add_answer(_tr("Stop and quit"), "", partial(answer.set_result, "quit"), takes_most=True)
    question.finished.connect(lambda: answer.done() or answer.set_result("stay"))
    question.ask()
    return await answer


class WindowController(Controller):
    def __init__(
        self, panels: WindowPanels, theme: Theme, arguments: WindowArguments, bench: Workbench, begun: OwnSession | None
    ) -> None:
        context = self._context = WindowContext(panels, theme, bench)
        super().__init__(context)
        self._arguments = arguments
        self._begun = begun
        self._setup = setup = Setup(context)
        self._models = ModelOffering(context, setup)
        self._settings = SettingsController(context, setup)
        named = NamedModel(
            provider=arguments.provider, model=arguments.model, base_url=arguments.base_url, account=arguments.account
        )
        self._drafts = drafts = DraftAutosave(context)
        self._live = live = LiveSessions(bench, drafts, begun)
        self._listed = listed = SessionListUpdater(context, live)
        self._searching = Searching(context, listed.known)
        self._navigator = navigator = Navigator(
            context, live, drafts, setup, default_model=lambda: bench.model_meant(named), refresh_list=listed.refresh
        )
        pasting = Pasting(context)
        files = FolderFiles(context, navigator)
        self._mentions = MentionFinding(context, navigator, files, listed.known)
        self._actions = SessionActions(context, live, listed, navigator)
        self._worktrees = WorktreeControl(context, live, listed, navigator, drafts, lambda: bench.model_meant(named))
        inbox = Inbox(context, live, listed, navigator)
        self._left = IdleSessionCloser(context, live, navigator, inbox.has)
        self._notifications = InboxNotifier(context, inbox)
        self._contents = ContentWindows(context)
        self._previews = ContentPreviews(context, navigator, self._contents)
        self._spelling = SpellChecking(context)
        self._usage = UsageDisplay(context)
        self._terminal = TerminalControl(context, navigator, pasting)
        setup.agents.run_in_terminal = self._terminal.sign_in
        saving = FileWriting(context, navigator)
        self._viewing = viewing = FileViewing(context, navigator, files, saving)
        self._code = CodeApplying(context, files)
        self._news = News(context)
        self._palette = PaletteOpening(context, navigator, files, listed, setup, open_file=viewing.open_file)
        navigator.workspace_changed.connect(self._settings.show_workspace)
        navigator.session_opened.connect(self._follow)
        self._folder = ShownFolder(context, navigator)
        self._branches = Branches(context, navigator, live.is_working_in)
        self._later = LaterStarts(self)
        self._connect()

    async def start(self) -> None:
        try:
            self._searching.note_news()
            await self._listed.refresh()
            await self._show_first(self._arguments, self._begun)
        except AgentError as error:
            self._panels.conversation.banner.show_error(error)
            self._navigator.welcome()
        self._settings.report_problems()
        self._news.tell()

    def _show_asked(self, arguments: WindowArguments | None) -> None:
        """Come to the front, and show what a later start of the application asks for."""
        self._notifications.bring_back()
        if arguments is not None:
            self._launch(self._show_first(arguments, None))

    async def _show_first(self, arguments: WindowArguments, begun: OwnSession | None) -> None:
        navigator = self._navigator
        if begun is not None:
            session_id: SessionId | None = begun.session_id
        else:
            session_id = await asyncio.to_thread(first_session, self._bench.catalog, arguments)
        if arguments.is_demo:
            await navigator.show_demo()
        elif session_id is not None:
            await navigator.show_session(session_id)
        elif arguments.resume is not None or arguments.workspace is not None:
            await navigator.show_folder(arguments.workspace or await asyncio.to_thread(current_folder))
        else:
            if (folder := await asyncio.to_thread(_plausible_folder)) is not None:
                await navigator.show_folder(folder)
            self._launch(self._welcome_without_key())  # meanwhile: a keyring may wait for the user

    async def _welcome_without_key(self) -> None:
        """Open the welcome if there is no key, unless the user opened a dialog while the keyring was answering."""
        if not await has_key(self._bench) and QApplication.activeModalWidget() is None:
            self._navigator.welcome()

    def begin_upkeep(self) -> None:
        bench, spawner = self._bench, self._panels.spawner
        self._later.asked.connect(self._show_asked)
        self._later.listen(place_of(bench.paths, os.environ))
        spawner.spawn(follow_desktop(self._theme.follow_wishes))
        # Not concurrently with the imports of the review, which would slow each step down by half.
        self._panels.review.prepare(lambda: spawner.spawn(preload(bench, self._make_ahead)))
        places = bench.paths.sessions, bench.paths.cache
        spawner.spawn(tidy(bench.blobs, *places, SystemClock(), bench.worktrees))

    @property
    def shown(self) -> SignalInstance:
        return self._navigator.shown

    def bring_along(self, text: str) -> None:
        self._drafts.bring_along(text)

    def _make_ahead(self) -> Iterator[None]:
        yield from self._palette.make_ahead()
        yield
        yield from self._setup.make_ahead()

    async def aclose(self) -> None:
        self._later.close()
        self._settings.stop()
        self._usage.stop()
        self._bench.keys.give_up()
        await self._setup.aclose()
        await self._models.aclose()
        await self._terminal.aclose()
        await self._notifications.aclose()
        await self._drafts.aclose()
        await self._navigator.aclose()
        await self._live.aclose()
        await self._searching.aclose()

    async def may_close(self) -> bool:
        if not self._viewing.may_close():
            return False
        working, busy = self._live.working, self._terminal.busy
        if not (working or busy):
            return True
        leaving = await how_to_leave(self._panels.window, working, busy)
        if leaving == "hide":
            self._notifications.work_in_background()
        return leaving == "quit"

    def _connect(self) -> None:
        panels, actions, entries = self._panels, self._panels.window.actions_, self._panels.transcript.entry_actions
        actions.settings.triggered.connect(self._setup.open)
        actions.usage.triggered.connect(self._usage.open)
        for action, asks in ((actions.try_with, True), (actions.variants, False)):
            action.triggered.connect(in_background(self._launch, partial(self._open_variants, asks=asks)))
        panels.composer.controls.cost.clicked.connect(self._usage.open)
        entries.settings_requested.connect(self._on_settings)
        entries.sign_in_requested.connect(self._on_sign_in)
        entries.agent_sign_in_requested.connect(self._setup.agents.sign_in)
        panels.session.rules_changed.connect(self._setup.show_rules)
        panels.session.submit_on(self._setup.rule_revoked, RevokeRule, "rule_id")

    def _follow(self, handle: SessionHandle) -> None:
        handle.happened.connect(self._on_happened, Qt.ConnectionType.UniqueConnection)
        handle.failed.connect(self._panels.conversation.banner.show_error, Qt.ConnectionType.UniqueConnection)
        # The session may have been renamed or pinned after it was opened and before it was followed. The id of
        # one that was just made is not known here yet: its first event lists it.
        if session_id := handle.transcript.session.session_id:
            self._launch(self._listed.refresh_session(session_id))

    def _on_happened(self, event: Event) -> None:
        handle = self.sender()
        assert isinstance(handle, SessionHandle)
        is_shown = handle is self._panels.session.handle
        if event.type in LISTED_EVENTS:
            self._launch(self._listed.refresh_session(handle.transcript.session.session_id))
        match event:
            case CommandRun(is_error=False, opens=opened) if is_shown and opened:
                self._navigator.go_to(opened)
            case CommandRun(is_error=False, text=text) if is_shown and parse(text).name == "clear":
                self._navigator.begin()
            case TurnEnded(turn=turn, reason=reason):
                self._searching.note_news()
                is_untouched = handle.transcript.session.model == DEMO and not self._panels.composer.text()
                if turn == 1 and reason == "completed" and is_shown and is_untouched:
                    self._panels.composer.set_text(demo_follow_up())
            case _:
                pass

    async def _open_variants(self, *, asks: bool) -> None:
        await asyncio.to_thread(import_module, "desktop_agent.headless.single_call")
        from desktop_agent.app.sessions.variants import VariantControl  # with the first variants

        window = self._panels.window
        control = window.findChild(VariantControl) or VariantControl(self._context, self._live, self._navigator)
        await (control.ask() if asks else control.reopen())

    def _on_settings(self) -> None:
        model = self._panels.session.transcript.session.model
        if model is not None and model.is_agent:
            self._setup.open_for(model.provider)
        else:
            self._setup.open()

    def _on_sign_in(self) -> None:
        handle = self._panels.session.handle
        if handle is not None and (model := handle.transcript.session.model) is not None:
            self._setup.sign_in_again(model)


def _plausible_folder() -> Path | None:
    """Return the current folder if it looks like a project and not like a desktop's default."""
    try:
        folder = current_folder()
    except WorkspaceError:
        return None
    return None if why_no_workspace(real_path(folder), "client") else folder
