"""Once a day, while the window is idle, removes stored contents that no session refers to."""

import asyncio
import logging
import os
import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Final

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.capture.git_objects import BASELINES, drop_stranded
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.collect import Collected, collect
from desktop_agent.core.store.session_upkeep import empty_trash
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.worktrees.worktrees import Worktrees
from desktop_agent.ui.runtime.garbage import return_memory

DELAY_S: Final = 60.0
_INTERVAL: Final = timedelta(days=1)
_STAMP_NAME: Final = "storage-collected"
_BREATH_S: Final = 0.002

_log = logging.getLogger(__name__)


async def tidy(blobs: Blobs, sessions: Path, cache: Path, clock: Clock, worktrees: Worktrees) -> None:
    """Do the same as `desktop-agent storage collect` after a delay, at most once a day. Also empty the trash."""
    await clock.sleep(DELAY_S)
    is_stopped = Event()
    try:
        done = await asyncio.to_thread(_collected, blobs, sessions, cache / _STAMP_NAME, clock.now(), is_stopped)
        if done is not None:
            await worktrees.purge()
    except (StorageError, OSError) as error:
        _log.warning("Stored contents could not be collected: %s", error)
    else:
        if done is not None:
            counts = (done.removed, done.removed_bytes, done.kept_young)
            _log.info("Removed %d stored contents of %d bytes; %d are too young", *counts)
            await return_memory()  # the collection has read long sessions
    finally:
        is_stopped.set()


def _collected(blobs: Blobs, sessions: Path, stamp: Path, now: datetime, is_stopped: Event) -> Collected | None:
    with suppress(FileNotFoundError):
        age_s = now.timestamp() - stamp.stat().st_mtime
        if 0 <= age_s < _INTERVAL.total_seconds():  # a time in the future comes from a wrong clock
            return None
    # Recorded before the work: a failure must not be repeated at each start.
    make_private_folder(stamp.parent)
    stamp.touch(PRIVATE_FILE)
    os.utime(stamp, (now.timestamp(), now.timestamp()))

    def pause() -> None:
        if is_stopped.is_set():
            raise StorageError("The cleanup was stopped.")
        time.sleep(_BREATH_S)  # noqa: TID251 - hands the interpreter lock to the window's thread

    empty_trash(sessions)
    drop_stranded(stamp.parent / BASELINES, now.timestamp())
    return collect(blobs, sessions, now=now, pause=pause)
