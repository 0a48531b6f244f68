"""Renaming and deleting from the tree: as changes of the user, which can be taken back at once."""

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.file_writing import FileWriting
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.protocol.ops import MoveFile, WriteFile
from desktop_agent.core.system.files import FileState, read_state
from desktop_agent.ui.files.file_marks import displayed


class FileChanging(QObject):
    """Does what the menu of the tree asks for, and says below the tree what came of it."""

    def __init__(self, panels: WindowPanels, navigator: Navigator, saving: FileWriting, try_: Try) -> None:
        super().__init__(panels.window)
        self._files = panels.files
        self._navigator = navigator
        self._saving = saving
        self._try = try_
        panels.files.rename_requested.connect(self._on_rename)
        panels.files.delete_requested.connect(self._on_delete)
        panels.files.done.undo_requested.connect(saving.undo)

    def _on_rename(self, path: str, to: str) -> None:
        if (root := self._navigator.workspace) is not None:
            self._try(self._rename(root, path, to))

    def _on_delete(self, path: str) -> None:
        if (root := self._navigator.workspace) is not None:
            self._try(self._delete(root, path))

    async def _rename(self, root: Path, path: str, to: str) -> None:
        state = await asyncio.to_thread(_state, root, path)
        op = MoveFile(path=path, to=to, expected=state.digest, is_folder=state.kind == "folder")
        problem, changes = await self._saving.write(root, op)
        self._say(problem or self.tr("{0} is {1} now.").format(path, to), changes)

    async def _delete(self, root: Path, path: str) -> None:
        state = await asyncio.to_thread(_state, root, path)
        problem, changes = await self._saving.write(root, WriteFile(path=path, expected=state.digest, content=None))
        self._say(problem or self.tr("{0} was deleted.").format(path), changes)

    def _say(self, words: str, changes: tuple[str, ...]) -> None:
        self._files.done.say(displayed(words), changes)
        self._files.refresh()


def _state(root: Path, path: str) -> FileState:
    """Return what is there now. Raises `WorkspaceError` when it is gone or cannot be read. Blocks."""
    try:
        state = read_state(root / path, with_special=True)
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be read.", hint="Nothing was done.", detail=str(error)) from error
    if state is None:
        raise WorkspaceError(f"{path} is no longer there.", hint="It was moved or deleted since.")
    return state
