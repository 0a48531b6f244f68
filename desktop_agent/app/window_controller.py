"""Drives one window from its start to its end: what its panels ask for is done, what happens is shown.

It runs as one coroutine on the window's loop. Everything that can fail outside of a session (a folder that is gone, a
session open elsewhere) ends in the banner, never in a crash.
"""

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog

from desktop_agent.app.background_tasks import BackgroundTasks
from desktop_agent.app.content_windows import ContentWindows
from desktop_agent.app.file_opening import open_file
from desktop_agent.app.navigator import DEMO, Navigator
from desktop_agent.app.quit_question import QuitQuestion
from desktop_agent.app.sessions.draft_autosave import DraftAutosave
from desktop_agent.app.sessions.searching import Searching
from desktop_agent.app.sessions.session_actions import SessionActions
from desktop_agent.app.sessions.session_list import LISTED_EVENTS, SessionListUpdater
from desktop_agent.app.sessions.sessions import LiveSessions
from desktop_agent.app.sessions.viewing import Viewing
from desktop_agent.app.settings.settings_controller import SettingsController
from desktop_agent.app.settings.setup import Setup
from desktop_agent.app.startup.arguments import WindowArguments
from desktop_agent.app.startup.first_view import FirstView, model_of
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, WorkspaceError
from desktop_agent.core.protocol.events import CommandRun, SessionRenamed, TurnEnded
from desktop_agent.core.protocol.model import SearchHit
from desktop_agent.core.providers.demo import DEMO_FOLLOW_UP
from desktop_agent.core.slash.parse import parse
from desktop_agent.core.store.drafts import Drafts
from desktop_agent.core.system.gitrepo import RepoStatus
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.pasted_keys import PastedKeys
from desktop_agent.ui.window.bridge import SessionBridge


class WindowController(QObject):
    """Drives one window."""

    def __init__(
        self,
        panels: WindowPanels,
        theme: Theme,
        arguments: WindowArguments,
        bench: Workbench,
        spawner: TaskSpawner,
    ) -> None:
        super().__init__(panels.window)
        self._panels = panels
        self._bench = bench
        self._try = BackgroundTasks(spawner, panels.banner)
        clock = SystemClock()
        drafts = Drafts(bench.paths.data / "drafts")
        self._drafts = DraftAutosave(panels.composer, panels.transcript, drafts, spawner, self)
        self._live = LiveSessions(bench, self._drafts)
        self._sessions = SessionListUpdater(panels, bench, self._live)
        self._setup = Setup(panels.window, theme, bench.paths, bench.live, bench.keys, bench.environ, self._try)
        self._pasted_keys = PastedKeys(panels.window)
        self._settings = SettingsController(panels, theme, bench, self._setup, spawner)
        self._viewing = Viewing(bench, clock, self)
        self._navigator = Navigator(
            panels,
            bench,
            self._live,
            self._viewing,
            self._drafts,
            clock,
            spawner,
            default_model=lambda: model_of(arguments, bench.default_model()),
            refresh_list=self._sessions.refresh,
        )
        self._first_view = FirstView(self._navigator, arguments, bench, self._setup, self._try)
        self._quit_question = QuitQuestion(panels.window)
        self._contents = ContentWindows(panels.window, theme, bench.blobs, self._try)
        self._session_actions = SessionActions(panels.window, bench, self._live, self._try)
        self._searching = Searching(panels.search, bench, clock, spawner, self._sessions.known)
        self._connect_panels()
        self._connect_parts()

    # -- start and end --

    async def start(self) -> None:
        """Show what the command line asks for, else what was open last, else the welcome."""
        self._searching.note_news()
        try:
            await self._sessions.refresh()
            await self._first_view.show()
        except AgentError as error:
            self._panels.banner.show_error(error)
            self._welcome()

    async def _look_for_sandbox(self, root: Path) -> None:
        """Find out whether commands can be confined in this folder, and say so where the sandbox is chosen."""
        search = await self._bench.sandbox_search(root)
        if root != self._navigator.workspace:
            return
        self._panels.judges.is_sandbox_available = search.sandbox is not None
        reasons = " ".join(f"{report.name}: {report.reason} {report.hint}".strip() for report in search.reports)
        self._panels.pickers.show_sandbox_availability(search.sandbox is not None, reasons)

    async def aclose(self) -> None:
        """Stop everything that runs, and return when nothing of it is left."""
        self._settings.stop()
        self._navigator.stop()
        self._bench.keys.give_up()
        await self._drafts.aclose()
        await self._viewing.aclose()
        await self._live.aclose()
        await self._searching.aclose()

    def tell_settings_problems(self) -> None:
        """Say which settings are not in force, unless something else that went wrong is shown already."""
        self._settings.tell_problems()

    async def may_close(self) -> bool:
        """Whether to close now; asks when that would stop a working agent."""
        working = self._live.working
        return not working or await self._quit_question.ask(working)

    # -- wiring --

    def _connect_panels(self) -> None:
        panels, actions = self._panels, self._panels.window.actions_
        actions.connect(actions.new_session, self._on_new_session)
        actions.connect(actions.open_folder, self._choose_folder)
        actions.connect(actions.demo, self._on_demo)
        actions.connect(actions.settings, self._setup.open_settings)
        actions.connect(actions.import_session, self._session_actions.import_file)
        actions.connect(actions.export_session, self._on_export)
        panels.wiring.settings_requested.connect(self._setup.open_settings)
        panels.wiring.folder_requested.connect(self._welcome)
        panels.wiring.job_output_requested.connect(self._contents.show_job_output)
        panels.wiring.rules_changed.connect(self._setup.show_rules)
        panels.composer.edit.refuses = self._pasted_keys.refuses
        panels.composer.commands.wanted.connect(self._on_commands_wanted)
        panels.transcript.entry_actions.resend_requested.connect(self._on_resend)
        panels.transcript.entry_actions.session_requested.connect(self._on_session_chosen)
        panels.transcript.entry_actions.output_requested.connect(self._contents.show_output)
        panels.transcript.entry_actions.picture_requested.connect(self._contents.show_picture)
        panels.transcript.entry_actions.file_requested.connect(self._open_found)
        panels.transcript.entry_actions.folder_requested.connect(self._choose_folder)
        panels.banner.folder_requested.connect(self._choose_folder)
        panels.viewing_bar.take_over_requested.connect(self._on_take_over)
        panels.sessions.new_requested.connect(self._on_new_session)
        panels.sessions.session_chosen.connect(self._on_session_chosen)
        panels.sessions.rename_requested.connect(self._on_rename)
        panels.sessions.action_requested.connect(self._session_actions.run)
        panels.search.hit_chosen.connect(self._on_hit_chosen)
        panels.files.file_activated.connect(self._on_file_activated)
        panels.files.repository_changed.connect(self._on_repository)

    def _connect_parts(self) -> None:
        self._navigator.workspace_changed.connect(self._on_workspace_changed)
        self._navigator.session_opened.connect(self._watch)
        self._pasted_keys.found.connect(self._setup.enter_key)
        self._setup.rule_revoked.connect(self._panels.wiring.revoke_rule)
        self._setup.demo_requested.connect(self._on_demo)
        self._setup.folder_requested.connect(self._choose_folder)
        self._viewing.freed.connect(self._on_freed)
        self._viewing.refused.connect(self._panels.banner.show_error)
        self._viewing.lost.connect(self._on_session_chosen)
        self._session_actions.listed.connect(self._on_listed)
        self._session_actions.session_wanted.connect(self._on_session_chosen)
        self._session_actions.removed.connect(self._on_removed)

    def _on_workspace_changed(self, root: Path) -> None:
        self._session_actions.workspace = root
        self._settings.show_workspace(root)
        self._panels.files.set_workspace(root)
        self._panels.sessions.set_workspace(str(root))
        self._panels.search.set_workspace(str(root))
        self._panels.window.top_bar.set_workspace(root)
        self._panels.window.top_bar.set_branch("")
        self._try(self._look_for_sandbox(root))

    def _welcome(self) -> None:
        """Offer the ways to begin: the demo, or a key."""
        self._setup.welcome(self._navigator.workspace)

    def _watch(self, bridge: SessionBridge) -> None:
        """Keep the session list up to date with what this session does."""
        bridge.happened.connect(self._on_happened, Qt.ConnectionType.UniqueConnection)
        bridge.failed.connect(self._panels.banner.show_error, Qt.ConnectionType.UniqueConnection)

    def _on_happened(self, event: object) -> None:
        bridge = self.sender()
        if getattr(event, "type", "") in LISTED_EVENTS and isinstance(bridge, SessionBridge):
            self._try(self._sessions.refresh_session(bridge.transcript.session.session_id))
        if isinstance(event, CommandRun) and not event.is_error and bridge is self._panels.wiring.bridge:
            self._follow_command(event)
        if isinstance(event, TurnEnded):
            self._searching.note_news()
        if isinstance(event, TurnEnded) and event.turn == 1 and event.reason == "completed":
            self._offer_follow_up()

    def _follow_command(self, command: CommandRun) -> None:
        """Show what a command leads to: the session that it made, or an empty conversation."""
        if command.opens:
            self._try(self._navigator.show_session(command.opens))
        elif parse(command.text).name == "clear":
            self._on_new_session()

    def _on_commands_wanted(self) -> None:
        self._try(self._show_commands())

    async def _show_commands(self) -> None:
        """Tell the composer the commands, those in files as they are now."""
        if (workspace := self._navigator.workspace) is not None:
            self._panels.composer.commands.show(await asyncio.to_thread(self._bench.slash_commands, workspace))

    def _offer_follow_up(self) -> None:
        """After the first turn of the demo, write down what to ask next, unless the user is writing."""
        shown = self._panels.wiring.bridge
        if (
            shown is not None
            and shown is self.sender()
            and shown.transcript.session.model == DEMO
            and not self._panels.composer.text()
        ):
            self._panels.composer.set_text(DEMO_FOLLOW_UP)

    def _on_new_session(self) -> None:
        if self._navigator.workspace is not None:
            self._try(self._navigator.show_folder(self._navigator.workspace))
        else:
            self._welcome()

    def _on_session_chosen(self, session_id: str) -> None:
        self._try(self._navigator.show_session(session_id))

    def _on_freed(self, is_free: bool) -> None:
        self._panels.viewing_bar.show_state(is_free=is_free)
        reason = self.tr("Take this session over to go on with it here.") if is_free else self._viewing.reason
        self._panels.composer.set_blocked(reason)

    def _on_take_over(self) -> None:
        if (shown := self._panels.wiring.bridge) is not None:
            self._try(self._navigator.show_session(shown.transcript.session.session_id))

    def _on_hit_chosen(self, hit: SearchHit) -> None:
        self._try(self._navigator.show_hit(hit))

    def _on_demo(self) -> None:
        self._try(self._navigator.show_demo())

    def _on_rename(self, session_id: str, title: str) -> None:
        self._session_actions.file(session_id, SessionRenamed(title=title))

    def _on_listed(self) -> None:
        self._try(self._sessions.refresh())

    def _on_removed(self, session_id: str) -> None:
        shown = self._panels.wiring.bridge
        if shown is not None and shown.transcript.session.session_id == session_id:
            self._on_new_session()

    def _on_export(self) -> None:
        shown = self._panels.wiring.bridge
        if shown is not None and shown.transcript.session.session_id:
            self._session_actions.export(shown.transcript.session.session_id)

    def _on_resend(self, turn: int, text: str, takes_files_back: bool) -> None:
        shown = self._panels.wiring.bridge
        if shown is not None and shown.transcript.session.session_id:
            self._try(self._navigator.resend(shown, turn, text, takes_files_back=takes_files_back))

    def _on_repository(self, status: object) -> None:
        branch = status.branch if isinstance(status, RepoStatus) else None
        self._panels.window.top_bar.set_branch(branch or "")

    def _on_file_activated(self, path: str) -> None:
        open_file(Path(path))

    def _choose_folder(self) -> None:
        dialog = QFileDialog(self._panels.window, self.tr("Open a folder"))
        dialog.setObjectName("folderDialog")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        if self._navigator.workspace is not None:
            dialog.setDirectory(str(self._navigator.workspace))
        dialog.fileSelected.connect(self._on_folder_chosen)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _on_folder_chosen(self, path: str) -> None:
        self._setup.show_folder(Path(path))
        self._try(self._navigator.show_folder(Path(path)))

    def _open_found(self, path: str, _line: int) -> None:
        """Open a file that a search found, as the file tree opens it. Applications do not get the line."""
        if self._navigator.workspace is None:
            return
        file = self._navigator.workspace / path
        if path.startswith(("//", "\\\\")) or not file.is_file():
            missing = self.tr("{path} is no longer there.").format(path=path)
            self._panels.banner.show_error(WorkspaceError(missing, hint=self.tr("It was moved or deleted since.")))
            return
        open_file(file)
