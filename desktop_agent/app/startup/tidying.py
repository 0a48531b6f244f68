"""Once a day, while the window is idle: removal of stored contents that no session refers to any more."""

import asyncio
import logging
import os
import time
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
from desktop_agent.ui.runtime.garbage import return_memory

DELAY_S: Final = 60.0
"""After the window's start: by then the user sees what they wanted, and the first answer is on its way."""
_INTERVAL: Final = timedelta(days=1)
_STAMP_NAME: Final = "storage-collected"
_BREATH_S: Final = 0.002

_log = logging.getLogger(__name__)


class Tidying:
    """Does what `desktop-agent storage collect` does. Other processes can run and collect, too."""

    def __init__(self, blobs: Blobs, sessions: Path, cache: Path, clock: Clock) -> None:
        self._blobs = blobs
        self._sessions = sessions
        self._stamp = cache / _STAMP_NAME
        self._clock = clock

    async def run(self) -> None:
        """Collect after a delay, unless that was done within a day. After a failure it is retried the next day."""
        await self._clock.sleep(DELAY_S)
        is_stopped = Event()
        try:
            done = await asyncio.to_thread(self._collected, is_stopped)
        except (StorageError, OSError) as error:
            _log.warning("Stored contents could not be collected: %s", error)
        else:
            if done is not None:
                counts = (done.removed, done.removed_bytes, done.kept_young)
                _log.info("Removed %d stored contents of %d bytes; %d are too young", *counts)
                await return_memory()  # long sessions were read for it
        finally:
            is_stopped.set()

    def _collected(self, is_stopped: Event) -> Collected | None:
        now = self._clock.now()
        if not self._is_due(now):
            return None
        # Said before it is done: what fails today must not be tried at each start.
        make_private_folder(self._stamp.parent)
        self._stamp.touch(PRIVATE_FILE)
        os.utime(self._stamp, (now.timestamp(), now.timestamp()))

        def pause() -> None:
            if is_stopped.is_set():
                raise StorageError("The collection was stopped.")
            time.sleep(_BREATH_S)  # noqa: TID251 - hands the interpreter lock to the window's thread

        empty_trash(self._sessions)
        drop_stranded(self._stamp.parent / BASELINES, now.timestamp())
        return collect(self._blobs, self._sessions, now=now, pause=pause)

    def _is_due(self, now: datetime) -> bool:
        try:
            age_s = now.timestamp() - self._stamp.stat().st_mtime
        except FileNotFoundError:
            return True
        return not 0 <= age_s < _INTERVAL.total_seconds()  # a time to come is that of a clock that was wrong
