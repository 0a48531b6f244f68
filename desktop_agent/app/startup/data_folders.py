"""Protects the application's folders from other users, and writes its log there."""

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.secrets import MaskingFormatter
from desktop_agent.core.system.private_files import close_to_others, make_private_file, make_private_folder
from desktop_agent.ui.window.main_window import LAYOUT_NAME


def close_data_folders(paths: AppPaths) -> None:
    """Deny other users access to the folders, and to the layout file that Qt is about to write. Blocks."""
    close_to_others(paths.roots)
    with suppress(OSError):  # Qt keeps the mode of an existing file, but makes new files readable for all users
        make_private_folder(paths.config)
        make_private_file(paths.config / LAYOUT_NAME)


_NAME: Final = "desktop-agent.log"
_MAX_BYTES: Final = 1_000_000
_KEPT: Final = 3
_QUIET: Final = ("httpx2", "httpcore2", "asyncio")
"""The loggers kept at `WARNING`, because at `DEBUG` some of them write request headers."""


class _LogFile(RotatingFileHandler):
    """A log that fails silently, so that a full disk is not reported for each line of a log."""

    def _open(self) -> TextIOWrapper:
        make_private_file(Path(self.baseFilename))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name of the method it overrides
        pass


class WindowLog:
    """Logs to a file in `folder`, rotated at 1 MB, until `close`. Construction and `close` block briefly."""

    def __init__(self, folder: Path, environ: Mapping[str, str] = os.environ) -> None:
        """`environ` is the environment. Its API keys are masked in every line."""
        self._handler = _open(folder)
        self._handler.setFormatter(MaskingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s", environ))
        levels = {"desktop_agent": logging.INFO} | dict.fromkeys(_QUIET, logging.WARNING)
        self._levels_before = {name: logging.getLogger(name).level for name in levels}
        _set_levels(levels)
        logging.getLogger().addHandler(self._handler)

    def close(self) -> None:
        logging.getLogger().removeHandler(self._handler)
        _set_levels(self._levels_before)
        self._handler.close()


def _open(folder: Path) -> logging.Handler:
    try:
        make_private_folder(folder)
        return _LogFile(folder / _NAME, maxBytes=_MAX_BYTES, backupCount=_KEPT, encoding="utf-8")
    except OSError:
        return logging.NullHandler()  # a disk that cannot store a log must not keep the window from opening


def _set_levels(levels: Mapping[str, int]) -> None:
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
