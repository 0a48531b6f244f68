"""Whether a thread is busy: the share of the time for which it has worked."""

from collections.abc import Callable


class WorkShare:
    """Measures for what share of the time a thread has worked since the last measurement."""

    def __init__(self, clock: Callable[[], float], work_clock: Callable[[], float]) -> None:
        """`clock` returns the time in seconds, and `work_clock` how many of them the thread has worked."""
        self._clock = clock
        self._work_clock = work_clock
        self._looked_at = clock(), work_clock()

    def since_last(self) -> float:
        """Return the share since this was last called, about 0 to 1, and begin anew; 0 when no time has passed."""
        before, worked_before = self._looked_at
        self._looked_at = now, worked = self._clock(), self._work_clock()
        return (worked - worked_before) / (now - before) if now > before else 0.0
