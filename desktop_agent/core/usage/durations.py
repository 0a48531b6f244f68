"""Many durations as one small value: their sum, and percentiles that are exact in the digits that people read.

Each duration is rounded to two significant digits and counted, so that sums of days and sessions can be added up, and
a percentile of them is the rounded percentile of all. There are 90 different ones per power of ten.
"""

import math
from collections.abc import Mapping

from msgspec import Struct, field

MICROSECONDS = 1_000_000


class Durations(Struct, frozen=True):
    """How long things took. `counts` says how often, by duration in microseconds, rounded."""

    counts: Mapping[int, int] = field(default_factory=dict[int, int])
    total_s: float = 0.0
    """Exactly, as it was recorded."""

    @property
    def count(self) -> int:
        """How many durations these are."""
        return sum(self.counts.values())

    def percentile_s(self, percent: int) -> float | None:
        """Return the duration that `percent` of all do not exceed, in seconds; None without any.

        It is the nearest rank: one of the durations, rounded.
        """
        rank = math.ceil(self.count * percent / 100)
        for micros in sorted(self.counts):
            rank -= self.counts[micros]
            if rank <= 0:
                return micros / MICROSECONDS
        return None


class DurationSum:
    """Durations that are still being added up, in place: there are many in many journals."""

    __slots__ = ("_counts", "_total_s")

    def __init__(self, known: Durations | None = None) -> None:
        self._counts = dict(known.counts) if known is not None else {}
        self._total_s = known.total_s if known is not None else 0.0

    def add(self, duration_s: float) -> None:
        """Count one. What took no time at all was not measured."""
        if duration_s > 0:
            micros = rounded(round(duration_s * MICROSECONDS) or 1)
            self._counts[micros] = self._counts.get(micros, 0) + 1
            self._total_s += duration_s

    def add_all(self, durations: Durations) -> None:
        """Count many."""
        for micros, count in durations.counts.items():
            self._counts[micros] = self._counts.get(micros, 0) + count
        self._total_s += durations.total_s

    def durations(self) -> Durations:
        """Return them so far."""
        return Durations(dict(self._counts), round(self._total_s, 3))


def rounded(micros: int) -> int:
    """Return a positive number with two significant digits."""
    return round(micros, 2 - len(str(micros))) if micros >= 100 else micros
