"""What the panels say of the open folder: its name, files and branch, its slash commands, what confines commands."""

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.system.git.repository import RepoStatus


class ShownFolder(QObject):
    """Follows which folder is open, and finds out about it what the panels do not read themselves."""

    def __init__(self, panels: WindowPanels, bench: Workbench, navigator: Navigator, try_: Try) -> None:
        super().__init__(panels.window)
        self._panels = panels
        self._bench = bench
        self._navigator = navigator
        self._try = try_
        navigator.workspace_changed.connect(self._on_workspace_changed)
        panels.files.repository_changed.connect(self._on_repository)
        panels.composer.commands.wanted.connect(self._on_commands_wanted)

    def _on_workspace_changed(self, root: Path) -> None:
        self._panels.files.set_workspace(root)
        self._panels.sessions.set_workspace(str(root))
        self._panels.search.set_workspace(str(root))
        self._panels.window.top_bar.set_workspace(root)
        self._panels.window.top_bar.set_branch("")
        self._try(self._look_for_sandbox(root))

    async def _look_for_sandbox(self, root: Path) -> None:
        """Find out whether commands can be confined in this folder, and say so where the sandbox is chosen."""
        search, shell = await asyncio.gather(self._bench.sandbox_search(root), self._bench.shell_kind(root))
        if root != self._navigator.workspace:
            return
        self._panels.judges.is_sandbox_available = search.sandbox is not None
        self._panels.judges.shell = shell
        reasons = " ".join(f"{report.name}: {report.reason} {report.hint}".strip() for report in search.reports)
        self._panels.pickers.show_sandbox_availability(search.sandbox is not None, reasons)

    def _on_repository(self, status: object) -> None:
        branch = status.branch if isinstance(status, RepoStatus) else None
        self._panels.window.top_bar.set_branch(branch or "")

    def _on_commands_wanted(self) -> None:
        self._try(self._show_commands())

    async def _show_commands(self) -> None:
        """Tell the composer the commands, those in files as they are now."""
        if (workspace := self._navigator.workspace) is not None:
            self._panels.composer.commands.show(await asyncio.to_thread(self._bench.slash_commands, workspace))
