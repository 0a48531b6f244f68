"""Finds what can be mentioned while an `@` is typed: files, sessions and resources, beside the window's thread."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import SessionSummary

if TYPE_CHECKING:
    from desktop_agent.core.mentions.grammar import TypedMention
    from desktop_agent.core.mentions.offers import FolderPaths, MentionOffer, MentionSources

_FRESH_S = 5.0
"""How long a list of the files is taken for right. An older one answers, too, and is made anew meanwhile."""


class MentionFinding(QObject):
    """Answers the composer, the latest question only. Files are listed once a folder, and anew when that is old."""

    def __init__(
        self,
        panels: WindowPanels,
        bench: Workbench,
        navigator: Navigator,
        sessions: Callable[[], Mapping[SessionId, SessionSummary]],
        try_: Try,
    ) -> None:
        """`sessions` are those that the journals are known to hold."""
        super().__init__(panels.window)
        self._mentions = panels.composer.mentions
        self._bench = bench
        self._navigator = navigator
        self._sessions = sessions
        self._try = try_
        self._paths: FolderPaths | None = None
        self._listed_at = 0.0
        self._is_listing = False
        self._typed: TypedMention | None = None
        """The question that is still to be answered."""
        self._is_answering = False
        self._window = panels.window
        panels.composer.attach.clicked.connect(self._choose_files)
        self._mentions.wanted.connect(self._on_wanted)
        panels.composer.edit.files_given.connect(self._on_files_given)
        panels.files.mention_requested.connect(self._mentions.insert)
        navigator.workspace_changed.connect(self._on_workspace_changed)

    def _on_workspace_changed(self, _root: Path) -> None:
        self._paths = None
        self._mentions.set_known(lambda _path: False, frozenset())
        if (typed := self._mentions.typed) is not None:
            self._on_wanted(typed)

    def _on_wanted(self, typed: "TypedMention") -> None:
        self._typed = typed
        if not self._is_answering:
            self._is_answering = True
            self._try(self._answer_all())

    def _choose_files(self) -> None:
        """Let the user choose files of the folder to mention."""
        if (workspace := self._navigator.workspace) is None:
            return
        dialog = QFileDialog(self._window, self.tr("Mention files"), str(workspace))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._on_files_given)
        dialog.open()

    def _on_files_given(self, files: Sequence[str]) -> None:
        self._try(self._mention(files))

    async def _mention(self, files: Sequence[str]) -> None:
        """Mention files that were dropped or pasted. Raises `WorkspaceError` for those outside of the folder."""
        if (workspace := self._navigator.workspace) is None:
            return
        for path in await asyncio.to_thread(_below, workspace, files):
            self._mentions.insert(path)

    async def _answer_all(self) -> None:
        try:
            while (typed := self._typed) is not None:
                self._typed = None
                await self._answer(typed)
        finally:
            self._is_answering = False

    async def _answer(self, typed: "TypedMention") -> None:
        workspace = self._navigator.workspace
        if workspace is None:
            return
        if self._paths is None:
            await self._list(workspace)
        elif asyncio.get_running_loop().time() - self._listed_at > _FRESH_S and not self._is_listing:
            self._try(self._list_again(workspace, typed))
        if self._typed is not None or self._paths is None:
            return  # something else is being typed by now
        offers = await self._completions(workspace, typed) or await asyncio.to_thread(
            _offers_for, typed, self._sources(workspace, self._paths)
        )
        self._mentions.show(typed, offers)

    async def _list_again(self, workspace: Path, typed: "TypedMention") -> None:
        before = self._paths
        await self._list(workspace)
        if self._paths is not None and before is not None and self._paths.files != before.files:
            self._on_wanted(typed)

    async def _list(self, workspace: Path) -> None:
        """List the files of the folder, without those that are ignored. A folder that cannot be listed has none."""
        self._is_listing = True
        try:
            paths = await _paths_of(workspace, self._bench.environ)
        finally:
            self._is_listing = False
        if workspace == self._navigator.workspace:
            self._paths, self._listed_at = paths, asyncio.get_running_loop().time()
            servers = self._bench.shared_tools.servers.connections(workspace)
            names = (connection.definition.name for connection in servers)
            self._mentions.set_known(paths.has, frozenset(names))

    def _sources(self, workspace: Path, paths: "FolderPaths") -> "MentionSources":
        from desktop_agent.core.mentions.offers import MentionSources, OfferedSession

        here = str(workspace.resolve())
        listed = [summary for summary in self._sessions().values() if summary.is_listed and not summary.is_archived]
        listed.sort(key=lambda summary: (summary.workspace == here, summary.active_at), reverse=True)
        servers = self._bench.shared_tools.servers.connections(workspace)
        return MentionSources(
            paths=paths,
            sessions=tuple(OfferedSession(each.id, each.title, Path(each.workspace).name) for each in listed),
            servers=tuple(connection.status for connection in servers),
        )

    async def _completions(self, workspace: Path, typed: "TypedMention") -> "tuple[MentionOffer, ...]":
        """Return what a server says that the part of a template may be; empty for anything else that is typed."""
        from desktop_agent.core.base.errors import ServerError
        from desktop_agent.core.mentions.templates import completed, part_typed

        connections = self._bench.shared_tools.servers.connections(workspace)
        server = next((each for each in connections if typed.source and each.definition.name == typed.source), None)
        if server is None or server.status.facts is None or not server.status.facts.has_completions:
            return ()
        part = part_typed(typed.target, server.status.templates)
        if part is None or server.status.state != "ready":
            return ()
        try:
            values = await server.complete(part.template, part.name, part.value, dict(part.others))
        except ServerError:
            return ()  # the user types on; whether it can be fetched is said when the message is sent
        return completed(typed.source, part, values)


def _below(workspace: Path, files: Sequence[str]) -> list[str]:
    """Return the paths of files relative to the workspace, folders with a slash. Blocks.

    Raises `WorkspaceError` when one is not in there.
    """
    root = workspace.resolve()
    found: list[str] = []
    for file in files:
        path = Path(file)
        place = path.parent.resolve() / path.name
        if not place.is_relative_to(root) or place == root:
            raise WorkspaceError(
                f"{path.name} is outside of the folder, so it was not mentioned.",
                hint="Copy it into the folder, or open its own folder.",
            )
        found.append(place.relative_to(root).as_posix() + ("/" if place.is_dir() else ""))
    return found


def _offers_for(typed: "TypedMention", sources: "MentionSources") -> "tuple[MentionOffer, ...]":
    from desktop_agent.core.mentions.offers import offers_for

    return offers_for(typed, sources)


async def _paths_of(workspace: Path, environ: Mapping[str, str]) -> "FolderPaths":
    from desktop_agent.core.base.clock import SystemClock
    from desktop_agent.core.base.errors import ToolError
    from desktop_agent.core.mentions.offers import FolderPaths
    from desktop_agent.core.policy.boundary import Boundary
    from desktop_agent.core.system.child_environment import child_environment
    from desktop_agent.core.system.processes.runner import ProcessRunner
    from desktop_agent.core.tools.files.listing import ListingGround, list_paths

    boundary = await asyncio.to_thread(Boundary, workspace)
    processes = ProcessRunner(SystemClock())
    try:
        listing = await list_paths(boundary.root, ".", ListingGround(boundary, processes, child_environment(environ)))
    except ToolError:
        return FolderPaths()
    finally:
        await processes.aclose()
    return await asyncio.to_thread(FolderPaths, listing.paths)
