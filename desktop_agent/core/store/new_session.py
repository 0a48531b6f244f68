"""A new session that is written as a whole: a folder under a temporary name, which gets its own when it is complete."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.private_files import make_private_folder
from desktop_agent.core.system.staged_file import TEMPORARY_MARK, is_left_over, sync_folders

_ABANDONED = timedelta(days=1)
"""How old a temporary folder is that no process can be writing any more."""


@contextmanager
def new_session_folder(sessions: Path, session_id: SessionId, now: datetime) -> Generator[Path]:
    """Give an empty folder to write the session into. It becomes the session at the end of the block.

    When the block raises, nothing of it is left. Raises `OSError`. Blocks.
    """
    make_private_folder(sessions)
    _remove_abandoned(sessions, now)
    folder = sessions / f"{TEMPORARY_MARK}{session_id}.tmp"
    folder.mkdir(mode=0o700)
    try:
        yield folder
        sync_folders([folder])
        folder.rename(sessions / session_id)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    sync_folders([sessions])


def _remove_abandoned(sessions: Path, now: datetime) -> None:
    """Remove what processes left that were killed while they wrote."""
    for path in sessions.iterdir():
        with suppress(OSError):  # another process removes it, too
            if is_left_over(path) and path.is_dir() and path.stat().st_mtime < (now - _ABANDONED).timestamp():
                shutil.rmtree(path, ignore_errors=True)
