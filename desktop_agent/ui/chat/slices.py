"""Slices of the window's time: long work in the window is cut into pieces between which it paints and answers."""

import time
from typing import Final

SLICE_S: Final = 0.0015
"""A tenth of a frame: a step that began is finished, and placing and painting what it made take several times that."""


class Slice:
    """A few milliseconds from now; or, `is_open`, as long as it takes."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.is_open = is_open
        self._end = float("inf") if is_open else time.perf_counter() + SLICE_S

    def is_over(self) -> bool:
        """Whether the rest is for another turn of the loop."""
        return time.perf_counter() >= self._end
