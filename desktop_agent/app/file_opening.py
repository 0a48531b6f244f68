"""Opens files with the applications of the desktop, without ever starting one of them."""

import asyncio
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
    """Open a file of the workspace with its application; of one that would be run, its folder.

    The agent may have written it.
    """
    file = Path(path)
    opened = file.parent if _would_run(file) else file
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(opened)))


async def open_in_editor(path: Path) -> None:
    """Open a file of settings in the user's editor; where there is nothing that an editor can show, its folder."""
    shown = path if await asyncio.to_thread(path.is_file) else path.parent
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(shown)))


def _would_run(file: Path) -> bool:
    """Whether opening the file may start it instead of showing it."""
    # Windows has no permission to execute: there only the suffix shows it.
    is_executable = sys.platform != "win32" and file.is_file() and os.access(file, os.X_OK)
    return is_executable or file.suffix.lower() in _STARTED
