"""Heights of a long column of things, with their positions found in logarithmic time."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class Heights:
    """Stacked heights in whole pixels. Changing one near the end is cheap, which is where conversations grow."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._bottoms: list[int] = []
        """Bottom edge of each, valid as far as the list goes."""

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        """The height of all together."""
        return self._bottom(len(self._heights) - 1)

    def top(self, index: int) -> int:
        """Where the thing at `index` begins; `len()` gives the end of the column."""
        return self._bottom(index - 1)

    def at(self, y: int) -> int:
        """Return the index of what lies at `y`: the first above, the last below; -1 in an empty column."""
        self._bottom(len(self._heights) - 1)
        return min(bisect_right(self._bottoms, y), len(self._heights) - 1)

    def replace(self, start: int, heights: Iterable[int]) -> None:
        """Put `heights` in the place of everything from `start` on."""
        self._heights[start:] = heights
        del self._bottoms[start:]

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        if self._heights[index] != height:
            self._heights[index] = height
            del self._bottoms[index:]

    def splice(self, start: int, count: int, heights: Iterable[int]) -> None:
        """Put `heights` in the place of `count` of them."""
        self._heights[start : start + count] = heights
        del self._bottoms[start:]

    def _bottom(self, index: int) -> int:
        if index < 0:
            return 0
        known = len(self._bottoms)
        if index >= known:
            start = self._bottoms[-1] if known else 0
            bottoms = accumulate(self._heights[known:], initial=start)
            next(bottoms)
            self._bottoms += bottoms
        return self._bottoms[index]
