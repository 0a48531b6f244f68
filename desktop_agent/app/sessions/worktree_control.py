"""Worktrees in the window: begins sessions in them, brings their changes back, and removes and restores them."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QMenu
from shiboken6 import isValid

from desktop_agent.app.controller import Controller, OneAtATime, WindowContext, in_background
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.sessions.draft_autosave import DraftAutosave
from desktop_agent.app.sessions.open_sessions import LiveSessions
from desktop_agent.app.sessions.window_sessions import SessionListUpdater
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.core.base.errors import AgentError, SessionBusyError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.store.drafts import folder_draft, session_draft
from desktop_agent.core.system.git.repository import RepoStatus
from desktop_agent.core.worktrees.bring_back import find_offer, unmerged_in
from desktop_agent.core.worktrees.worktrees import KEPT, NewWorktree, SeenWorktree
from desktop_agent.ui.sessions.worktrees import WorktreesDialog, WorktreeSheet, WorktreeView
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.widgets.banner import few_lines
from desktop_agent.ui.window.session_handle import DraftSession


class WorktreeControl(Controller):
    def __init__(
        self,
        context: WindowContext,
        live: LiveSessions,
        listed: SessionListUpdater,
        navigator: Navigator,
        drafts: DraftAutosave,
        default_model: Callable[[], ModelRef],
    ) -> None:
        super().__init__(context)
        self._live = live
        self._listed = listed
        self._navigator = navigator
        self._drafts = drafts
        self._default_model = default_model
        self._sheet: WorktreeSheet | None = None
        self._dialog: WorktreesDialog | None = None
        self._making = OneAtATime(self._launch, self._say_in_sheet)
        self._bringing = OneAtATime(self._launch, self._panels.conversation.banner.show_error)
        self._listing = OneAtATime(self._launch, self._say_in_dialog)
        panels, actions, self._bar = self._panels, self._panels.window.actions_, self._panels.conversation.worktree_bar
        menu = QMenu(panels.sessions.more_button)
        menu.setObjectName("moreSessionsMenu")
        menu.addActions([actions.new_worktree, actions.try_with, actions.variants, actions.worktrees])
        panels.sessions.more_button.setMenu(menu)
        actions.new_worktree.setEnabled(False)
        actions.new_worktree.triggered.connect(in_background(self._launch, self._ask))
        actions.bring_back.triggered.connect(self._bring_shown_back)
        actions.worktrees.triggered.connect(self._open)
        panels.sessions.bring_back_requested.connect(self._bring_back)
        panels.files.repository_changed.connect(self._on_repository)
        self._bar.restore_requested.connect(in_background(self._launch, self._restore))
        navigator.shown.connect(self._on_shown)
        self._on_shown()

    def _on_repository(self, status: object) -> None:
        can_begin = isinstance(status, RepoStatus) and bool(status.commit)
        self._panels.window.actions_.new_worktree.setEnabled(can_begin)
        self._panels.sessions.more_button.setVisible(can_begin)

    # -- a new session --

    async def _ask(self) -> None:
        if (home := self._navigator.home) is None:
            return
        name = await self._bench.worktrees.free_name()
        state = await self._panels.diffs.git_source().look(str(home))
        if self._sheet is not None:  # it was asked for twice
            return
        branches = [*filter(None, (state.branch, *state.branches))]
        sheet = self._sheet = WorktreeSheet(self._theme, str(home), name, branches, self._panels.window)
        sheet.wanted.connect(partial(self._on_wanted, home, sheet))
        sheet.finished.connect(self._on_sheet_closed)
        sheet.open()

    def _on_wanted(self, home: Path, sheet: WorktreeSheet, name: str, base: str) -> None:
        self._making.begin(self._make(home, sheet, name, base))

    async def _make(self, home: Path, sheet: WorktreeSheet, name: str, base: str) -> None:
        options = SessionOptions(
            model=self._default_model(), worktree=NewWorktree(name=name, base=base), on_set_up=sheet.show_output
        )
        session_id = await self._bench.opener.create_closed(home, options)
        self._making.let_end()
        if isinstance(self._panels.session.handle, DraftSession) and self._navigator.home == home:
            await self._drafts.fetch(session_draft(session_id))
            self._drafts.adopt(folder_draft(home), session_draft(session_id))
        sheet.accept()
        await self._navigator.show_session(session_id)
        self._panels.composer.setFocus()

    def _say_in_sheet(self, error: AgentError) -> None:
        if self._sheet is not None:
            self._sheet.say(error)

    def _on_sheet_closed(self) -> None:
        self._sheet = None
        self._making.cancel()

    # -- bringing back --

    def _bring_shown_back(self) -> None:
        if (worktree := self._panels.session.transcript.session.worktree) is not None:
            self._bring_back(worktree.name)

    def _bring_back(self, name: str) -> None:
        self._bringing.begin(self._offer(name))

    async def _offer(self, name: str) -> None:
        offer = await find_offer(self._bench.worktrees, self._bench.catalog, name)
        if offer.transitions:
            options = SessionOptions(model=self._default_model(), brings_back=offer)
            session_id = await self._bench.opener.create_closed(offer.folder, options)
            self._bringing.let_end()
            if not await self._navigator.show_session(session_id):
                return
            self._panels.window.actions_.next_undecided.trigger()
        left = [f"{one.path}: {core_words(one.reason)}" for one in offer.left_out]
        if left:
            one, many = "%n file cannot be brought back", "%n files cannot be brought back"
            self._bar.tell(plural("WorktreeControl", len(left), one, many), "\n".join(few_lines(left)))
        elif not offer.transitions:
            hint = self.tr("The folder {0} has all that the worktree has.").format(offer.folder)
            self._bar.tell(self.tr("Nothing new to bring back from {0}").format(name), hint)

    # -- the shown session --

    def _on_shown(self) -> None:
        worktree = self._panels.session.transcript.session.worktree
        self._panels.window.actions_.bring_back.setEnabled(worktree is not None)
        self._bar.hide()
        if worktree is not None:
            self._launch(self._look(worktree.name))

    async def _look(self, name: str) -> None:
        """Say what happened to the shown session's worktree, unless it is still there."""
        seen: SeenWorktree | None = None
        with suppress(UsageError):
            seen = await self._bench.worktrees.find(name)
        shown = self._panels.session.transcript.session.worktree
        if shown is None or shown.name != name or (seen is not None and seen.state == "made"):
            return
        hint = self.tr("You can read this session. To go on with it, restore the worktree.")
        match seen.state if seen is not None else "":
            case "trashed":
                self._bar.tell(self.tr("The worktree {0} is in the trash.").format(name), hint, name)
            case "missing":
                self._bar.tell(self.tr("The folder of the worktree {0} is gone.").format(name), hint, name)
            case "unlinked":
                self._bar.tell(self.tr("git does not know the worktree {0} any more.").format(name), hint, name)
            case "moved" if seen is not None:
                words = self.tr("Move it back to go on: git worktree move {0} {1}")
                hint = words.format(seen.path, seen.worktree.path)
                self._bar.tell(self.tr("The worktree {0} was moved.").format(name), hint)
            case _:
                hint = self.tr("You can read this session. Its branch was {0}.").format(shown.branch)
                self._bar.tell(self.tr("The worktree {0} was deleted.").format(name), hint)

    # -- all worktrees --

    def _open(self) -> None:
        if self._dialog is None:
            self._dialog = WorktreesDialog(self._theme, self._panels.window)
            self._dialog.asked.connect(in_background(self._launch, self._do))
            self._dialog.finished.connect(self._on_dialog_closed)
            self._dialog.open()
            self._listing.begin(self._list(self._dialog))

    def _on_dialog_closed(self) -> None:
        self._dialog = None
        self._listing.cancel()

    async def _list(self, dialog: WorktreesDialog) -> None:
        bench, home = self._bench, self._navigator.home or Path("/")
        found = sorted(await bench.worktrees.all(), key=lambda seen: seen.worktree.made_at, reverse=True)
        found.sort(key=lambda seen: not home.is_relative_to(seen.worktree.main))
        dialog.show_worktrees([self._view(seen) for seen in found])
        for seen in found:
            if seen.state == "made":
                with suppress(AgentError):  # its repository is gone
                    unmerged = await unmerged_in(bench.worktrees, bench.catalog, seen.worktree.name)
                    dialog.show_unmerged(seen.worktree.name, (unmerged.files, unmerged.commits))

    def _view(self, seen: SeenWorktree) -> WorktreeView:
        worktree = seen.worktree
        summary = self._listed.known().get(worktree.session_id)
        title = (summary.title or QCoreApplication.translate("SessionWords", "New session")) if summary else ""
        until = worktree.trashed_at + KEPT if worktree.trashed_at is not None else None
        return WorktreeView(
            worktree.name, worktree.main, str(seen.path), worktree.branch, seen.state, until, worktree.session_id, title
        )

    async def _do(self, action: str, name: str) -> None:
        dialog = self._dialog
        assert dialog is not None
        dialog.say(None)
        try:
            match action:
                case "open":
                    dialog.accept()
                    self._navigator.go_to((await self._bench.worktrees.find(name)).worktree.session_id)
                case "bring_back":
                    dialog.accept()
                    self._bring_back(name)
                case "remove":
                    session_id = (await self._bench.worktrees.find(name)).worktree.session_id
                    if self._live.is_running(session_id):
                        title = "The agent is working in this session, so the worktree was not removed."
                        raise SessionBusyError(title, hint="Stop it first.")
                    await self._live.close(session_id)
                    try:
                        await self._bench.worktrees.remove(name)
                    finally:
                        await self._show_again(session_id)
                case _:
                    await self._restore(name)
        except AgentError as error:
            self._say_in_dialog(error)
        if isValid(dialog) and dialog is self._dialog:
            self._listing.begin(self._list(dialog))

    def _say_in_dialog(self, error: AgentError) -> None:
        if self._dialog is not None:
            self._dialog.say(error)

    async def _restore(self, name: str) -> None:
        seen = await self._bench.worktrees.restore(name)
        session_id = seen.worktree.session_id
        if not self._live.is_running(session_id):
            await self._live.close(session_id)
            await self._show_again(session_id)

    async def _show_again(self, session_id: SessionId) -> None:
        if session_id and self._navigator.chosen == session_id:  # the user may have gone elsewhere meanwhile
            await self._navigator.show_session(session_id)
