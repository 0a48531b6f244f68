"""Collects Python's cyclic garbage only on the window's thread, where destroying widgets is safe.

Automatic collection runs in whichever thread allocates, and is therefore off while the loop runs. Only this module
uses `gc`, except for the entry point, which turns automatic collection off during imports.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from PySide6.QtCore import QAbstractEventDispatcher, QObject

from desktop_agent.ui.runtime.pacing import one_shot

_PATIENCE_MS: Final = 250
"""How long garbage waits, once there is enough of it, while the thread's load is measured."""
_YOUNG: Final = 0
_MIDDLE: Final = 1
_FULL: Final = 2
_FULL_SHARE: Final = 0.001
"""The greatest share of the time that full collections may take, because the window stands still during one."""
_BUSY_SHARE: Final = 0.25
"""The window counts as busy above this share of time worked: it is painting what the user scrolls or types."""
_REST_SHARE: Final = 0.02
"""The window counts as at rest below this share of time worked: nobody types, scrolls or points."""
_MOST_PATIENCE_S: Final = 10.0
_MOST_PATIENCE_FOR_REST_S: Final = 120.0
_SLICE: Final = 6_000
_SLICE_S: Final = 0.003
"""From this many objects on, young survivors join the oldest generation: visiting so many takes about this long."""
_MOST_OF_A_MODULE: Final = 300
"""The most objects for each imported module, which makes about 150: if there are more, others made them."""
_LOADED: Final = 30_000
"""How many objects take a frame or more when they are visited at once: 60,000 take 40 ms."""


async def return_memory() -> None:
    """Collect all garbage once the window is idle, and return freed memory to the system. Runs on the window's loop."""
    load, waited_s = _Load(time.monotonic, time.thread_time), 0.0
    while waited_s < _MOST_PATIENCE_S:
        await asyncio.sleep(_PATIENCE_MS / 1_000)
        waited_s += _PATIENCE_MS / 1_000
        if load.share() <= _REST_SHARE:
            break
    gc.collect()
    if sys.platform == "linux":  # glibc keeps a whole arena for one used block; other systems need no help
        await asyncio.to_thread(_trim)


def _trim() -> None:
    import ctypes  # not needed until then

    with suppress(OSError, AttributeError):  # another C library, such as musl
        ctypes.CDLL(None).malloc_trim(0)


class _Load:
    def __init__(self, clock: Callable[[], float], work_clock: Callable[[], float]) -> None:
        self._clocks = clock, work_clock
        self.restart()

    def restart(self) -> None:
        self._before = tuple(clock() for clock in self._clocks)

    def share(self) -> float:
        """Return the share of the time since the last call, from 0 to 1."""
        before = self._before
        self.restart()
        passed, worked = (now - then for now, then in zip(self._before, before, strict=True))
        return worked / passed if passed > 0 else 1.0


class WindowThreadCollector(QObject):
    """Replaces automatic collection from `start` to `stop`. Older garbage waits until the window is less busy."""

    def __init__(
        self,
        parent: QObject | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        work_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        """`clock` returns the time in seconds, and `work_clock` how many seconds this thread has worked."""
        super().__init__(parent)
        self._was_enabled = False
        self._threshold = 0
        self._modules = 0
        self._middle_objects = 0
        self._old_objects = 0
        """Upper limits of the numbers of objects in the middle and the oldest generation."""
        self._full_again_at = 0.0
        self._clock = clock
        self._load = _Load(clock, work_clock)
        self._put_off_until: float | None = None
        self._timer = one_shot(self, _PATIENCE_MS, self.collect_due)

    def start(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()
        gc.freeze()  # existing objects stay: visiting them again and again would stop the window
        self._modules = len(sys.modules)
        self._middle_objects = self._old_objects = 0
        self._load.restart()
        self._put_off_until = None
        self._threshold = gc.get_threshold()[0]
        QAbstractEventDispatcher.instance().awake.connect(self._on_work)

    def stop(self) -> None:
        self._timer.stop()
        QAbstractEventDispatcher.instance().awake.disconnect(self._on_work)
        if self._was_enabled:
            gc.enable()

    def _on_work(self) -> None:
        """Start the timer once there is enough garbage. Called on each turn of the loop."""
        if gc.get_count()[0] >= self._threshold and not self._timer.isActive():
            self._load.restart()
            self._timer.start()

    def collect_due(self) -> None:
        now = self._clock()
        self._pass_over_modules()
        generation = self._due(now, self._load.share())
        if self._put_off_until is not None:
            self._timer.start()
        if generation is None:
            return
        objects = gc.get_count()[0] + self._middle_objects
        objects -= gc.collect(generation)
        self._middle_objects = objects if generation == _YOUNG else 0
        if generation == _MIDDLE:
            self._old_objects += objects
        elif generation == _FULL:
            took_s = self._clock() - now
            # Counting the objects that are left would take as long again.
            self._old_objects = int(took_s / _SLICE_S * _SLICE)
            self._full_again_at = now + took_s + took_s / _FULL_SHARE

    def _pass_over_modules(self) -> None:
        """Exempt new objects from collection if nearly all are imported classes and functions, which never die."""
        imported = len(sys.modules) - self._modules
        if _SLICE <= gc.get_count()[0] + self._middle_objects <= imported * _MOST_OF_A_MODULE:
            gc.freeze()
            self._middle_objects = 0
            self._modules += imported

    def _due(self, now: float, share: float) -> int | None:
        """Return the oldest generation that is due, if any; `share` is the fraction of time this thread was busy."""
        counts = gc.get_count()
        young, middle, old = (count >= limit for count, limit in zip(counts, gc.get_threshold(), strict=True))
        objects = counts[0] + self._middle_objects
        is_large = objects >= _LOADED
        if not is_large and young and objects >= _SLICE:
            return _MIDDLE
        wants_full = old and now >= self._full_again_at
        if not (middle or is_large or wants_full):
            return _YOUNG if young else None
        is_long = is_large or (wants_full and self._old_objects >= _SLICE)
        if share <= (_REST_SHARE if is_long else _BUSY_SHARE):
            if not young and self._put_off_until is None:
                return None
            self._put_off_until = None
            return _FULL if wants_full else _MIDDLE
        if self._put_off_until is None:
            self._put_off_until = now + (_MOST_PATIENCE_FOR_REST_S if is_large else _MOST_PATIENCE_S)
        if now < self._put_off_until:
            return _YOUNG if young and not is_large else None
        self._put_off_until = None
        return _FULL if wants_full and not is_long else _MIDDLE
