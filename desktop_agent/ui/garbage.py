"""Collects Python's cyclic garbage on the window's thread, and nowhere else.

Python collects in whichever thread happens to allocate. A widget that is part of a reference cycle could so be
destroyed by a worker thread, which Qt answers with a warning at best and a crash at worst. While the loop runs,
automatic collection is therefore off, and a timer does its work.
"""

import gc
import time
from typing import Final

from PySide6.QtCore import QObject, QTimer

_INTERVAL_MS: Final = 250
_FULL_SHARE: Final = 0.001
"""A full collection stops the window for as long as it takes; at most this share of the time goes to it."""


class WindowThreadCollector(QObject):
    """Stands in for automatic collection from `start` to `stop`, by the same counts and thresholds."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._was_enabled = False
        self._full_again_at = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self.collect_due)

    def start(self) -> None:
        """Turn automatic collection off, and collect from here."""
        self._was_enabled = gc.isenabled()
        gc.disable()
        gc.freeze()  # what is there already stays; going over it again and again would stop the window
        self._timer.start()

    def stop(self) -> None:
        """Leave it to Python again."""
        self._timer.stop()
        if self._was_enabled:
            gc.enable()

    def collect_due(self) -> None:
        """Collect the generations whose counts have passed their thresholds."""
        young, middle, old = (count >= limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True))
        if not young:
            return
        start = time.monotonic()
        is_full = middle and old and start >= self._full_again_at
        gc.collect(2 if is_full else 1 if middle else 0)
        if is_full:
            end = time.monotonic()
            self._full_again_at = end + (end - start) / _FULL_SHARE
