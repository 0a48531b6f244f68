"""Opens files of the workspace with the applications of the desktop, without ever starting one of them."""

import os
import sys
from pathlib import Path

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from desktop_agent.app.navigator import Navigator
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.errors import WorkspaceError

_STARTED = frozenset(
    {".app", ".bat", ".cmd", ".com", ".desktop", ".exe", ".jar", ".lnk", ".msi", ".ps1", ".scr", ".vbs"}
)
"""Kinds of files that desktops start when they are opened."""


class FileOpening(QObject):
    """Opens the files that the user chooses in the tree or the review, and those that a search found."""

    def __init__(self, panels: WindowPanels, navigator: Navigator) -> None:
        super().__init__(panels.window)
        self._banner = panels.conversation.banner
        self._navigator = navigator
        panels.files.file_activated.connect(self._on_file_activated)
        panels.transcript.entry_actions.file_requested.connect(self.open_in_workspace)
        panels.review.file_open_requested.connect(self.open_in_workspace)

    def _on_file_activated(self, path: str) -> None:
        _open_file(Path(path))

    def open_in_workspace(self, path: str, _line: int = 0) -> None:
        """Open it as the file tree opens it. Applications do not get the line."""
        if self._navigator.workspace is None:
            return
        file = self._navigator.workspace / path
        if path.startswith(("//", "\\\\")) or not file.is_file():
            missing = self.tr("{path} is no longer there.").format(path=path)
            self._banner.show_error(WorkspaceError(missing, hint=self.tr("It was moved or deleted since.")))
            return
        _open_file(file)


def _open_file(file: Path) -> None:
    """Open a file with its application; of one that would be run, its folder: the agent may have written it."""
    opened = file.parent if _would_run(file) else file
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(opened)))


def _would_run(file: Path) -> bool:
    """Whether opening the file may start it instead of showing it."""
    # Windows has no permission to execute: there only the suffix shows it.
    is_executable = sys.platform != "win32" and file.is_file() and os.access(file, os.X_OK)
    return is_executable or file.suffix.lower() in _STARTED
