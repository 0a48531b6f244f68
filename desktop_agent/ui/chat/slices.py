"""Slices of the window's time: long work in the window is cut into pieces between which it paints and answers."""

import time
from typing import Final

SLICE_S: Final = 0.0015
"""A tenth of a frame: a step that began is finished, and placing and painting what it made take several times that."""


class Slice:
    """Time for some steps: `seconds` from now, or without an end if `is_open`. The first step is always made."""

    def __init__(self, seconds: float = SLICE_S, *, is_open: bool = False) -> None:
        self.is_open = is_open
        self.was_over = False
        """Whether `is_over` returned true before."""
        self._end = float("inf") if is_open else time.perf_counter() + seconds

    def is_over(self) -> bool:
        """Whether the rest is for another turn of the loop."""
        self.was_over = self.was_over or time.perf_counter() >= self._end
        return self.was_over
