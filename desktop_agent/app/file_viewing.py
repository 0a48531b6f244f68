"""Files of the open folder in the viewer: what opens it, and from where."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.file_changes import FileWriting
from desktop_agent.app.file_opening import open_with_application
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.shown_folder import FolderFiles
from desktop_agent.core.mentions.offers import FolderPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.ui.chat.text.file_links import names_alone
from desktop_agent.ui.files.file_history import new_paths
from desktop_agent.ui.window.session_handle import SessionHandle

if TYPE_CHECKING:
    from desktop_agent.ui.files.viewer.viewer_window import ViewerWindow


class FileViewing(Controller):
    """Shows the files that the user chooses in the tree, the review or the palette, and those that a search found."""

    def __init__(self, context: WindowContext, navigator: Navigator, files: FolderFiles, saving: FileWriting) -> None:
        super().__init__(context)
        panels = self._panels
        self._files = files
        self._saving = saving
        self._navigator = navigator
        self._spawn = spawn = panels.spawner.spawn
        self._viewer: ViewerWindow | None = None
        self._handle: SessionHandle | None = None
        """The session whose renamings are followed."""
        navigator.shown.connect(self._on_shown)
        files.listed.connect(in_background(spawn, self._link))
        panels.files.file_actions.file_activated.connect(self.open_file)
        panels.files.file_actions.application_requested.connect(open_with_application)
        panels.transcript.entry_actions.file_requested.connect(self.open_file)
        panels.review.file_open_requested.connect(self.open_file)

    def open_file(self, path: str, line: int = 0) -> None:
        """Show a file, given by its path in the open folder or an absolute one, at `line` (from 1; 0: none)."""
        root = self._navigator.workspace
        if root is None:
            return
        named = Path(path)
        inside = named.is_absolute() and named.is_relative_to(root)
        self._window().open_file(root, named.relative_to(root).as_posix() if inside else path, line)

    def may_close(self) -> bool:
        if self._viewer is None or not self._viewer.has_unsaved:
            return True
        self._viewer.ask_for_unsaved()
        return False

    # -- files that are renamed --

    def _on_happened(self, event: ev.Event) -> None:
        root = self._navigator.workspace
        if self._viewer is None or self._handle is None or root is None:
            return
        if paths := new_paths(event, self._handle.transcript.changes):
            self._viewer.follow(root, paths)

    # -- what paths in the conversation lead to --

    def _on_shown(self) -> None:
        if self._handle is not None:
            self._handle.happened.disconnect(self._on_happened)
        self._handle = self._panels.session.handle
        if self._handle is not None:
            self._handle.happened.connect(self._on_happened)
        if self._files.known is None and (root := self._navigator.workspace) is not None:
            self._panels.transcript.row_layout.files.set_files(str(root), frozenset(), {})
            self._spawn(self._list())

    async def _list(self) -> None:
        await self._files.latest()

    async def _link(self, paths: FolderPaths, _is_changed: bool) -> None:
        root, layout = self._navigator.workspace, self._panels.transcript.row_layout
        names = await asyncio.to_thread(names_alone, paths.files)
        is_current = root == self._navigator.workspace and self._files.known is paths
        if is_current and layout.files.set_files(str(root), paths.files, names):
            layout.restyle()

    def _window(self) -> "ViewerWindow":
        if self._viewer is None:
            from desktop_agent.ui.files.viewer.viewer_window import ViewerWindow  # with the first file

            self._viewer = ViewerWindow(self._theme, self._saving, self._spawn, self._panels.window)
            self._viewer.head.application_requested.connect(open_with_application)
        return self._viewer
