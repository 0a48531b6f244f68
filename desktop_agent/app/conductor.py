"""The conductor: which folder and session the window shows, from its start to its end.

It runs as one coroutine on the window's loop. Everything that can fail outside of a session (a folder that is gone, a
session open elsewhere) ends in the banner, never in a crash.
"""

import asyncio
import os
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QMessageBox

from desktop_agent.app.arguments import NEWEST, WindowArguments
from desktop_agent.app.demo import make_demo_workspace
from desktop_agent.app.desk import Desk
from desktop_agent.app.diffs import BlobDiffs
from desktop_agent.app.draft import Draft
from desktop_agent.app.exchange import Exchange
from desktop_agent.app.later import LaterDiffs
from desktop_agent.app.resending import take_back_since
from desktop_agent.app.searching import Searching
from desktop_agent.app.sessions import LiveSessions
from desktop_agent.app.settings_desk import SettingsDesk
from desktop_agent.app.setup import Setup
from desktop_agent.app.unsent import UnsentKeeper
from desktop_agent.app.viewing import Viewing
from desktop_agent.core import ops
from desktop_agent.core.clock import SystemClock
from desktop_agent.core.errors import AgentError, SessionBusyError, StorageError, WorkspaceError
from desktop_agent.core.events import CommandRun, SessionRenamed, TurnEnded
from desktop_agent.core.gitrepo import RepoStatus
from desktop_agent.core.ids import SessionId
from desktop_agent.core.model import ApprovalPolicy, BlobRef, Job, ModelRef, SearchHit, SessionSummary
from desktop_agent.core.providers.demo import DEMO_FOLLOW_UP, DEMO_MODEL, DEMO_PROMPT
from desktop_agent.core.slash.parse import parse
from desktop_agent.core.store.drafts import DraftKey, Drafts, folder_draft, session_draft, viewing_draft
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.core.workspace import current_folder, usable_workspace
from desktop_agent.ui.bridge import SessionBridge
from desktop_agent.ui.chat.cards.picture_reader import read_picture
from desktop_agent.ui.chat.output import readable
from desktop_agent.ui.eventloop import TaskSpawner
from desktop_agent.ui.output_window import MAX_CHARS, OutputWindow
from desktop_agent.ui.picture_window import LARGE, PictureWindow
from desktop_agent.ui.terminal.document import PrintedDocument
from desktop_agent.ui.theme import Theme
from desktop_agent.workbench import Workbench

DEMO = ModelRef(provider="demo", model=DEMO_MODEL)
EXAMPLES = ("What does this project do?", "Run the tests and fix what fails.", "Find code that nothing uses.")


class Conductor(QObject):
    """Drives one window."""

    def __init__(
        self,
        desk: Desk,
        theme: Theme,
        arguments: WindowArguments,
        bench: Workbench,
        diffs: LaterDiffs,
        spawner: TaskSpawner,
    ) -> None:
        super().__init__(desk.window)
        self._desk = desk
        self._theme = theme
        self._arguments = arguments
        self._bench = bench
        self._spawner = spawner
        self._live = LiveSessions(bench)
        self._summaries: dict[SessionId, SessionSummary] = {}
        """What the journals say of all sessions, as far as it was read."""
        self._workspace: Path | None = None
        self._is_asking = False
        self._clock = SystemClock()
        self._setup = Setup(desk.window, theme, bench.paths, bench.live, bench.keys, spawner)
        self._settings = SettingsDesk(desk, theme, bench, self._setup, spawner)
        self._viewing = Viewing(bench, self._clock, self)
        self._choosing = asyncio.Lock()
        self._choice = 0
        """Counts what was chosen to be shown: the last is, whatever is ready first."""
        self._exchange = Exchange(desk.window, bench, self._live, self._try)
        self._searching = Searching(desk.search, bench, self._clock, spawner, self._known_sessions)
        self._diffs = BlobDiffs(bench.blobs)
        diffs.provide(self._diffs)
        drafts = Drafts(bench.paths.data / "drafts")
        self._unsent = UnsentKeeper(desk.composer, desk.transcript, drafts, spawner, self)
        self._connect()

    # -- start and end --

    async def start(self) -> None:
        """Show what the command line asks for, else what was open last, else the welcome."""
        self._try(self._look_for_sandbox())
        self._searching.note_news()
        try:
            await self.refresh_sessions()
            if self._arguments.is_demo:
                await self.show_demo()
            elif self._arguments.resume is not None:
                await self._resume(self._arguments.resume)
            elif self._arguments.workspace is not None:
                await self.show_folder(self._arguments.workspace)
            else:
                await self._show_last_or_welcome()
        except AgentError as error:
            self._desk.banner.show_error(error)
            self._welcome()

    async def _look_for_sandbox(self) -> None:
        """Find out whether commands can be confined here, and say so where the sandbox is chosen."""
        search = await self._bench.sandbox_search()
        self._desk.judges.is_sandbox_available = search.sandbox is not None
        reasons = " ".join(f"{report.name}: {report.reason} {report.hint}".strip() for report in search.reports)
        self._desk.pickers.show_sandbox_availability(search.sandbox is not None, reasons)

    async def aclose(self) -> None:
        """Stop everything that runs, and return when nothing of it is left."""
        self._settings.stop()
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
        return not working or await self._confirm_stop(working)

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
        self._desk.transcript.set_examples([DEMO_PROMPT])
        self._desk.composer.set_text(DEMO_PROMPT)

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

    async def refresh_sessions(self) -> None:
        """Read the list of sessions anew."""
        listed = await asyncio.to_thread(self._bench.catalog.summaries)
        self._summaries = {summary.id: summary for summary in listed}
        self._list_sessions()

    async def _refresh_session(self, session_id: SessionId) -> None:
        """Read anew what the list says of one session: there may be thousands of others."""
        summary = await asyncio.to_thread(self._bench.catalog.summary, session_id)
        if summary is not None:
            self._summaries[session_id] = summary
        self._list_sessions()

    def _list_sessions(self) -> None:
        """Show the list, with what the open sessions are doing right now."""
        listed = dict(self._summaries)
        for bridge in self._live.bridges:
            transcript = bridge.transcript
            if (summary := listed.get(transcript.session_id)) is not None and transcript.status != "idle":
                listed[summary.id] = replace(summary, state=transcript.status)
        self._desk.sessions.set_sessions(listed.values())
        if (shown := self._desk.wiring.bridge) is not None:
            self._desk.sessions.set_current(shown.transcript.session_id or None)

    def _known_sessions(self) -> Mapping[SessionId, SessionSummary]:
        return self._summaries

    async def show_hit(self, hit: SearchHit) -> None:
        """Show the place of a session that a search has found."""
        if await self.show_session(hit.session_id):
            self._desk.transcript.show_turn(hit.turn, hit.call_id)

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
        if not await self._setup.has_key() and last is None:
            self._welcome()

    def _show_draft(self, root: Path, model: ModelRef, approval: ApprovalPolicy) -> None:
        """Show an empty conversation; the session is made with its first prompt."""
        sandbox = self._bench.settings_in(root).current.execution.sandbox
        draft = Draft(root, model, approval, sandbox, self._on_first_prompt, self)
        self._desk.transcript.set_examples(EXAMPLES)
        self._show(draft.bridge)
        self._unsent.enter(folder_draft(root))
        self._desk.composer.setFocus()

    def _show(self, bridge: SessionBridge) -> None:
        self._desk.banner.hide()
        is_viewed = self._viewing.is_viewing(bridge)
        self._desk.viewing_bar.show_state(is_free=False)
        self._desk.viewing_bar.setVisible(is_viewed)
        self._desk.wiring.show(bridge)
        if not is_viewed:
            self._viewing.leave()
        self._desk.sessions.set_current(bridge.transcript.session_id or None)

    def _set_workspace(self, root: Path) -> None:
        if root != self._workspace:
            self._workspace = self._exchange.workspace = root
            self._settings.show_workspace(root)
            self._desk.files.set_workspace(root)
            self._desk.sessions.set_workspace(str(root))
            self._desk.search.set_workspace(str(root))
            self._desk.window.top_bar.set_workspace(root)
            self._desk.window.top_bar.set_branch("")

    def _welcome(self) -> None:
        """Offer the ways to begin: the demo, or a key."""
        self._setup.welcome(self._workspace)

    # -- a draft becomes a session --

    def _on_first_prompt(self, draft: Draft) -> None:
        self._spawner.spawn(self._start_session(draft))

    async def _start_session(self, draft: Draft) -> None:
        try:
            bridge = await self._live.create(draft.workspace, draft.model, draft.approval)
        except AgentError as error:
            self._desk.wiring.give_back([prompt.text for prompt in draft.hand_over()])
            self._desk.banner.show_error(error)
            return
        self._watch(bridge)
        if self._desk.wiring.bridge is draft.bridge:
            self._show(bridge)
            self._unsent.move(session_draft(self._live.id_of(bridge)))
        if draft.sandbox != bridge.transcript.sandbox:
            bridge.submit(ops.SetMode(sandbox=draft.sandbox))
        for prompt in draft.hand_over():
            bridge.submit(prompt)

    # -- wiring --

    def _connect(self) -> None:
        desk, actions = self._desk, self._desk.window.actions_
        actions.connect(actions.new_session, self._on_new_session)
        actions.connect(actions.open_folder, self._choose_folder)
        actions.connect(actions.demo, self._on_demo)
        actions.connect(actions.settings, self._setup.open_settings)
        desk.wiring.settings_requested.connect(self._setup.open_settings)
        desk.wiring.folder_requested.connect(self._welcome)
        desk.transcript.resend_requested.connect(self._on_resend)
        desk.transcript.session_requested.connect(self._on_session_chosen)
        desk.transcript.output_requested.connect(self._show_output)
        desk.transcript.picture_requested.connect(self._show_picture)
        desk.transcript.file_requested.connect(self._open_found)
        desk.wiring.job_output_requested.connect(self._show_job_output)
        desk.wiring.rules_changed.connect(self._setup.show_rules)
        self._setup.rule_revoked.connect(desk.wiring.revoke_rule)
        self._setup.demo_requested.connect(self._on_demo)
        self._setup.folder_requested.connect(self._choose_folder)
        self._setup.failed.connect(desk.banner.show_error)
        desk.banner.folder_requested.connect(self._choose_folder)
        desk.transcript.folder_requested.connect(self._choose_folder)
        desk.viewing_bar.take_over_requested.connect(self._on_take_over)
        self._viewing.freed.connect(self._on_freed)
        self._viewing.refused.connect(desk.banner.show_error)
        self._viewing.lost.connect(self._on_session_chosen)
        desk.sessions.new_requested.connect(self._on_new_session)
        desk.sessions.session_chosen.connect(self._on_session_chosen)
        desk.search.hit_chosen.connect(self._on_hit_chosen)
        desk.sessions.rename_requested.connect(self._on_rename)
        desk.composer.commands_wanted.connect(self._on_commands_wanted)
        desk.sessions.wished.connect(self._exchange.fulfil)
        actions.connect(actions.import_session, self._exchange.import_file)
        actions.connect(actions.export_session, self._on_export)
        self._exchange.listed.connect(self._on_listed)
        self._exchange.session_wanted.connect(self._on_session_chosen)
        self._exchange.removed.connect(self._on_removed)
        desk.files.file_activated.connect(self._open_file)
        desk.files.repository_changed.connect(self._on_repository)

    def _watch(self, bridge: SessionBridge) -> None:
        """Keep the session list up to date with what this session does."""
        bridge.happened.connect(self._on_happened, Qt.ConnectionType.UniqueConnection)
        bridge.failed.connect(self._desk.banner.show_error, Qt.ConnectionType.UniqueConnection)

    def _on_happened(self, event: object) -> None:
        bridge = self.sender()
        if getattr(event, "type", "") in _LISTED and isinstance(bridge, SessionBridge):
            self._try(self._refresh_session(bridge.transcript.session_id))
        if isinstance(event, CommandRun) and not event.is_error and bridge is self._desk.wiring.bridge:
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
            self._desk.composer.set_commands(await asyncio.to_thread(self._bench.slash_commands, self._workspace))

    def _offer_follow_up(self) -> None:
        """After the first turn of the demo, write down what to ask next, unless the person is writing."""
        shown = self._desk.wiring.bridge
        if (
            shown is not None
            and shown is self.sender()
            and shown.transcript.model == DEMO
            and not self._desk.composer.text()
        ):
            self._desk.composer.set_text(DEMO_FOLLOW_UP)

    def _on_new_session(self) -> None:
        if self._workspace is not None:
            self._try(self.show_folder(self._workspace))
        else:
            self._welcome()

    def _on_session_chosen(self, session_id: str) -> None:
        self._try(self.show_session(session_id))

    def _on_freed(self, is_free: bool) -> None:
        self._desk.viewing_bar.show_state(is_free=is_free)
        reason = self.tr("Take this session over to go on with it here.") if is_free else self._viewing.reason
        self._desk.composer.set_blocked(reason)

    def _on_take_over(self) -> None:
        if (shown := self._desk.wiring.bridge) is not None:
            self._try(self.show_session(shown.transcript.session_id))

    def _on_hit_chosen(self, hit: SearchHit) -> None:
        self._try(self.show_hit(hit))

    def _on_demo(self) -> None:
        self._try(self.show_demo())

    def _on_rename(self, session_id: str, title: str) -> None:
        self._exchange.file(session_id, SessionRenamed(title=title))

    def _on_listed(self) -> None:
        self._try(self.refresh_sessions())

    def _on_removed(self, session_id: str) -> None:
        shown = self._desk.wiring.bridge
        if shown is not None and shown.transcript.session_id == session_id:
            self._on_new_session()

    def _on_export(self) -> None:
        shown = self._desk.wiring.bridge
        if shown is not None and shown.transcript.session_id:
            self._exchange.export(shown.transcript.session_id)

    def _on_resend(self, turn: int, text: str, takes_files_back: bool) -> None:
        shown = self._desk.wiring.bridge
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
            self._desk.wiring.give_back([text])
            raise
        await self.refresh_sessions()
        bridge = self._desk.wiring.bridge
        if bridge is not None and bridge.transcript.session_id == copy:
            bridge.submit(ops.SubmitPrompt(text=text))

    def _on_repository(self, status: object) -> None:
        branch = status.branch if isinstance(status, RepoStatus) else None
        self._desk.window.top_bar.set_branch(branch or "")

    def _open_file(self, path: str) -> None:
        """Open a file with its application; of one that would be run, its folder: the agent may have written it."""
        file = Path(path)
        opened = file.parent if _would_run(file) else file
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(opened)))

    def _choose_folder(self) -> None:
        dialog = QFileDialog(self._desk.window, self.tr("Open a folder"))
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

    def _show_output(self, entry: ToolEntry) -> None:
        self._try(self._open_output(entry))

    async def _open_output(self, entry: ToolEntry) -> None:
        """Show everything a call printed, in a window of its own."""
        is_whole = bool(entry.output_tail) and entry.output_chars == len(entry.output_tail)
        text = entry.output_tail if entry.result is None or is_whole else entry.result.content
        if entry.result is not None and entry.result.output is not None:
            content = await self._payload(entry.result.output)
            text = await asyncio.to_thread(content.decode, "utf-8", "replace")
        printed = await asyncio.to_thread(_read_printed, text)
        OutputWindow(self._theme, entry.title, printed, self._desk.window, is_cut=len(text) > MAX_CHARS).show()

    def _show_picture(self, ref: BlobRef, entry: ToolEntry) -> None:
        self._try(self._open_picture(ref, entry))

    async def _open_picture(self, ref: BlobRef, entry: ToolEntry) -> None:
        """Show a picture large, in a window of its own."""
        content = await self._payload(ref)
        picture = await asyncio.to_thread(read_picture, content, LARGE)
        if not picture.problem:
            PictureWindow(entry.title, picture.image, picture.size, self._desk.window).show()

    async def _payload(self, ref: BlobRef) -> bytes:
        return await asyncio.to_thread(self._bench.blobs.get, ref.blob, size=ref.size)

    def _open_found(self, path: str, _line: int) -> None:
        """Open a file that a search found, as the file tree opens it. Applications are not told the line."""
        if self._workspace is None:
            return
        file = self._workspace / path
        if path.startswith(("//", "\\\\")) or not file.is_file():
            missing = self.tr("{path} is no longer there.").format(path=path)
            self._desk.banner.show_error(WorkspaceError(missing, hint=self.tr("It was moved or deleted since.")))
            return
        self._open_file(str(file))

    def _show_job_output(self, job: Job) -> None:
        self._try(self._open_job_output(job))

    async def _open_job_output(self, job: Job) -> None:
        """Show what a background command has printed so far."""
        text = await asyncio.to_thread(_read_log, job.log)
        printed = await asyncio.to_thread(_read_printed, text)
        OutputWindow(self._theme, job.command, printed, self._desk.window, is_cut=len(text) > MAX_CHARS).show()

    # -- questions and errors --

    async def _confirm_stop(self, count: int) -> bool:
        """Ask whether to stop the running turns. Closing the question is a no."""
        if self._is_asking:
            return False
        self._is_asking = True
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        box = QMessageBox(self._desk.window)
        box.setObjectName("quitDialog")
        box.setWindowTitle(self.tr("Quit"))
        box.setText(self.tr("The agent is still working. Stop it and quit?", "", count))
        box.setInformativeText(self.tr("Its processes are ended. The conversation and its changes are kept."))
        stop = box.addButton(self.tr("Stop and quit"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(self.tr("Keep working"), QMessageBox.ButtonRole.RejectRole))

        def on_finished() -> None:
            answer.set_result(box.clickedButton() is stop)

        box.finished.connect(on_finished)
        box.open()
        try:
            return await answer
        finally:
            self._is_asking = False
            box.deleteLater()

    def _try(self, work: Coroutine[object, object, object]) -> None:
        """Do it in the background; what goes wrong is shown in the banner."""
        self._spawner.spawn(self._told(work))

    async def _told(self, work: Coroutine[object, object, object]) -> None:
        try:
            await work
        except AgentError as error:
            self._desk.banner.show_error(error)

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


_STARTED = frozenset(
    {".app", ".bat", ".cmd", ".com", ".desktop", ".exe", ".jar", ".lnk", ".msi", ".ps1", ".scr", ".vbs"}
)
"""Kinds of files that desktops start when they are opened."""

_MAX_LOG_BYTES = 20_000_000
"""How much of the end of a log is read: more than its window shows."""

_LISTED = frozenset(
    {
        "session_opened",
        "session_renamed",
        "session_pinned",
        "session_archived",
        "session_forked",
        "turn_started",
        "turn_ended",
        "approval_requested",
        "approval_resolved",
    }
)
"""Events after which the session list shows something else."""


def _read_printed(text: str) -> PrintedDocument:
    return PrintedDocument.read(readable(text[-MAX_CHARS:]))


def _plausible_folder() -> Path | None:
    """The folder the application was started in, if that looks like a project and not like a desktop's default."""
    try:
        folder = current_folder()
    except WorkspaceError:
        return None
    return None if folder in (Path.home(), Path(folder.anchor)) else folder


def _last_usable(bench: Workbench) -> SessionId | None:
    """The session last used whose folder is still there."""
    found = (item for item in bench.catalog.summaries() if item.workspace)
    return next((item.id for item in found if os.path.isdir(item.workspace)), None)  # noqa: PTH112 - Path's raises


def _would_run(file: Path) -> bool:
    """Whether opening the file may start it instead of showing it."""
    # Windows has no permission to execute: there only the suffix tells.
    is_executable = sys.platform != "win32" and file.is_file() and os.access(file, os.X_OK)
    return is_executable or file.suffix.lower() in _STARTED


def _read_log(path: Path) -> str:
    """The end of what a background command has printed. Raises `StorageError` when it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _MAX_LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise StorageError(
            f"The output cannot be read: {error.strerror or error}.", hint="It is kept only while the session is open."
        ) from error
