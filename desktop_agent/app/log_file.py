"""The window's log: what the application noticed about itself, for whoever looks into a problem.

It holds no conversation and no file contents, and the libraries that handle keys may only warn.
"""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

_NAME: Final = "desktop-agent.log"
_MAX_BYTES: Final = 1_000_000
_KEPT: Final = 3
_QUIET: Final = ("anthropic", "httpx2", "httpcore2", "asyncio")
"""At `DEBUG` some of them write down request headers."""


class _LogFile(RotatingFileHandler):
    """A log that fails in silence: a full disk is told where it matters, not once for each line here."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name of the method it overrides
        pass


def open_log(folder: Path) -> logging.Handler:
    """Start logging to a file in `folder`, turned over at 1 MB; `close_log` ends it. Blocks shortly."""
    handler: logging.Handler
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = _LogFile(folder / _NAME, maxBytes=_MAX_BYTES, backupCount=_KEPT, encoding="utf-8")
    except OSError:
        handler = logging.NullHandler()  # a disk that takes no log must not keep the window from opening
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    logging.getLogger("desktop_agent").setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    return handler


def close_log(handler: logging.Handler) -> None:
    """Stop logging to it."""
    logging.getLogger().removeHandler(handler)
    handler.close()
