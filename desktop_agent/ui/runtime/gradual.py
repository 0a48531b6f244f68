"""Work of the window that is done a few steps at a time, with everything else between them."""

import time
from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QObject, QTimer

_SLICE_S: Final = 0.004
"""A quarter of a frame: what was made is laid out and painted in the same turn, which takes about as long again."""


class GradualWork(QObject):
    """Takes the steps of an iterator, for some milliseconds in each turn of the loop.

    A child of the widget it works for, so it ends with it. No timer runs when nothing is left.
    """

    def __init__(self, parent: QObject, slice_s: float = _SLICE_S, *, pause_ms: int = 0) -> None:
        """`pause_ms` is left to everything else between two slices; a timer of the same turn counts as that, too."""
        super().__init__(parent)
        self._slice_s = slice_s
        self._steps: Iterator[object] = iter(())
        self._timer = QTimer(self, interval=pause_ms)
        self._timer.timeout.connect(self._go_on)

    def begin(self, steps: Iterator[object]) -> None:
        """Do this in place of what was begun before. The first steps, at least one, are taken before this returns."""
        self._steps = steps
        self._go_on()

    def stop(self) -> None:
        """Take no more steps."""
        self._steps = iter(())
        self._timer.stop()

    @property
    def is_done(self) -> bool:
        """Whether nothing is left."""
        return not self._timer.isActive()

    def _go_on(self) -> None:
        steps, end = self._steps, time.perf_counter() + self._slice_s
        for _ in steps:
            if steps is not self._steps:  # a step began something else
                return
            if time.perf_counter() >= end:
                self._timer.start()
                return
        if steps is self._steps:
            self._timer.stop()
