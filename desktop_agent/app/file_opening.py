"""Opens files of the workspace with the applications of the desktop, without ever starting one of them."""

import os
import sys
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

_STARTED = frozenset(
    {".app", ".bat", ".cmd", ".com", ".desktop", ".exe", ".jar", ".lnk", ".msi", ".ps1", ".scr", ".vbs"}
)
"""Kinds of files that desktops start when they are opened."""


def open_with_application(path: str) -> None:
    """Open a file with its application; of one that would be run, its folder: the agent may have written it."""
    file = Path(path)
    opened = file.parent if _would_run(file) else file
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(opened)))


def _would_run(file: Path) -> bool:
    """Whether opening the file may start it instead of showing it."""
    # Windows has no permission to execute: there only the suffix shows it.
    is_executable = sys.platform != "win32" and file.is_file() and os.access(file, os.X_OK)
    return is_executable or file.suffix.lower() in _STARTED
