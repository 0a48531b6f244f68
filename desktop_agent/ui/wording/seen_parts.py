"""Which parts of a text were in sight."""

from bisect import bisect_left, bisect_right


class SeenParts:
    """A set of positions, kept as ranges that neither meet nor overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> bool:
        """Add what is from `start` to before `end`; return whether any of it is new."""
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if last - first == 1 and self._starts[first] <= start and end <= self._ends[first]:
            return False
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        return True

    def first_unseen(self) -> int:
        """Return the first position that is not in it."""
        return self._ends[0] if self._starts and self._starts[0] <= 0 else 0

    def change(self, position: int, removed: int, added: int) -> None:
        """Follow a change of the text: what was put in was not in sight yet."""
        end, by = position + removed, added - removed
        parts = list(zip(self._starts, self._ends, strict=True))
        kept = [(start, min(stop, position)) for start, stop in parts if start < position]
        kept += [(max(start, end) + by, stop + by) for start, stop in parts if stop > end]
        self._starts, self._ends = [start for start, _ in kept], [stop for _, stop in kept]
