"""Collects Python's cyclic garbage on the window's thread, and nowhere else.

Python collects in whichever thread happens to allocate. A widget that is part of a reference cycle could so be
destroyed by a worker thread, which Qt answers with a warning at best and a crash at worst. While the loop runs,
automatic collection is therefore off, and a timer does its work once there is any, so that a window at rest wakes up
for nothing. All that this process says to `gc` is said here, but for the entry point, which turns automatic collection
off for as long as the window is being imported.
"""

import gc
import time
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QAbstractEventDispatcher, QObject, QTimer

_PATIENCE_MS: Final = 250
"""How long garbage waits from when there is enough of it. So long the thread is looked at, whether it is busy."""
_FULL: Final = 2
_FULL_SHARE: Final = 0.001
"""A full collection stops the window for as long as it takes; at most this share of the time goes to it."""
_BUSY_SHARE: Final = 0.25
"""A window's thread that worked for more of the last interval is painting what the user scrolls or types."""
_MOST_PATIENCE_S: Final = 10.0
"""How long garbage may wait for such a time to end."""
_MIDDLE: Final = 1
_LOADED: Final = 30_000
"""So many objects come in one interval, or wait for a collection of the middle generation, only when modules are
imported or a session is read. They stay; going over them in order to find none that is garbage would stop the window
for a frame or more: 40 ms for the 60,000 of a start."""


def collect_all() -> None:
    """Collect what is older, too, after much was closed at once. On the window's thread only.

    A full collection also clears Python's lists of free objects. A few of those, scattered over arenas that are
    otherwise empty, kept 20 MB after a long session.
    """
    if len(gc.get_objects(generation=_FULL)) >= _LOADED:
        gc.freeze()
    gc.collect()


class WindowThreadCollector(QObject):
    """Stands in for automatic collection from `start` to `stop`, by the same counts and thresholds.

    The youngest garbage goes at once, which takes a millisecond. Older garbage can take as long as a frame, so it waits
    while the window is busy: a pause shows in the middle of scrolling, and not after it. What comes in great numbers at
    once is passed over for good.
    """

    def __init__(
        self,
        parent: QObject | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        work_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        """`clock` returns the time in seconds, and `work_clock` how many of them this thread has worked."""
        super().__init__(parent)
        self._was_enabled = False
        self._threshold = 0
        self._full_again_at = 0.0
        self._clock = clock
        self._work_clock = work_clock
        self._looked_at = clock(), work_clock()
        self._put_off_until: float | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PATIENCE_MS)
        self._timer.timeout.connect(self.collect_due)

    def start(self) -> None:
        """Turn automatic collection off, and collect from here."""
        self._was_enabled = gc.isenabled()
        gc.disable()
        gc.freeze()  # what is there already stays; going over it again and again would stop the window
        self._looked_at = self._clock(), self._work_clock()
        self._put_off_until = None
        self._threshold = gc.get_threshold()[0]
        QAbstractEventDispatcher.instance().awake.connect(self._on_work)

    def stop(self) -> None:
        """Leave it to Python again."""
        self._timer.stop()
        QAbstractEventDispatcher.instance().awake.disconnect(self._on_work)
        if self._was_enabled:
            gc.enable()

    def _on_work(self) -> None:
        """Begin to wait once there is enough. Called whenever the loop goes round."""
        if gc.get_count()[0] >= self._threshold and not self._timer.isActive():
            self._looked_at = self._clock(), self._work_clock()
            self._timer.start()

    def collect_due(self) -> None:
        """Collect the generations whose counts have passed their thresholds, and whose time it is."""
        if gc.get_count()[0] >= _LOADED:
            gc.freeze()
        start = self._clock()
        generation = self._due(start, is_busy=self._is_busy())
        if self._put_off_until is not None:
            self._timer.start()
        if generation is None:
            return
        if generation >= _MIDDLE and len(gc.get_objects(generation=_MIDDLE)) >= _LOADED:
            gc.freeze()
        gc.collect(generation)
        if generation == _FULL:
            end = self._clock()
            self._full_again_at = end + (end - start) / _FULL_SHARE

    def _is_busy(self) -> bool:
        """Whether this thread has worked for much of the time since this was last asked."""
        before, worked_before = self._looked_at
        self._looked_at = now, worked = self._clock(), self._work_clock()
        return worked - worked_before > (now - before) * _BUSY_SHARE

    def _due(self, now: float, *, is_busy: bool) -> int | None:
        """Return the oldest generation to collect, if any."""
        young, middle, old = (count >= limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True))
        if not middle:
            return 0 if young else None
        if is_busy:
            if self._put_off_until is None:
                self._put_off_until = now + _MOST_PATIENCE_S
            if now < self._put_off_until:
                return 0 if young else None
        elif not young and self._put_off_until is None:
            return None
        self._put_off_until = None
        return _FULL if old and now >= self._full_again_at else 1
