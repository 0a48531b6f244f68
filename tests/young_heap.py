"""What garbage is looked for in after each test, so that exceptions in it are found."""

import gc
import time
from typing import Final

_SLOW_COLLECTION_S: Final = 0.004
"""A collection that takes longer goes over something that a test has imported."""


class YoungHeap:
    """What garbage is looked for in after a test: not what is older, which is imports, collected tests and caches.

    Going over all of it took three quarters of the time of the whole run.
    """

    def __init__(self) -> None:
        self._has_old = True

    def begin(self) -> None:
        """Leave out what has become old. Between tests: what one still holds would be left out, too."""
        if self._has_old:
            gc.collect()
            gc.freeze()
            self._has_old = False

    def collect(self) -> None:
        """Look for garbage."""
        started_s = time.thread_time()
        gc.collect()
        self._has_old = time.thread_time() - started_s > _SLOW_COLLECTION_S
