"""Axes: which values they name, and where on them a value is."""

import math
from typing import NamedTuple

_STEPS = (1, 2, 2.5, 5)
_COUNTS = range(2, 6)
"""How many steps an axis may have."""
_TIMES_S = (0.001, 0.01, 0.1, 1, 10, 60, 600, 3_600, 36_000, 360_000)
"""Round times, each several times the one before."""


class Scale(NamedTuple):
    """An axis from 0 (its beginning) to 1 (its end)."""

    ticks: tuple[float, ...]
    """The values that it names, from the least to the greatest."""
    is_logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return where a value is, between 0 and 1."""
        first, last = self.ticks[0], self.ticks[-1]
        if self.is_logarithmic:
            value = max(value, first)
            return min(1.0, math.log(value / first) / math.log(last / first))
        return min(1.0, max(0.0, (value - first) / (last - first)))


def scale_to(greatest: float, *, least_step: float = 0.0) -> Scale:
    """Return an axis from 0 to a round value that is not below `greatest`, as little above it as round steps allow."""
    if greatest <= 0:
        return Scale((0.0, least_step or 1.0))
    power = 10.0 ** math.floor(math.log10(greatest))
    steps = [max(one * size * power, least_step) for size in (0.1, 1.0) for one in _STEPS]
    axes = [(count * step, count, step) for step in steps for count in [math.ceil(greatest / step - 1e-9) or 1]]
    _, count, step = min([axis for axis in axes if axis[1] in _COUNTS] or axes)
    return Scale(tuple(round(step * number, 12) for number in range(count + 1)))


def time_scale(least_s: float, greatest_s: float) -> Scale:
    """Return a logarithmic axis of round times around these: tools take milliseconds or minutes."""
    first = max((number for number, time in enumerate(_TIMES_S) if time <= least_s), default=0)
    last = next((number for number, time in enumerate(_TIMES_S) if time >= greatest_s), len(_TIMES_S) - 1)
    return Scale(_TIMES_S[min(first, len(_TIMES_S) - 2) : max(last, first + 1) + 1], is_logarithmic=True)
