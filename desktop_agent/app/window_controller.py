"""The conductor: which folder and session the window shows, from its start to its end.

It runs as one coroutine on the window's loop. Everything that can fail outside of a session (a folder that is gone, a
session open elsewhere) ends in the banner, never in a crash.
"""

import asyncio
import os
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog

from desktop_agent.app.background_tasks import BackgroundTasks
from desktop_agent.app.content_windows import ContentWindows
from desktop_agent.app.drafts.draft import SessionDraft
from desktop_agent.app.drafts.draft_autosave import DraftAutosave
from desktop_agent.app.file_opening import open_file
from desktop_agent.app.quit_question import QuitQuestion
from desktop_agent.app.review.diffs import BlobDiffs
from desktop_agent.app.sessions.resending import take_back_since
from desktop_agent.app.sessions.searching import Searching
from desktop_agent.app.sessions.session_actions import SessionActions
from desktop_agent.app.sessions.session_list import LISTED_EVENTS, SessionListUpdater
from desktop_agent.app.sessions.sessions import LiveSessions
from desktop_agent.app.sessions.viewing import Viewing
from desktop_agent.app.settings.model_following import ModelFollowing
from desktop_agent.app.settings.settings_controller import SettingsController
from desktop_agent.app.settings.setup import Setup
from desktop_agent.app.startup.arguments import NEWEST, WindowArguments
from desktop_agent.app.startup.demo import make_demo_workspace
from desktop_agent.app.startup.lazy_sources import LazyDiffs
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, SessionBusyError, WorkspaceError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import CommandRun, SessionRenamed, TurnEnded
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, SearchHit
from desktop_agent.core.providers.demo import DEMO_FOLLOW_UP, DEMO_MODEL, DEMO_PROMPT
from desktop_agent.core.slash.parse import parse
from desktop_agent.core.store.drafts import DraftKey, Drafts, folder_draft, session_draft, viewing_draft
from desktop_agent.core.system.gitrepo import RepoStatus
from desktop_agent.core.system.workspace import current_folder, usable_workspace
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.pasted_keys import PastedKeys
from desktop_agent.ui.window.bridge import SessionBridge

DEMO = ModelRef(provider="demo", model=DEMO_MODEL)
EXAMPLES = ("What does this project do?", "Run the tests and fix what fails.", "Find code that nothing uses.")


class WindowController(QObject):
    """Drives one window."""

    def __init__(
        self,
        panels: WindowPanels,
        theme: Theme,
        arguments: WindowArguments,
        bench: Workbench,
        diffs: LazyDiffs,
        spawner: TaskSpawner,
    ) -> None:
        super().__init__(panels.window)
        self._panels = panels
        self._arguments = arguments
        self._bench = bench
        self._spawner = spawner
        self._try = BackgroundTasks(spawner, panels.banner)
        drafts = Drafts(bench.paths.data / "drafts")
        self._unsent = DraftAutosave(panels.composer, panels.transcript, drafts, spawner, self)
        self._live = LiveSessions(bench, self._unsent)
        self._sessions = SessionListUpdater(panels, bench, self._live)
        self._workspace: Path | None = None
        self._clock = SystemClock()
        self._setup = Setup(panels.window, theme, bench.paths, bench.live, bench.keys, bench.environ, spawner)
        self._pasted_keys = PastedKeys(panels.window)
        self._settings = SettingsController(panels, theme, bench, self._setup, spawner)
        self._model_following = ModelFollowing(panels.wiring, self._default_model, self)
        self._unsubscribe = bench.live.subscribe(self._model_following.on_settings_changed)
        self._viewing = Viewing(bench, self._clock, self)
        self._choosing = asyncio.Lock()
        self._choice = 0
        """Counts what was chosen to be shown: the last is, whatever is ready first."""

        self._quit_question = QuitQuestion(panels.window)
        self._contents = ContentWindows(panels.window, theme, bench.blobs, self._try)
        self._exchange = SessionActions(panels.window, bench, self._live, self._try)
        self._searching = Searching(panels.search, bench, self._clock, spawner, self._sessions.known)
        self._diffs = BlobDiffs(bench.blobs)
        diffs.provide(self._diffs)
        self._connect()

    # -- start and end --

    async def start(self) -> None:
        """Show what the command line asks for, else what was open last, else the welcome."""
        self._searching.note_news()
        try:
            await self._sessions.refresh()
            if self._arguments.is_demo:
                await self.show_demo()
            elif self._arguments.resume is not None:
                await self._resume(self._arguments.resume)
            elif self._arguments.workspace is not None:
                await self.show_folder(self._arguments.workspace)
            else:
                await self._show_last_or_welcome()
        except AgentError as error:
            self._panels.banner.show_error(error)
            self._welcome()

    async def _look_for_sandbox(self, root: Path) -> None:
        """Find out whether commands can be confined in this folder, and say so where the sandbox is chosen."""
        search = await self._bench.sandbox_search(root)
        if root != self._workspace:
            return
        self._panels.judges.is_sandbox_available = search.sandbox is not None
        reasons = " ".join(f"{report.name}: {report.reason} {report.hint}".strip() for report in search.reports)
        self._panels.pickers.show_sandbox_availability(search.sandbox is not None, reasons)

    async def aclose(self) -> None:
        """Stop everything that runs, and return when nothing of it is left."""
        self._settings.stop()
        self._unsubscribe()
        self._bench.keys.give_up()
        await self._unsent.aclose()
        await self._viewing.aclose()
        await self._live.aclose()
        await self._searching.aclose()
        await self._diffs.aclose()

    def tell_settings_problems(self) -> None:
        """Say which settings are not in force, unless something else that went wrong is shown already."""
        self._settings.tell_problems()

    async def may_close(self) -> bool:
        """Whether to close now; asks when that would stop a working agent."""
        working = self._live.working
        return not working or await self._quit_question.ask(working)

    # -- what is shown --

    async def show_folder(self, folder: Path) -> None:
        """Start anew in `folder`. Raises `WorkspaceError` when it cannot be used."""
        choice = self._choose()
        root = await asyncio.to_thread(usable_workspace, folder)
        settings = self._bench.settings_in(root)
        await settings.refresh()
        await self._unsent.fetch(folder_draft(root))
        if choice == self._choice:
            self._set_workspace(root)
            self._show_draft(root, self._default_model(), settings.current.execution.approval)

    async def show_demo(self) -> None:
        """Start the demo in a fresh copy of its project."""
        self._choose()
        root = await asyncio.to_thread(make_demo_workspace, self._bench.paths, self._clock.now())
        self._set_workspace(root)
        self._show_draft(root, DEMO, "on_write")
        self._panels.transcript.empty.set_examples([DEMO_PROMPT])
        self._panels.composer.set_text(DEMO_PROMPT)

    async def show_session(self, session_id: str) -> bool:
        """Show a session, opening it if it is not open yet. One that is open elsewhere is only read.

        Return whether it is shown: not when something else was chosen before it was there.
        """
        choice = self._choose()
        async with self._choosing:  # nothing is opened twice, by two clicks say
            if choice != self._choice:
                return False
            bridge, key = await self._open(session_id)
            if choice != self._choice:
                if self._viewing.is_viewing(bridge):
                    self._viewing.leave()
                return False
            self._set_workspace(Path(bridge.transcript.workspace))
            self._watch(bridge)
            self._show(bridge)
            self._unsent.enter(key)
            return True

    def _choose(self) -> int:
        """Note that something else is to be shown, and return the number of this choice."""
        self._choice += 1
        return self._choice

    async def _open(self, session_id: SessionId) -> tuple[SessionBridge, DraftKey]:
        """Open a session, or view it; also return the key of what is written in it."""
        ours, theirs = session_draft(session_id), viewing_draft(session_id)
        await self._unsent.fetch(theirs)
        try:
            bridge = await self._live.open(session_id)
        except SessionBusyError:
            return await self._viewing.open(session_id), theirs
        await self._unsent.fetch(ours)
        self._unsent.adopt(theirs, ours)
        return bridge, ours

    async def show_hit(self, hit: SearchHit) -> None:
        """Show the place of a session that a search has found."""
        if await self.show_session(hit.session_id):
            self._panels.transcript.navigation.show_turn(hit.turn, hit.call_id)

    async def _resume(self, wanted: str) -> None:
        if wanted != NEWEST:
            await self.show_session(await asyncio.to_thread(self._bench.catalog.find, wanted))
            return
        folder = self._arguments.workspace or await asyncio.to_thread(current_folder)
        latest = await asyncio.to_thread(self._bench.catalog.latest, folder)
        if latest is not None:
            await self.show_session(latest)
        else:
            await self.show_folder(folder)

    async def _show_last_or_welcome(self) -> None:
        last = await asyncio.to_thread(_last_usable, self._bench)
        if last is not None:
            await self.show_session(last)
        elif (folder := await asyncio.to_thread(_plausible_folder)) is not None:
            await self.show_folder(folder)
        if last is None:  # beside the start: a keyring may wait for the user
            self._try(self._welcome_without_key())

    async def _welcome_without_key(self) -> None:
        if not await self._setup.has_key():
            self._welcome()

    def _show_draft(self, root: Path, model: ModelRef, approval: ApprovalPolicy) -> None:
        """Show an empty conversation; the session is made with its first prompt."""
        sandbox = self._bench.settings_in(root).current.execution.sandbox
        keep = partial(self._unsent.note_sent, folder_draft(root))
        draft = SessionDraft(root, model, approval, sandbox, self._on_first_prompt, keep, self)
        self._panels.transcript.empty.set_examples(EXAMPLES)
        self._show(draft.bridge)
        self._unsent.enter(folder_draft(root))
        self._panels.composer.setFocus()

    def _show(self, bridge: SessionBridge) -> None:
        self._panels.banner.hide()
        is_viewed = self._viewing.is_viewing(bridge)
        self._panels.viewing_bar.show_state(is_free=False)
        self._panels.viewing_bar.setVisible(is_viewed)
        self._model_following.note_shown(bridge)
        self._panels.wiring.show(bridge)
        if not is_viewed:
            self._viewing.leave()
        self._panels.sessions.set_current(bridge.transcript.session_id or None)

    def _set_workspace(self, root: Path) -> None:
        if root != self._workspace:
            self._workspace = self._exchange.workspace = root
            self._settings.show_workspace(root)
            self._panels.files.set_workspace(root)
            self._panels.sessions.set_workspace(str(root))
            self._panels.search.set_workspace(str(root))
            self._panels.window.top_bar.set_workspace(root)
            self._panels.window.top_bar.set_branch("")
            self._try(self._look_for_sandbox(root))

    def _welcome(self) -> None:
        """Offer the ways to begin: the demo, or a key."""
        self._setup.welcome(self._workspace)

    # -- a draft becomes a session --

    def _on_first_prompt(self, draft: SessionDraft) -> None:
        self._spawner.spawn(self._start_session(draft))

    async def _start_session(self, draft: SessionDraft) -> None:
        try:
            bridge = await self._live.create(draft.workspace, draft.model, draft.approval)
        except AgentError as error:
            self._panels.wiring.give_back([prompt.text for prompt in draft.hand_over()])
            self._panels.banner.show_error(error)
            return
        self._watch(bridge)
        if self._panels.wiring.bridge is draft.bridge:
            self._show(bridge)
            key = session_draft(self._live.id_of(bridge))
            self._unsent.move(key)
            self._unsent.note_sent(key, ())  # the session keeps them now
        if draft.sandbox != bridge.transcript.sandbox:
            bridge.submit(ops.SetMode(sandbox=draft.sandbox))
        for prompt in draft.hand_over():
            bridge.submit(prompt)

    # -- wiring --

    def _connect(self) -> None:
        panels, actions = self._panels, self._panels.window.actions_
        actions.connect(actions.new_session, self._on_new_session)
        actions.connect(actions.open_folder, self._choose_folder)
        actions.connect(actions.demo, self._on_demo)
        actions.connect(actions.settings, self._setup.open_settings)
        panels.wiring.settings_requested.connect(self._setup.open_settings)
        panels.composer.refuse(self._pasted_keys.refuses)
        self._pasted_keys.found.connect(self._setup.enter_key)
        panels.wiring.folder_requested.connect(self._welcome)
        panels.transcript.entry_actions.resend_requested.connect(self._on_resend)
        panels.transcript.entry_actions.session_requested.connect(self._on_session_chosen)
        panels.transcript.entry_actions.output_requested.connect(self._contents.show_output)
        panels.transcript.entry_actions.picture_requested.connect(self._contents.show_picture)
        panels.transcript.entry_actions.file_requested.connect(self._open_found)
        panels.wiring.job_output_requested.connect(self._contents.show_job_output)
        panels.wiring.rules_changed.connect(self._setup.show_rules)
        self._setup.rule_revoked.connect(panels.wiring.revoke_rule)
        self._setup.demo_requested.connect(self._on_demo)
        self._setup.folder_requested.connect(self._choose_folder)
        self._setup.failed.connect(panels.banner.show_error)
        panels.banner.folder_requested.connect(self._choose_folder)
        panels.transcript.entry_actions.folder_requested.connect(self._choose_folder)
        panels.viewing_bar.take_over_requested.connect(self._on_take_over)
        self._viewing.freed.connect(self._on_freed)
        self._viewing.refused.connect(panels.banner.show_error)
        self._viewing.lost.connect(self._on_session_chosen)
        panels.sessions.new_requested.connect(self._on_new_session)
        panels.sessions.session_chosen.connect(self._on_session_chosen)
        panels.search.hit_chosen.connect(self._on_hit_chosen)
        panels.sessions.rename_requested.connect(self._on_rename)
        panels.composer.commands_wanted.connect(self._on_commands_wanted)
        panels.sessions.wished.connect(self._exchange.run)
        actions.connect(actions.import_session, self._exchange.import_file)
        actions.connect(actions.export_session, self._on_export)
        self._exchange.listed.connect(self._on_listed)
        self._exchange.session_wanted.connect(self._on_session_chosen)
        self._exchange.removed.connect(self._on_removed)
        panels.files.file_activated.connect(self._on_file_activated)
        panels.files.repository_changed.connect(self._on_repository)

    def _watch(self, bridge: SessionBridge) -> None:
        """Keep the session list up to date with what this session does."""
        bridge.happened.connect(self._on_happened, Qt.ConnectionType.UniqueConnection)
        bridge.failed.connect(self._panels.banner.show_error, Qt.ConnectionType.UniqueConnection)

    def _on_happened(self, event: object) -> None:
        bridge = self.sender()
        if getattr(event, "type", "") in LISTED_EVENTS and isinstance(bridge, SessionBridge):
            self._try(self._sessions.refresh_session(bridge.transcript.session_id))
        if isinstance(event, CommandRun) and not event.is_error and bridge is self._panels.wiring.bridge:
            self._follow_command(event)
        if isinstance(event, TurnEnded):
            self._searching.note_news()
        if isinstance(event, TurnEnded) and event.turn == 1 and event.reason == "completed":
            self._offer_follow_up()

    def _follow_command(self, command: CommandRun) -> None:
        """Show what a command leads to: the session that it made, or an empty conversation."""
        if command.opens:
            self._try(self.show_session(command.opens))
        elif parse(command.text).name == "clear":
            self._on_new_session()

    def _on_commands_wanted(self) -> None:
        self._try(self._show_commands())

    async def _show_commands(self) -> None:
        """Tell the composer the commands, those in files as they are now."""
        if self._workspace is not None:
            self._panels.composer.set_commands(await asyncio.to_thread(self._bench.slash_commands, self._workspace))

    def _offer_follow_up(self) -> None:
        """After the first turn of the demo, write down what to ask next, unless the user is writing."""
        shown = self._panels.wiring.bridge
        if (
            shown is not None
            and shown is self.sender()
            and shown.transcript.model == DEMO
            and not self._panels.composer.text()
        ):
            self._panels.composer.set_text(DEMO_FOLLOW_UP)

    def _on_new_session(self) -> None:
        if self._workspace is not None:
            self._try(self.show_folder(self._workspace))
        else:
            self._welcome()

    def _on_session_chosen(self, session_id: str) -> None:
        self._try(self.show_session(session_id))

    def _on_freed(self, is_free: bool) -> None:
        self._panels.viewing_bar.show_state(is_free=is_free)
        reason = self.tr("Take this session over to go on with it here.") if is_free else self._viewing.reason
        self._panels.composer.set_blocked(reason)

    def _on_take_over(self) -> None:
        if (shown := self._panels.wiring.bridge) is not None:
            self._try(self.show_session(shown.transcript.session_id))

    def _on_hit_chosen(self, hit: SearchHit) -> None:
        self._try(self.show_hit(hit))

    def _on_demo(self) -> None:
        self._try(self.show_demo())

    def _on_rename(self, session_id: str, title: str) -> None:
        self._exchange.file(session_id, SessionRenamed(title=title))

    def _on_listed(self) -> None:
        self._try(self._sessions.refresh())

    def _on_removed(self, session_id: str) -> None:
        shown = self._panels.wiring.bridge
        if shown is not None and shown.transcript.session_id == session_id:
            self._on_new_session()

    def _on_export(self) -> None:
        shown = self._panels.wiring.bridge
        if shown is not None and shown.transcript.session_id:
            self._exchange.export(shown.transcript.session_id)

    def _on_resend(self, turn: int, text: str, takes_files_back: bool) -> None:
        shown = self._panels.wiring.bridge
        if shown is not None and shown.transcript.session_id:
            self._try(self._resend(shown, turn, text, takes_files_back=takes_files_back))

    async def _resend(self, source: SessionBridge, turn: int, text: str, *, takes_files_back: bool) -> None:
        """Go on before `turn` with another prompt, in a copy; the conversation it was edited in stays as it is."""
        try:
            if takes_files_back:
                await take_back_since(source, turn)
            copy = await self._bench.fork_session(source.transcript.session_id, before_turn=turn)
            await self.show_session(copy)
        except AgentError:
            self._panels.wiring.give_back([text])
            raise
        await self._sessions.refresh()
        bridge = self._panels.wiring.bridge
        if bridge is not None and bridge.transcript.session_id == copy:
            bridge.submit(ops.SubmitPrompt(text=text))

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
        if self._workspace is not None:
            dialog.setDirectory(str(self._workspace))
        dialog.fileSelected.connect(self._on_folder_chosen)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _on_folder_chosen(self, path: str) -> None:
        self._setup.show_folder(Path(path))
        self._try(self.show_folder(Path(path)))

    def _open_found(self, path: str, _line: int) -> None:
        """Open a file that a search found, as the file tree opens it. Applications do not get the line."""
        if self._workspace is None:
            return
        file = self._workspace / path
        if path.startswith(("//", "\\\\")) or not file.is_file():
            missing = self.tr("{path} is no longer there.").format(path=path)
            self._panels.banner.show_error(WorkspaceError(missing, hint=self.tr("It was moved or deleted since.")))
            return
        open_file(file)

    # -- the model --

    def _default_model(self) -> ModelRef:
        """The model of the command line, else of the settings."""
        default = self._bench.default_model()
        provider = self._arguments.provider or default.provider
        is_default = provider == default.provider
        return ModelRef(
            provider=provider,
            model=self._arguments.model or (default.model if is_default else provider),
            base_url=self._arguments.base_url or (default.base_url if is_default else None),
        )


def _plausible_folder() -> Path | None:
    """The folder the application was started in, if that looks like a project and not like a desktop's default."""
    try:
        folder = current_folder()
    except WorkspaceError:
        return None
    return None if folder in (Path.home(), Path(folder.anchor)) else folder


def _last_usable(bench: Workbench) -> SessionId | None:
    """The session last used whose folder is still there."""
    found = (item for item in bench.catalog.summaries() if item.workspace and item.is_listed)
    return next((item.id for item in found if os.path.isdir(item.workspace)), None)  # noqa: PTH112 - Path's raises
