"""Opens files with the desktop's applications, but never a file that could run as a program."""

import asyncio
import os
import sys
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

_SHOWN = frozenset(
    """
    .txt .text .log .md .markdown .rst .csv .tsv .diff .patch
    .png .jpg .jpeg .jpe .gif .bmp .dib .webp .tif .tiff .ico .heic .heif .avif .jxl .psd .xcf .ppm .pgm .pbm .tga .exr
    .pdf .djvu .epub .docx .xlsx .pptx
    .mp3 .wav .flac .ogg .oga .opus .m4a .aac .mid .midi
    .mp4 .m4v .mov .mkv .webm .avi .mpg .mpeg .ogv
    .ttf .otf .woff .woff2
    """.split()  # noqa: SIM905 - words, to be read
)
"""The suffixes of files that applications only show or play. Others can run something when they are opened: Debian
opens `.py` with Python, and Windows `.js` with its script host. Web pages and SVG pictures contain scripts, older kinds
of documents contain macros, and archives anything."""


def open_with_application(path: str) -> None:
    """Open a file if its application only shows it, otherwise open its folder. Files of the agent must not run."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(_opened(Path(path)))))


async def open_in_editor(path: Path) -> None:
    can_show = await asyncio.to_thread(_is_settings_file, path)
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path if can_show else path.parent)))


def _is_settings_file(path: Path) -> bool:
    """Whether an editor can open the file safely. The agent can turn a project's file into a link to a program."""
    real = Path(os.path.realpath(path))
    return path.is_file() and real.suffix.lower() == path.suffix.lower() and not _is_executable(real)


def _opened(file: Path) -> Path:
    real = Path(os.path.realpath(file))  # desktops use the name of the link or of its target
    if real.is_dir():
        return _plain_folder(real)
    return file if _is_only_shown(file) and _is_only_shown(real) else _plain_folder(file.parent)


def _is_only_shown(file: Path) -> bool:
    return file.is_file() and not _is_executable(file) and file.suffix.lower() in _SHOWN


def _is_executable(file: Path) -> bool:
    # Windows has no execute permission: only the name matters.
    return sys.platform != "win32" and os.access(file, os.X_OK)


def _plain_folder(folder: Path) -> Path:
    """Return the folder, or the nearest parent that macOS would not run as an application."""
    if sys.platform in ("darwin", "win32"):
        while (folder.suffix or (folder / "Contents").exists()) and folder != folder.parent:
            folder = folder.parent
    return folder
