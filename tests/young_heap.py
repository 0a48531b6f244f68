"""Which garbage is collected after each test, so that exceptions in it are found."""

import gc
import time
from typing import Final

_SLOW_COLLECTION_S: Final = 0.004
"""A slower collection scans objects that a test has imported."""


class YoungHeap:
    """Looks for garbage of the last test, not in imports, collected tests and caches.

    Scanning all objects took three quarters of the run.
    """

    def __init__(self) -> None:
        self._has_old = True

    def begin(self) -> None:
        """Leave out old objects. Call this between tests, or objects of a test would be left out, too."""
        if self._has_old:
            gc.collect()
            gc.freeze()
            self._has_old = False

    def collect(self) -> None:
        started_s = time.thread_time()
        gc.collect()
        self._has_old = time.thread_time() - started_s > _SLOW_COLLECTION_S
