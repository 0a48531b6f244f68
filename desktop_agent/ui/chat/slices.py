"""Slices of the window's time: long work in the window is cut into pieces between which it paints and answers."""

import time
from typing import Final

SLICE_S: Final = 0.0015
"""A tenth of a frame: a step that began is finished, and placing and painting what it made take several times that."""


class Slice:
    """`SLICE_S` from now; or, `is_open`, as long as it takes. Asked before each step but the first, so one is made."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.is_open = is_open
        self.was_over = False
        """Whether somebody was told that the rest is for another turn."""
        self._end = float("inf") if is_open else time.perf_counter() + SLICE_S

    def is_over(self) -> bool:
        """Whether the rest is for another turn of the loop."""
        self.was_over = self.was_over or time.perf_counter() >= self._end
        return self.was_over
