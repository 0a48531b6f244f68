"""The open folder: the list of its files, shared by all searches, and its display in the panels."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from PySide6.QtCore import Signal

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.navigator import Navigator
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.file_names import legible_name
from desktop_agent.core.mentions.offers import FolderPaths
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.tools.files.listing import list_paths
from desktop_agent.core.tools.files.ripgrep import SearchGround

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
