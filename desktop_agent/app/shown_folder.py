"""The open folder: its files, listed once for all searches, its display in the panels, and its branches in git."""

import asyncio
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal

from desktop_agent.app.controller import Controller, OneAtATime, WindowContext, in_background
from desktop_agent.app.navigator import Navigator
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, ToolError
from desktop_agent.core.base.file_names import legible_name
from desktop_agent.core.mentions.offers import FolderPaths
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.git.branches import list_branches, plan_push, push, switch_branch
from desktop_agent.core.system.git.repository import Push, RepoStatus
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.tools.files.listing import list_paths
from desktop_agent.core.tools.files.ripgrep import SearchGround
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.window.branch_popup import BranchPopup, Busy, PushQuestion

_FRESH_S = 5.0


class FolderFiles(Controller):
    """Lists the files that git does not ignore: on first use, and again once the list is stale."""

    listed = Signal(object, bool)  # the `FolderPaths`, and whether they differ from the previous ones

    def __init__(self, context: WindowContext, navigator: Navigator) -> None:
        super().__init__(context)
        self._navigator = navigator
        self._listed_at = 0.0
        self._listing = asyncio.Lock()
        self.known: FolderPaths | None = None
        navigator.workspace_changed.connect(self._on_workspace_changed)

    async def latest(self) -> FolderPaths | None:
        """Return the files, at once if they were listed before. Return `None` if the folder was closed or changed."""
        workspace = self._navigator.workspace
        if workspace is None:
            return None
        if self.known is None:
            await self._list(workspace, is_first=True)
        elif asyncio.get_running_loop().time() - self._listed_at > _FRESH_S and not self._listing.locked():
            self._launch(self._list(workspace))
        return self.known

    def _on_workspace_changed(self, _root: Path) -> None:
        self.known = None

    async def _list(self, workspace: Path, *, is_first: bool = False) -> None:
        """List the files; an unreadable folder has none. With `is_first`, only if there is no list yet."""
        async with self._listing:
            if is_first and self.known is not None:
                return
            paths = await _paths_of(workspace, self._bench.environ)
            if workspace == self._navigator.workspace:
                before, self.known = self.known, paths
                self._listed_at = asyncio.get_running_loop().time()
                self.listed.emit(paths, before is not None and before.files != paths.files)


async def _paths_of(workspace: Path, environ: Mapping[str, str]) -> FolderPaths:
    boundary = await asyncio.to_thread(Boundary, workspace)
    processes = ProcessRunner(SystemClock())
    try:
        listing = await list_paths(boundary.root, ".", SearchGround(boundary, processes, child_environment(environ)))
    except (ToolError, OSError):  # also if the folder is removed meanwhile
        return FolderPaths()
    finally:
        await processes.aclose()
    return await asyncio.to_thread(FolderPaths, [legible_name(path) for path in listing.paths])


class ShownFolder(Controller):
    def __init__(self, context: WindowContext, navigator: Navigator) -> None:
        super().__init__(context)
        self._navigator = navigator
        navigator.workspace_changed.connect(self._on_workspace_changed)
        self._panels.composer.commands.wanted.connect(in_background(self._launch, self._show_commands))

    def _on_workspace_changed(self, root: Path) -> None:
        self._panels.files.set_workspace(root)
        self._panels.sessions.set_workspace(str(self._navigator.home))
        self._panels.search.set_workspace(str(root))
        self._panels.window.top_bar.set_workspace(root)
        self._launch(self._look_for_sandbox(root))

    async def _look_for_sandbox(self, root: Path) -> None:
        search, shell = await asyncio.gather(self._bench.sandbox_search(root), self._bench.shell_kind(root))
        if root != self._navigator.workspace:
            return
        self._panels.judges.is_sandbox_available = search.sandbox is not None
        self._panels.judges.shell = shell
        reasons = " ".join(f"{report.name}: {report.reason} {report.hint}".strip() for report in search.reports)
        self._panels.pickers.show_sandbox_availability(search.sandbox is not None, reasons)

    async def _show_commands(self) -> None:
        if (workspace := self._navigator.workspace) is not None:
            known = await asyncio.to_thread(self._bench.slash_commands, workspace)
            self._panels.composer.commands.show((*known, *self._of_agent({one.name for one in known})))

    def _of_agent(self, known: Collection[str]) -> Iterator[Declaration]:
        agent = self._panels.session.transcript.session.agent
        if agent is None:
            return
        for command in agent.commands:
            if command.name.lower() not in known:
                yield Declaration(
                    name=command.name,
                    arguments=f"[{command.hint}]" if command.hint else "",
                    summary=command.description or agent.title,
                    origin="agent",
                )


_MOST_LINES = 12


class Branches(Controller):
    def __init__(self, context: WindowContext, navigator: Navigator, is_working_in: Callable[[Path], bool]) -> None:
        super().__init__(context)
        self._navigator = navigator
        self._is_working_in = is_working_in
        self._status = RepoStatus()
        self._popup: BranchPopup | None = None
        self._work = OneAtATime(self._launch, self._fail)
        self._panels.window.top_bar.branch_button.clicked.connect(self._toggle)
        self._panels.window.actions_.choose_branch.triggered.connect(self._open)
        self._panels.files.repository_changed.connect(self._on_repository)
        navigator.workspace_changed.connect(self._on_workspace_changed)

    def _on_repository(self, status: object) -> None:
        self._status = status if isinstance(status, RepoStatus) else RepoStatus()
        self._panels.window.top_bar.set_branch(status if isinstance(status, RepoStatus) else None)
        if self._popup is not None:
            self._popup.show_status(self._status)

    def _on_workspace_changed(self, _root: Path) -> None:
        self._panels.window.top_bar.set_branch(None)
        if self._popup is not None:
            self._popup.close_popup()

    def _toggle(self) -> None:
        if self._popup is not None and self._popup.is_open:
            self._popup.close_popup()
        else:
            self._open()

    def _open(self) -> None:
        root, button = self._navigator.workspace, self._panels.window.top_bar.branch_button
        if root is None or not button.isVisible():
            return
        popup = self._popup = self._popup or self._build()
        popup.show_status(self._status)
        popup.open_popup()
        self._panels.files.refresh()
        self._launch(self._list(root))

    def _build(self) -> BranchPopup:
        popup = BranchPopup(self._theme, self._panels.window, self._panels.window.top_bar.branch_button)
        popup.switch_requested.connect(self._switch)
        popup.push_requested.connect(self._ask_to_push)
        popup.stop_requested.connect(self._work.cancel)
        return popup

    async def _list(self, root: Path) -> None:
        branches = await list_branches(root)
        if self._popup is not None and root == self._navigator.workspace:
            self._popup.show_branches(branches)

    def _switch(self, name: str, is_new: bool) -> None:
        root = self._navigator.workspace
        if root is None:
            return
        if self._is_working_in(root):
            self._fail(AgentError("The agent is working, so the branch stays.", hint="Stop it first."))
        else:
            self._work.begin(self._carry_out_switch(root, name, is_new=is_new))

    async def _carry_out_switch(self, root: Path, name: str, *, is_new: bool) -> None:
        self._begin("switch", self.tr("Switching to {0}…").format(name))
        try:
            await switch_branch(root, name, self._tell, is_new=is_new)
        finally:
            self._end()
        if self._popup is not None:
            self._popup.close_popup()

    def _ask_to_push(self) -> None:
        if (root := self._navigator.workspace) is not None:
            self._work.begin(self._plan_push(root))

    async def _plan_push(self, root: Path) -> None:
        planned = await plan_push(root)
        question = PushQuestion(self._panels.window, planned)
        question.add_answer(self.tr("Push"), "pushButton", partial(self._push, root, planned))
        question.ask()

    def _push(self, root: Path, planned: Push) -> None:
        self._work.begin(self._carry_out_push(root, planned))

    async def _carry_out_push(self, root: Path, planned: Push) -> None:
        self._begin("push", self.tr("Pushing {0} to {1}…").format(planned.branch, planned.remote))
        said = ""
        try:
            await push(root, planned, self._tell)
            said = self.tr("{0} was pushed to {1}.").format(planned.branch, planned.remote)
        except asyncio.CancelledError:
            said = self.tr("The push was stopped. {0} may have the commits already.").format(planned.remote)
            raise
        finally:
            self._end(said)

    def _begin(self, busy: Busy, words: str) -> None:
        popup = self._popup = self._popup or self._build()
        popup.set_busy(busy)
        popup.say(words)
        if not popup.is_open:
            popup.open_popup()

    def _tell(self, text: str) -> None:
        lines = [line for line in re.split(r"[\r\n]+", text) if line.strip()]
        if lines and self._popup is not None:
            self._popup.say(lines[-1].strip())

    def _end(self, words: str = "") -> None:
        if self._popup is not None:
            self._popup.set_busy("")
            self._popup.say(words)
        if (root := self._navigator.workspace) is not None:
            self._panels.files.refresh()
            self._launch(self._list(root))

    def _fail(self, error: AgentError) -> None:
        if self._popup is not None and self._popup.is_open:
            details = error.detail.splitlines()[:_MOST_LINES]
            self._popup.say("\n".join(filter(None, (core_words(error.title), core_words(error.hint), *details))))
        else:
            self._panels.conversation.banner.show_error(error)
